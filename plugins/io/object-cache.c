/* object-cache.c: objects that were fetched, kept on disk for the next time */
#include "object-cache.h"
#include "hr-error.h"
#include <string.h>

#define KIND "object"
/* Never waited for until they are on the disk: the checksum tells what a crash has left, and it can
 * be fetched again. */
#define SYNC_BYTES G_MAXUINT64

static gboolean
is_folder (const char *folder)
{
  return folder != NULL && *folder != '\0';
}

void
hr_object_cache_start (HrObjectCache *cache, const char *folder, guint64 max_bytes,
                       HrElement *element)
{
  cache->element = element;
  if (is_folder (folder))
    cache->blobs = hr_blob_cache_new (folder, max_bytes, SYNC_BYTES);
}

void
hr_object_cache_stop (HrObjectCache *cache)
{
  g_clear_pointer (&cache->blobs, hr_blob_cache_free);
}

static void
count (guint64 *counter, guint64 n)
{
  __atomic_add_fetch (counter, n, __ATOMIC_RELAXED);
}

GBytes *
hr_object_cache_key (const char *endpoint, const char *uri, const char *etag, gint64 first,
                     gint64 last)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  const char *strings[] = { endpoint, uri, etag != NULL ? etag : "" };
  gint64 numbers[] = { first, last };
  guint8 digest[32];
  gsize size = sizeof digest;

  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    g_checksum_update (sum, (const guchar *)strings[i], strlen (strings[i]) + 1);
  g_checksum_update (sum, (const guchar *)numbers, sizeof numbers);
  g_checksum_get_digest (sum, digest, &size);
  return g_bytes_new (digest, size);
}

gboolean
hr_object_cache_is_strong (const char *etag)
{
  return etag != NULL && *etag != '\0' && !g_str_has_prefix (etag, "W/");
}

gboolean
hr_object_cache_open (HrObjectCache *cache, GBytes *key, HrBlob *blob)
{
  return hr_blob_cache_open (cache->blobs, key, KIND, blob);
}

gboolean
hr_object_cache_read (HrObjectCache *cache, HrBlob *blob, guint8 *into)
{
  gboolean good = hr_blob_read (blob, into);

  if (!good)
    count (&cache->counts.spoilt, 1);
  return good;
}

void
hr_object_cache_hit (HrObjectCache *cache, GBytes *key, gsize size, gboolean confirmed)
{
  if (confirmed)
    hr_blob_cache_touch (cache->blobs, key, KIND);
  count (&cache->counts.hits, 1);
  count (&cache->counts.hit_bytes, size);
}

void
hr_object_cache_miss (HrObjectCache *cache, GBytes *key, const char *etag, const guint8 *bytes,
                      gsize size, gboolean keep)
{
  g_autoptr (GError) why = NULL;

  count (&cache->counts.misses, 1);
  if (keep && hr_blob_cache_store (cache->blobs, key, KIND, etag, bytes, size, &why))
    count (&cache->counts.stored_bytes, size);
  else
    count (&cache->counts.not_stored, 1);
  if (why != NULL) {
    g_prefix_error_literal (&why, "cache ");
    hr_element_warn (cache->element, why);
  }
}

static void
add (JsonBuilder *into, const char *name, const guint64 *value)
{
  json_builder_set_member_name (into, name);
  json_builder_add_int_value (into, __atomic_load_n (value, __ATOMIC_RELAXED));
}

void
hr_object_cache_add_metrics (const HrObjectCache *cache, const char *folder, JsonBuilder *into)
{
  if (!is_folder (folder))
    return;
  add (into, "cache_hits", &cache->counts.hits);
  add (into, "cache_hit_bytes", &cache->counts.hit_bytes);
  add (into, "cache_misses", &cache->counts.misses);
  add (into, "cache_stored_bytes", &cache->counts.stored_bytes);
  add (into, "cache_not_stored", &cache->counts.not_stored);
  add (into, "cache_spoilt", &cache->counts.spoilt);
}
