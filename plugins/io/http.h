/* http.h: many HTTP transfers on one thread */
#pragma once
#include "address-guard.h"
#include "body-sum.h"
#include "http-response.h"
#include "hr-element.h"
#include "retry.h"

G_BEGIN_DECLS

/**
 * HrHttp:
 *
 * A client on curl's multi interface: it belongs to one thread, and does everything inside
 * hr_http_poll(); with several io_threads the transfers run in those, but the owner sees no
 * difference. Requests wait in the order of their priority for one of max_transfers places, and
 * for one that their server has for all clients of the process; those that are paused, or wait for
 * another try, hold none.
 */
typedef struct _HrHttp HrHttp;
typedef struct _HrHttpRequest HrHttpRequest;

/* times in nanoseconds */
typedef struct {
  guint max_transfers;
  gint64 connect_timeout;
  gint64 first_byte_timeout; /* from the start of a try to the first byte of the answer */
  gint64 progress_timeout;   /* without any byte */
  guint max_tries;
  HrRetryTimes retry;
  gboolean hedge;   /* send a second request for one whose answer is late */
  HrVerify verify;  /* checksums of whole objects */
  guint io_threads; /* that transfers are dealt to; 1: they run in hr_http_poll() */
} HrHttpOptions;

#define HR_HTTP_OPTIONS                                                                            \
  ((HrHttpOptions){ 64, 10 * G_GINT64_CONSTANT (1000000000), 30 * G_GINT64_CONSTANT (1000000000),  \
                    30 * G_GINT64_CONSTANT (1000000000), 8, HR_RETRY_TIMES, TRUE, HR_VERIFY_AUTO,  \
                    1 })

typedef enum {
  HR_HTTP_READY, /* request->body has the room */
  HR_HTTP_PAUSE, /* not yet: read nothing until hr_http_resume() */
  HR_HTTP_HOLD,  /* the same, but it will not be long: the transfer keeps its place */
  HR_HTTP_REFUSE /* never: the transfer fails with the error that was set */
} HrHttpRoom;

/**
 * HrHttpRequest:
 * @name: for messages: "s3://b/key"
 * @url: as sent: encoded, never normalised. May be set by @prepare
 * @head: HEAD instead of GET
 * @method: (nullable): another one, "PUT"
 * @form: (nullable): a form to send, with POST unless @method says so
 * @direct: by no proxy
 * @follow: follow redirects (for requests without a signature), but none from https to http
 * @guard: (nullable): where it may connect to, through a proxy to which proxy; must outlive the
 *   request
 * @afresh: each try is for itself: its answer is no object that a later one could go on with
 * @question: range, identity and size the answer must have. After an answer the etag and size it
 *   had are noted there, so that later tries ask for the same object
 * @max_bytes: a longer body is refused; 0: any
 * @priority: the lower, the sooner
 * @known_etag: (nullable): the caller has the object with this ETag (If-None-Match): status 304 is
 *   a success without a body
 * @ca_bundle: (nullable): file of certificates; it, @method and @form must outlive the request
 *
 * @prepare: (nullable): before each try: appends "Name: value" lines. %FALSE without an error: not
 *   yet, it is called again a little later; that counts as no try
 * @judge: (nullable): after each complete answer, good or bad by its status: says why it is no
 *   success, and whether another try may help. It finds status and head in @response, and the
 *   body in @body and @received or, of an answer that is neither 200 nor 206, in @complaint
 * @room: (nullable): make @body hold @bytes in all, keeping what is there. Called when the length
 *   is known, or again and again where it is not. NULL: plain memory
 * @done: the request is over; it is freed when this returns. @error (nullable) (transfer full)
 *
 * Callbacks are called from hr_http_poll(), @prepare and @judge perhaps from another thread; @done
 * may submit and cancel other requests.
 */
struct _HrHttpRequest {
  char *name;
  char *url;
  gboolean head;
  const char *method;
  const char *form;
  gboolean direct;
  gboolean follow;
  const HrAddressGuard *guard;
  gboolean afresh;
  HrHttpQuestion question;
  gsize max_bytes;
  gint64 priority;
  const char *ca_bundle;
  char *known_etag;
  gboolean (*prepare) (HrHttpRequest *request, GPtrArray *headers, GError **error);
  HrRetry (*judge) (HrHttpRequest *request, GError **error);
  HrHttpRoom (*room) (HrHttpRequest *request, gsize bytes, GError **error);
  void (*done) (HrHttpRequest *request, GError *error);
  gpointer protocol_data; /* prepare's and judge's */
  GDestroyNotify protocol_free;
  gpointer user_data; /* room's and done's */

