/* object-cache.h: objects that were fetched, kept on disk for the next time: for elements that
 * fetch */
#pragma once
#include "hr-blob-cache.h"
#include "hr-element.h"
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* in the element's struct */
#define HR_CACHE_FIELDS                                                                            \
  char *cache;                                                                                     \
  guint64 cache_size;

/* in its table */
#define HR_CACHE_PROPS(T)                                                                          \
  HR_PROP_STRING (T, cache, NULL,                                                                  \
                  "Folder in which fetched objects are kept for the next time; ranks of a node "   \
                  "may share it. If unset nothing is kept"),                                       \
      HR_PROP_SIZE (T, cache_size, HR_MIB, 1024 * 1024 * HR_GIB, 10 * HR_GIB,                      \
                    "Bytes of all files in the folder of cache; what was not used for the "        \
                    "longest time goes first")

typedef struct {
  guint64 hits;
  guint64 hit_bytes;
  guint64 misses;
  guint64 stored_bytes;
  guint64 not_stored;
  guint64 spoilt;
} HrObjectCacheCounts;

/**
 * HrObjectCache:
 *
 * A part of an element's `shared`: all its workers use it, and its counts outlive it.
 */
typedef struct {
  HrBlobCache *blobs; /* NULL: off */
  HrElement *element; /* in whose name it warns */
  HrObjectCacheCounts counts;
} HrObjectCache;

/* @folder: (nullable): "" as well: nothing is kept */
void hr_object_cache_start (HrObjectCache *cache, const char *folder, guint64 max_bytes,
                            HrElement *element);
void hr_object_cache_stop (HrObjectCache *cache);
static inline gboolean
hr_object_cache_is_on (const HrObjectCache *cache)
{
  return cache->blobs != NULL;
}

/**
 * hr_object_cache_key:
 * @endpoint: whose object it is; "" for a URL
 * @etag: (nullable): the version that is asked for; %NULL: whichever is the present one, of which
 *   one is kept
 * @first: of the part of it; -1: the whole
 *
 * Returns: (transfer full): nothing of these can be read from it: a link may hold a secret
 */
GBytes *hr_object_cache_key (const char *endpoint, const char *uri, const char *etag, gint64 first,
                             gint64 last);
/* whether an ETag tells bytes from others: not a weak one */
gboolean hr_object_cache_is_strong (const char *etag);

/* FALSE: there is none. The blob's note is the ETag, "" if it has none. */
gboolean hr_object_cache_open (HrObjectCache *cache, GBytes *key, HrBlob *blob);
/* FALSE: spoilt: as good as none */
gboolean hr_object_cache_read (HrObjectCache *cache, HrBlob *blob, guint8 *into);
/* what was read was what was asked for; @confirmed: as the server has just said */
void hr_object_cache_hit (HrObjectCache *cache, GBytes *key, gsize size, gboolean confirmed);
/* it had to be fetched; @keep: keep it */
void hr_object_cache_miss (HrObjectCache *cache, GBytes *key, const char *etag, const guint8 *bytes,
                           gsize size, gboolean keep);
/* cache_hits …: into the element's object of the stats, if there is a @folder */
void hr_object_cache_add_metrics (const HrObjectCache *cache, const char *folder,
                                  JsonBuilder *into);

G_END_DECLS
