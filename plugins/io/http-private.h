/* http-private.h: a client's parts, for http.c and http-transfer.c */
#pragma once
#include "http.h"
#include <curl/curl.h>

#define HR_MSEC_NS G_GINT64_CONSTANT (1000000)

typedef enum { QUEUED, RUNNING, PAUSED, WAITING } Stage;

typedef struct _HrHttpTransfer {
  HrHttp *http;
  HrHttpRequest *request;
  Stage stage;
  CURL *easy;
  struct curl_slist *headers;
  GSequenceIter *place;            /* QUEUED */
  gint64 due;                      /* WAITING: when it may run again */
  gint64 started, first, progress; /* RUNNING: on the client's clock; first = 0: no byte yet */
  gint64 asked;                    /* offset in the body that this try began with */
  gboolean checked;                /* head of the answer and its length */
  gboolean has_etag;               /* the question's etag is ours, from an answer */
  GError *fault;                   /* why our callback ended it */
  GError *barred;                  /* the last address that it may not connect to */
  char words[CURL_ERROR_SIZE];
} Transfer;

struct _HrHttp {
  HrHttpOptions options;
  CURLM *multi;
  GRand *random;
  GHashTable *transfers;
  GSequence *queue;
  GPtrArray *idle;   /* easy handles */
  GPtrArray *broken; /* transfers that failed in hr_http_resume() */
  guint n_running;
  guint n_ended; /* requests, ever */
  gint64 now;    /* monotonic, nanoseconds */
  gint64 due;    /* the first of those that wait */
  gint64 lost;   /* time between polls: the client's clock is now - lost */
  gint64 polled; /* end of the last poll */
  HrHttpCounts counts;
};

/* the client's clock: time between polls is none */
static inline gint64
hr_http_clock (const HrHttp *http)
{
  return http->now - http->lost;
}

/* a try: sets the handle up; the answer so far is forgotten, but for the body it can go on with.
 * FALSE with the error of prepare(), without one if it is to be called again */
gboolean hr_http_transfer_begin (Transfer *transfer, GError **error);
/* the try has ended with a CURLcode: why it is no success; NULL if it is one. (transfer full) */
GError *hr_http_transfer_judge (Transfer *transfer, int code, HrRetry *retry);
