/* http-private.h: a client's parts, for http.c, http-try.c, http-hedge.c */
#pragma once
#include "endpoint.h"
#include "http-sockets.h"
#include "http-threads.h"
#include <curl/curl.h>

#define HR_MSEC_NS G_GINT64_CONSTANT (1000000)

typedef enum { QUEUED, RUNNING, PAUSED, WAITING } Stage;

typedef struct _HrHttpTransfer Transfer;

/* one request as it is sent, and what comes back */
typedef struct {
  Transfer *transfer;
  CURL *easy;
  struct curl_slist *headers;
  struct curl_slist *connect_to;   /* (nullable): the address that was taken */
  gint64 started, first, progress; /* on the client's clock; first = 0: no byte yet */
  gint64 asked;                    /* offset in the body that it began with */
  gboolean placed;                 /* it holds a place of the client and of its server */
  gboolean refused;                /* there was no connection */
  gboolean lost;                   /* another one was sooner: nothing of it is wanted */
  gboolean checked;                /* head of the answer and its length */
  HrHttpResponse response;         /* until it is the transfer's */
  GByteArray *complaint;           /* likewise */
  GError *fault;                   /* why our callback ended it */
  GError *barred;                  /* the last address that it may not connect to */
  char words[CURL_ERROR_SIZE];
} Try;

struct _HrHttpTransfer {
  HrHttp *http;
  HrHttpRequest *request;
  Stage stage;
  Try *lead;           /* RUNNING, PAUSED: whose bytes are taken */
  Try *second;         /* (nullable): RUNNING: sent because the first is late */
  gboolean hedged;     /* it has had its second one, or gets none */
  gboolean late;       /* it waits for a place for its second one */
  gboolean has_answer; /* request->response is that of lead */
  gboolean had_etag;   /* the question, before an answer … */
  gint64 had_size;     /* … and its size, or -1 */
  HrBodySum *sum;      /* (nullable): of the bytes received so far */
  GSequenceIter *place;
  guint index; /* in the client's list, RUNNING and WAITING */
  gint64 due;  /* WAITING: when it may run again */
  gint64 begun;
  HrEndpoint *endpoint; /* as soon as the URL is known … */
  gboolean entered;     /* … and it has a place for the try that is being made */
  guint cost;           /* of the bucket's tokens, for the try at hand … */
  gboolean owes;        /* … which it has not got yet … */
  gint64 owes_since;    /* … since then */
  char *first_cause;    /* why the first try failed … */
  char *last_cause;     /* … and the last … */
  int last_code;        /* … with its HrResourceError */
};

struct _HrHttp {
  HrHttpThreads *threads; /* (nullable): they do all that the rest is for */
  HrHttpOptions options;
  CURLM *multi;
  CURLSH *share; /* TLS sessions */
  HrHttpSockets *sockets;
  GRand *random;
  GHashTable *transfers;
  GSequence *queue;
  GPtrArray *running; /* transfers */
  GPtrArray *waiting; /* transfers */
  GPtrArray *idle;    /* easy handles */
  GPtrArray *broken;  /* transfers that failed in hr_http_resume() */
  GPtrArray *lost;    /* tries that a callback of curl has ended */
  guint n_running;    /* tries */
  guint n_ended;      /* requests, ever */
  gint64 now;         /* monotonic, nanoseconds */
  gint64 away;        /* time between polls: the client's clock is now - away */
  gint64 polled;      /* end of the last poll */
  gint64 next_look;   /* on the client's clock: no running transfer is due before */
  gint64 next_due;    /* … and no waiting one; on the monotonic clock */
  gboolean has_late;  /* transfers that wait for a place for their second try */
  HrHttpCounts counts;
};

/* the client's clock: time between polls is none */
static inline gint64
hr_http_clock (const HrHttp *http)
{
  return http->now - http->away;
}

/* ---- http.c ---- */

/* notes when a transfer may be silent for too long */
void hr_http_look_at (Transfer *transfer);
/* RUNNING and WAITING transfers are in a list */
void hr_http_list_add (GPtrArray *list, Transfer *transfer);
void hr_http_list_remove (GPtrArray *list, Transfer *transfer);
/* gives places and handles back; the request stays, in no stage */
void hr_http_leave_stage (Transfer *transfer);
/* of one that is in no stage: it comes again at @due */
void hr_http_wait_until (Transfer *transfer, gint64 due);
void hr_http_transfer_free (Transfer *transfer);
/* frees tries that were too late; not in a callback of curl */
void hr_http_drop_lost (HrHttp *http);

/* ---- http-tries.c ---- */

/* the request is in no stage, and has a place if its server is known */
void hr_http_start_try (Transfer *transfer);
/* curl has ended one */
void hr_http_finish_try (Try *attempt, CURLcode code);
/* takes @error */
void hr_http_fail_try (Transfer *transfer, HrRetry retry, GError *error);
/* a try has failed, for the message when all have */
void hr_http_note_cause (Transfer *transfer, const GError *error);
/* a try that was due, but the server's bucket is empty: comes again a little later, or gives up */
void hr_http_wait_for_tokens (Transfer *transfer);

/* ---- http-try.c ---- */

/* sends a request, in the place that the server has given: for the body from where it can be gone
 * on with. NULL with the error of prepare(), without one if it is to be called again */
Try *hr_http_try_new (Transfer *transfer, GError **error);
/* gives handle and place back; not in a callback of curl */
void hr_http_try_free (Try *attempt);
/* gives its place back, and takes it again */
void hr_http_try_pause (Try *attempt);
void hr_http_try_resume (Try *attempt);
/* its answer is the request's */
void hr_http_try_answer (Try *attempt);
/* it has ended with a CURLcode: why it is no success; NULL if it is one. (transfer full) */
GError *hr_http_try_judge (Try *attempt, int code, HrRetry *retry);

/* ---- http-connect.c ---- */

/* for all tries that the handle will make; OPENSOCKETDATA and PREREQDATA are the try */
void hr_http_connect_set_up (HrHttp *http, CURL *easy);

/* ---- http-describe.c ---- */

/* curl's own words for how a try ended, without user and password of a proxy. (transfer full) */
char *hr_http_describe_code (const Try *attempt, CURLcode code);

/* ---- http-hedge.c ---- */

/* sends second requests for those that are late */
void hr_http_hedge (HrHttp *http);
/* nanoseconds of silence after which a transfer is late; G_MAXINT64: never */
gint64 hr_http_hedge_limit (const Transfer *transfer);
/* a byte of the body of this try has come: it is the one, the other is lost. In a callback */
void hr_http_hedge_decide (Try *attempt);
/* one of two tries has failed: goes on with the other */
void hr_http_hedge_drop (Transfer *transfer, Try *failed);
