/* hr-blob-cache.h: bytes kept on disk, by what they are for; private to the core and to plugins/io
 */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrBlobCache:
 *
 * Blobs by (key, kind), a file each in one folder. A blob may have a note, a short text.
 *
 * Nothing in it is needed, and nothing is believed: a file that was cut, spoilt, written by another
 * version or for something else is as good as none, and replaced by the next store. The first thing
 * that cannot be written ends all storing. Least recently used files go first when there are too
 * many. Any number of threads and processes may use one folder at once. Names of files tell nothing
 * of the key.
 */
typedef struct _HrBlobCache HrBlobCache;

/**
 * hr_blob_cache_new:
 * @folder: (nullable): is made when something is stored; %NULL: nothing is kept
 * @max_bytes: of all files in it
 * @sync_bytes: larger blobs are waited for until they are on the disk
 */
HrBlobCache *hr_blob_cache_new (const char *folder, guint64 max_bytes, guint64 sync_bytes);
void hr_blob_cache_free (HrBlobCache *cache);
/* (nullable) (transfer none) */
const char *hr_blob_cache_get_folder (const HrBlobCache *cache);

/* a blob that was found, and is open */
typedef struct {
  int fd;
  gsize size;
  guint64 checksum;
  gint64 stored; /* microseconds since 1970: when it was stored, or said to hold by a touch */
  char *note;
} HrBlob;

/**
 * hr_blob_cache_open:
 * @key: what the blob is for
 * @kind: what it is: lower case letters, digits, "-"
 * @blob: (out): to be cleared with hr_blob_clear(); counts as used now
 *
 * Returns: %FALSE if there is none
 */
gboolean hr_blob_cache_open (HrBlobCache *cache, GBytes *key, const char *kind, HrBlob *blob);
/* @into: @size bytes. FALSE: they are not what was stored. Once only. */
gboolean hr_blob_read (HrBlob *blob, guint8 *into);
void hr_blob_clear (HrBlob *blob);

/**
 * hr_blob_cache_store:
 * @note: (nullable)
 * @error: #G_FILE_ERROR: set once, by the store after which no more is stored; every later one
 *   gives %FALSE without it
 *
 * Returns: whether it is there now. FALSE without an error as well if it is larger than half of
 *   what may be kept
 */
gboolean hr_blob_cache_store (HrBlobCache *cache, GBytes *key, const char *kind, const char *note,
                              const guint8 *bytes, gsize size, GError **error);
/* the blob holds from now on: HrBlob.stored */
void hr_blob_cache_touch (HrBlobCache *cache, GBytes *key, const char *kind);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrBlobCache, hr_blob_cache_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrBlob, hr_blob_clear)

G_END_DECLS
