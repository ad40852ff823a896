/* http-threads.h: a client whose transfers run on several threads; for http.c */
#pragma once
#include "http.h"

G_BEGIN_DECLS

/* Requests are dealt to clients of their own, one a thread; room and done are called by the owner's
 * thread, in hr_http_threads_poll(); prepare and judge by the threads. */
typedef struct _HrHttpThreads HrHttpThreads;

HrHttpThreads *hr_http_threads_new (const HrHttpOptions *options, GError **error);
void hr_http_threads_free (HrHttpThreads *threads);
/* these stand for the functions of http.h */
void hr_http_threads_submit (HrHttpThreads *threads, HrHttpRequest *request);
void hr_http_threads_cancel (HrHttpThreads *threads, HrHttpRequest *request);
void hr_http_threads_resume (HrHttpThreads *threads, HrHttpRequest *request);
void hr_http_threads_set_max_transfers (HrHttpThreads *threads, guint max_transfers);
gboolean hr_http_threads_poll (HrHttpThreads *threads, int wake_fd, int timeout_ms, GError **error);
guint hr_http_threads_get_n_requests (HrHttpThreads *threads);
const HrHttpCounts *hr_http_threads_get_counts (HrHttpThreads *threads);
guint64 hr_http_threads_describe (HrHttpThreads *threads, GString *into);

G_END_DECLS
