/* hr-requests.c */
#include "hr-requests.h"

typedef struct {
  guint64 epoch;
  guint64 slice;
} Request;

struct _HrRequests {
  HrMutex lock;
  HrCond changed;
  GArray *asked; /* Request; two words each, and all sources may still have to read them */
  gboolean ended;
};

HrRequests *
hr_requests_new (void)
{
  HrRequests *requests = g_new0 (HrRequests, 1);

  hr_mutex_init (&requests->lock);
  hr_cond_init (&requests->changed);
  requests->asked = g_array_new (FALSE, FALSE, sizeof (Request));
  return requests;
}

void
hr_requests_free (HrRequests *requests)
{
  g_array_unref (requests->asked);
  hr_cond_clear (&requests->changed);
  hr_mutex_clear (&requests->lock);
  g_free (requests);
}

void
hr_requests_add (HrRequests *requests, guint64 epoch, guint64 slice)
{
  Request request = { epoch, slice };

  hr_mutex_lock (&requests->lock);
  g_array_append_val (requests->asked, request);
  hr_cond_broadcast (&requests->changed);
  hr_mutex_unlock (&requests->lock);
}

void
hr_requests_end (HrRequests *requests)
{
  hr_mutex_lock (&requests->lock);
  requests->ended = TRUE;
  hr_cond_broadcast (&requests->changed);
  hr_mutex_unlock (&requests->lock);
}

void
hr_requests_wake (HrRequests *requests)
{
  hr_mutex_lock (&requests->lock);
  hr_cond_broadcast (&requests->changed);
  hr_mutex_unlock (&requests->lock);
}

HrCursorNext
hr_requests_next (gpointer data, guint64 *epoch, guint64 *slice)
{
  HrRequestReader *reader = data;
  HrRequests *requests = reader->requests;
  HrCursorNext next = HR_CURSOR_LINE;

  hr_mutex_lock (&requests->lock);
  if (reader->n_read < requests->asked->len) {
    const Request *request = &g_array_index (requests->asked, Request, reader->n_read++);

    *epoch = request->epoch;
    *slice = request->slice;
  } else {
    next = requests->ended ? HR_CURSOR_END : HR_CURSOR_LATER;
  }
  hr_mutex_unlock (&requests->lock);
  return next;
}

void
hr_requests_wait (HrRequestReader *reader, const gint *closed, const gint *stopping)
{
  HrRequests *requests = reader->requests;

  hr_mutex_lock (&requests->lock);
  while (reader->n_read == requests->asked->len && !requests->ended && !g_atomic_int_get (closed)
         && !g_atomic_int_get (stopping))
    hr_cond_wait (&requests->changed, &requests->lock);
  hr_mutex_unlock (&requests->lock);
}
