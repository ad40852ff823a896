/* hr-plan-cache.c: what was found out about objects, kept on disk */
#include "hr-plan-cache.h"
#include "hr-blob-cache.h"
#include "hr-log.h"
#include "hr-value.h"
#include <string.h>

/* Smaller blobs are not waited for until they are on the disk: a set of many small objects would
 * wait longer than it takes to find them out again. */
#define SYNC_BYTES (64 * 1024)

struct _HrPlanCache {
  HrBlobCache *blobs;
  guint64 max_bytes;
};

HrPlanCache *
hr_plan_cache_new (const char *folder, guint64 max_bytes)
{
  HrPlanCache *cache = g_new0 (HrPlanCache, 1);

  cache->blobs = hr_blob_cache_new (folder, max_bytes, SYNC_BYTES);
  cache->max_bytes = max_bytes;
  return cache;
}

HrPlanCache *
hr_plan_cache_new_default (void)
{
  const char *folder = g_getenv ("HR_PLAN_CACHE"), *size = g_getenv ("HR_PLAN_CACHE_SIZE");
  g_autofree char *usual = g_build_filename (g_get_user_cache_dir (), "headrace", "plan", NULL);
  g_autofree char *why = NULL;
  guint64 max_bytes = HR_PLAN_CACHE_BYTES;

  if (size != NULL && *size != '\0'
      && hr_value_parse_size (size, &max_bytes, &why) != HR_VALUE_OK) {
    hr_log ("core", HR_LOG_WARNING, -1, "HR_PLAN_CACHE_SIZE=%s: %s; 1GiB is taken", size,
            why != NULL ? why : "too large");
    max_bytes = HR_PLAN_CACHE_BYTES;
  }
  /* a home that is only named, as that of services, is not made for this */
  if (folder == NULL && g_getenv ("XDG_CACHE_HOME") == NULL
      && !g_file_test (g_get_home_dir (), G_FILE_TEST_IS_DIR))
    folder = "";
  if (folder == NULL)
    folder = usual;
  return hr_plan_cache_new (*folder != '\0' ? folder : NULL, max_bytes);
}

void
hr_plan_cache_free (HrPlanCache *cache)
{
  hr_blob_cache_free (cache->blobs);
  g_free (cache);
}

/* what a blob is for. (transfer full) */
static GBytes *
make_key (const HrObject *object, const char *name, const char *key)
{
  const char *strings[] = { object->uri, object->etag, name, key != NULL ? key : "" };
  GByteArray *bytes = g_byte_array_new ();

  g_byte_array_append (bytes, (const guint8 *)&object->size, sizeof object->size);
  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    g_byte_array_append (bytes, (const guint8 *)strings[i], strlen (strings[i]) + 1);
  return g_byte_array_free_to_bytes (bytes);
}

GBytes *
hr_plan_cache_load (HrPlanCache *cache, const HrObject *object, const char *name, const char *key)
{
  g_autoptr (GBytes) whole = NULL;
  g_auto (HrBlob) blob = { .fd = -1 };
  g_autofree guint8 *bytes = NULL;

  if (object->etag == NULL)
    return NULL;
  whole = make_key (object, name, key);
  if (!hr_blob_cache_open (cache->blobs, whole, name, &blob))
    return NULL;
  bytes = g_try_malloc (MAX (blob.size, 1));
  if (bytes == NULL || !hr_blob_read (&blob, bytes)) {
    hr_log ("core", HR_LOG_INFO, -1, "%s (%s): what was kept of it is no use, is found out again",
            object->uri, name);
    return NULL;
  }
  return g_bytes_new_take (g_steal_pointer (&bytes), blob.size);
}

gboolean
hr_plan_cache_store (HrPlanCache *cache, const HrObject *object, const char *name, const char *key,
                     GBytes *blob)
{
  g_autoptr (GBytes) whole = NULL;
  g_autoptr (GError) error = NULL;
  gsize size;
  const guint8 *bytes = g_bytes_get_data (blob, &size);
  gboolean stored;

  if (object->etag == NULL)
    return FALSE;
  whole = make_key (object, name, key);
  stored = hr_blob_cache_store (cache->blobs, whole, name, NULL, bytes, size, &error);
  if (error != NULL)
    hr_log ("core", HR_LOG_WARNING, -1,
            "%s; HR_PLAN_CACHE and HR_PLAN_CACHE_SIZE choose another place and size",
            error->message);
  else if (!stored && hr_blob_cache_get_folder (cache->blobs) != NULL
           && size > cache->max_bytes / 2)
    hr_log ("core", HR_LOG_WARNING, -1,
            "%s: %" G_GSIZE_FORMAT " bytes (%s) are more than half of HR_PLAN_CACHE_SIZE: not "
            "stored",
            object->uri, size, name);
  return stored;
}
