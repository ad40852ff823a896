/* fetch-cache.c: images that an earlier transfer has left on disk
 *
 * A link names no version, so one of each is kept, with its ETag. What is older than cache-age is
 * asked for with If-None-Match: the server says that it is still the same, or gives the new one.
 * The bytes are read before that: a file that turns out spoilt is as good as none.
 */
#include "fetch-job.h"

static gboolean
is_fresh (const HrFetchItem *item, const HrBlob *blob)
{
  gint64 age = g_get_real_time () - blob->stored;

  /* what comes from the future was written by another clock */
  return age >= 0 && age < item->job->state->self->cache_age / 1000;
}

gboolean
hr_fetch_look_up (HrFetchItem *item, const char *endpoint, GError **error)
{
  HrFetchState *state = item->job->state;
  HrObjectCache *cache = &state->shared->cache;
  g_auto (HrBlob) blob = { .fd = -1 };
  gboolean fresh;

  if (!hr_object_cache_is_on (cache) || item->looked_up)
    return TRUE;
  if (!item->key)
    item->key = hr_object_cache_key (endpoint, hr_fetch_get_uri (item), NULL, -1, -1);
  if (hr_object_cache_open (cache, item->key, &blob)) {
    fresh = is_fresh (item, &blob);
    /* one that is too large by now is refused as the server's would be */
    if ((fresh || *blob.note) && blob.size <= state->self->max_bytes) {
      if (!hr_fetch_reserve (item, blob.size))
        return FALSE;
      item->memory = hr_ticket_alloc (item->job->ticket, "images", MAX (blob.size, 1), error);
      if (!item->memory)
        return FALSE;
      if (hr_object_cache_read (cache, &blob, item->memory->data)) {
        item->size = item->whole = blob.size;
        item->at_hand = fresh;
        item->known_etag = g_strdup (blob.note);
      } else {
        g_clear_pointer (&item->memory, hr_memory_unref);
      }
    }
  }
  item->looked_up = TRUE;
  if (item->at_hand)
    hr_object_cache_hit (cache, item->key, item->size, FALSE);
  return TRUE;
}

void
hr_fetch_forget_kept (HrFetchItem *item)
{
  g_clear_pointer (&item->memory, hr_memory_unref);
  g_clear_pointer (&item->known_etag, g_free);
  item->size = 0;
}

void
hr_fetch_keep (HrFetchItem *item, const char *etag)
{
  HrFetchState *state = item->job->state;
  gboolean strong = hr_object_cache_is_strong (etag);

  if (hr_object_cache_is_on (&state->shared->cache))
    hr_object_cache_miss (&state->shared->cache, item->key, strong ? etag : NULL,
                          item->memory ? item->memory->data : NULL, item->size,
                          /* nothing is what some faults look like, and not worth a file */
                          item->size > 0 && (strong || state->self->cache_age > 0));
}