  HrVerify verify; /* the client's, from hr_http_submit() on */

  /* the answer */
  HrHttpResponse response; /* of the last try */
  HrMemory *body;
  gsize received;
  GByteArray *complaint; /* body of an answer that is no success, at most 64 KiB */
  gboolean too_large;    /* failed because of max_bytes */
  gboolean barred;       /* failed because of the guard */
  gboolean no_socket;    /* failed because this process has too many files open */
  guint tries;
  gboolean hedged;        /* the last one had a second beside it */
  gint64 begun;           /* when the first was sent, on the monotonic clock */
  gint64 first_byte_time; /* nanoseconds the last try waited for the first byte … */
  gint64 body_time;       /* … and from there to its end */

  struct _HrHttpTransfer *transfer; /* private */
};

/* numbers since the client was made */
typedef struct {
  guint64 tries; /* requests that were sent */
  guint64 retries;
  guint64 throttled;
  guint64 hedged;    /* requests that were sent a second time, because an answer was late … */
  guint64 hedge_won; /* … and were answered sooner */
  guint64 verified;  /* bodies whose checksum was right … */
  guint64 corrupt;   /* … and wrong */
  guint64 halved;    /* times the server's limit of requests at once was halved */
  guint64 limit;     /* of requests at once, of the server that last asked for less; 0: none */
  guint64 bytes;
  guint most_running; /* transfers at once */
} HrHttpCounts;

HrHttp *hr_http_new (const HrHttpOptions *options, GError **error);
/* "waits for 3 requests, the longest for s3://b/key from 10.0.0.1:443, no byte of the answer yet";
 * nothing if none is under way. Returns: a number that grows as long as something comes */
guint64 hr_http_describe (const HrHttp *http, GString *into);
/* drops all requests without calling done */
void hr_http_free (HrHttp *http);

/* @name and @url are copied, @url may be NULL if prepare makes it; (transfer full) */
HrHttpRequest *hr_http_request_new (const char *name, const char *url);
/* asks for the bytes from @first to @last */
void hr_http_request_set_range (HrHttpRequest *request, gint64 first, gint64 last);
/* what the object must still be; @etag may be NULL, @size -1 */
void hr_http_request_set_identity (HrHttpRequest *request, const char *etag, gint64 size);
/* only of a request that was not submitted */
void hr_http_request_free (HrHttpRequest *request);

/* what became of one that is done, @failed or not; names are the request's */
HrTransfer hr_http_request_get_transfer (const HrHttpRequest *request, gboolean failed);

/* what its status alone says of an answer: the judgement without @judge */
HrRetry hr_http_judge_status (HrHttpRequest *request, GError **error);

/* takes @request */
void hr_http_submit (HrHttp *http, HrHttpRequest *request);
/* ends and frees it; done is not called */
void hr_http_cancel (HrHttp *http, HrHttpRequest *request);
/* calls room again for a request that it had paused */
void hr_http_resume (HrHttp *http, HrHttpRequest *request);
/* one that was told to hold will have to wait: it gives its place back */
void hr_http_release (HrHttp *http, HrHttpRequest *request);
/* how many transfers may run from now on */
void hr_http_set_max_transfers (HrHttp *http, guint max_transfers);

/**
 * hr_http_poll:
 * @wake_fd: returns when this becomes readable; -1: none
 * @timeout_ms: returns after this time, -1: waits for ever
 *
 * Waits for something to happen, and does it. Time that passes between two calls does not count
 * for the timeouts: a caller that was blocked elsewhere finds its transfers alive.
 *
 * Returns: %FALSE if curl itself fails
 */
gboolean hr_http_poll (HrHttp *http, int wake_fd, int timeout_ms, GError **error);

/* requests that are not done */
guint hr_http_get_n_requests (HrHttp *http);
const HrHttpCounts *hr_http_get_counts (HrHttp *http);
void hr_http_counts_add (HrHttpCounts *sum, const HrHttpCounts *counts);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrHttp, hr_http_free)

G_END_DECLS
