/* hr-blob-cache.c: bytes kept on disk, by what they are for
 *
 * A file is a head, key and note, and the blob. It is named by the sha256 of the key. It gets its
 * name when it is complete, so nobody sees half a file unless the machine went down; then the
 * checksum tells. The time of its last change is when it was stored or touched, that of the last
 * access when it was used: both are set, whatever the mount's options.
 */
#include "hr-blob-cache.h"
#include "hr-checksum.h"
#include "hr-random.h"
#include "hr-sync.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* changes when the head does, or the bytes of any blob */
#define VERSION 2
/* "HRBLOB\0\1", read by a machine of the other byte order it is another number */
#define MAGIC G_GUINT64_CONSTANT (0x0100424f4c425248)

#define HEX 64
#define TEMPORARY ".XXXXXX.tmp"
/* a temporary file that is older belongs to nobody any more */
#define ABANDONED_US (3600 * (gint64)G_USEC_PER_SEC)
/* what the smallest file takes on most disks */
#define BLOCK_BYTES 4096
#define NOTE_BYTES (64 * 1024)

struct _HrBlobCache {
  char *folder; /* NULL: off */
  guint64 max_bytes;
  guint64 sync_bytes;
  gint64 begun; /* us; files used since then were used by this run */
  HrMutex lock;
  gboolean closed;   /* nothing more is stored */
  gboolean counting; /* somebody looks through the folder */
  gboolean counted;  /* somebody has */
  guint64 written;   /* since then */
};

typedef struct {
  guint64 magic;
  guint32 version;
  guint32 key;  /* bytes of it behind this … */
  guint32 note; /* … and of the note, with its 0; both filled up to a multiple of 8 */
  guint32 zero;
  guint64 blob; /* bytes */
  guint64 checksum;
} Head;

HrBlobCache *
hr_blob_cache_new (const char *folder, guint64 max_bytes, guint64 sync_bytes)
{
  HrBlobCache *cache = g_new0 (HrBlobCache, 1);

  cache->folder = g_strdup (folder);
  cache->max_bytes = max_bytes;
  cache->sync_bytes = sync_bytes;
  cache->begun = g_get_real_time ();
  hr_mutex_init (&cache->lock);
  return cache;
}

void
hr_blob_cache_free (HrBlobCache *cache)
{
  hr_mutex_clear (&cache->lock);
  g_free (cache->folder);
  g_free (cache);
}

const char *
hr_blob_cache_get_folder (const HrBlobCache *cache)
{
  return cache->folder;
}

/* ---- heads and names ---- */

static gsize
head_bytes (gsize key, gsize note)
{
  return (sizeof (Head) + key + note + 7) & ~(gsize)7;
}

/* of the head, whose own is not counted, and of the blob */
static guint64
join_checksums (const GByteArray *head, guint64 blob)
{
  g_autofree guint8 *copy = g_memdup2 (head->data, head->len);

  memset (copy + G_STRUCT_OFFSET (Head, checksum), 0, sizeof (guint64));
  return hr_mix64 (hr_checksum64 (copy, head->len)) ^ blob;
}

/* Returns: (transfer full) */
static GByteArray *
make_head (GBytes *key, const char *note, const guint8 *bytes, gsize size)
{
  static const guint8 zeros[8] = { 0 };
  GByteArray *head = g_byte_array_new ();
  Head fields = { MAGIC, VERSION, g_bytes_get_size (key), strlen (note) + 1, 0, size, 0 };

  g_byte_array_append (head, (const guint8 *)&fields, sizeof fields);
  g_byte_array_append (head, g_bytes_get_data (key, NULL), fields.key);
  g_byte_array_append (head, (const guint8 *)note, fields.note);
  g_byte_array_append (head, zeros, head_bytes (fields.key, fields.note) - head->len);
  fields.checksum = join_checksums (head, hr_checksum64 (bytes, size));
  memcpy (head->data, &fields, sizeof fields);
  return head;
}

/* Returns: (transfer full): HEX.KIND, without the folder */
static char *
make_file_name (GBytes *key, const char *kind)
{
  g_autofree char *hash = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, key);

  return g_strconcat (hash, ".", kind, NULL);
}

static char *
make_path (HrBlobCache *cache, GBytes *key, const char *kind)
{
  g_autofree char *file = make_file_name (key, kind);

  return g_build_filename (cache->folder, file, NULL);
}

/* Names of others in the folder are left alone.
 * Returns: TRUE for HEX.KIND; *@temporary for HEX.XXXXXX.tmp */
static gboolean
is_ours (const char *name, gboolean *temporary)
{
  gsize length = strlen (name);

  *temporary = length == HEX + strlen (TEMPORARY) && g_str_has_suffix (name, ".tmp");
  for (gsize i = 0; i < MIN (length, HEX); i++)
    if (!g_ascii_isdigit (name[i]) && !(name[i] >= 'a' && name[i] <= 'f'))
      return FALSE;
  if (length < HEX + 2 || name[HEX] != '.')
    return FALSE;
  for (const char *p = name + HEX + 1; *p != '\0' && !*temporary; p++)
    if (!g_ascii_islower (*p) && !g_ascii_isdigit (*p) && *p != '-')
      return FALSE;
  return TRUE;
}

/* ---- reading ---- */

static gboolean
read_all (int fd, guint8 *into, gsize size)
{
  while (size > 0) {
    gssize n = read (fd, into, size);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    into += n;
    size -= n;
  }
  return TRUE;
}

/* the checksum that its bytes must have. FALSE: this is no file for @key */
static gboolean
read_head (HrBlob *blob, GBytes *key)
{
  g_autoptr (GByteArray) head = g_byte_array_new ();
  struct stat info;
  Head fields;
  gsize rest;

  g_byte_array_set_size (head, sizeof fields);
  if (fstat (blob->fd, &info) != 0 || !read_all (blob->fd, head->data, sizeof fields))
    return FALSE;
  memcpy (&fields, head->data, sizeof fields);
  if (fields.magic != MAGIC || fields.version != VERSION || fields.zero != 0
      || fields.key != g_bytes_get_size (key) || fields.note == 0 || fields.note > NOTE_BYTES)
    return FALSE;
  rest = head_bytes (fields.key, fields.note) - sizeof fields;
  if (info.st_size < (gint64)(sizeof fields + rest)
      || fields.blob != info.st_size - sizeof fields - rest)
    return FALSE;
  g_byte_array_set_size (head, sizeof fields + rest);
  if (!read_all (blob->fd, head->data + sizeof fields, rest)
      || memcmp (head->data + sizeof fields, g_bytes_get_data (key, NULL), fields.key) != 0)
    return FALSE;
  blob->note = g_strndup ((const char *)head->data + sizeof fields + fields.key, fields.note - 1);
  blob->size = fields.blob;
  blob->stored = info.st_mtim.tv_sec * G_USEC_PER_SEC + info.st_mtim.tv_nsec / 1000;
  blob->checksum = fields.checksum ^ join_checksums (head, 0);
  return TRUE;
}

gboolean
hr_blob_cache_open (HrBlobCache *cache, GBytes *key, const char *kind, HrBlob *blob)
{
  static const struct timespec used[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_OMIT } };
  g_autofree char *path = NULL;

  *blob = (HrBlob){ .fd = -1 };
  if (cache->folder == NULL)
    return FALSE;
  path = make_path (cache, key, kind);
  blob->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (blob->fd >= 0 && read_head (blob, key)) {
    futimens (blob->fd, used); /* If it may not be told, it is the sooner forgotten. */
    return TRUE;
  }
  hr_blob_clear (blob);
  return FALSE;
}

gboolean
hr_blob_read (HrBlob *blob, guint8 *into)
{
  return read_all (blob->fd, into, blob->size)
         && hr_checksum64 (into, blob->size) == blob->checksum;
}

void
hr_blob_clear (HrBlob *blob)
{
  if (blob->fd >= 0)
    close (blob->fd);
  g_free (blob->note);
  *blob = (HrBlob){ .fd = -1 };
}

/* ---- bounds ---- */

typedef struct {
  char *name;
  gint64 used; /* us */
  guint64 bytes;
} Entry;

static void
entry_clear (gpointer data)
{
  g_free (((Entry *)data)->name);
}

static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  const Entry *left = a, *right = b;

  if (left->used != right->used)
    return left->used < right->used ? -1 : 1;
  return strcmp (left->name, right->name); /* several processes take the same ones */
}

/* Returns: bytes in all files of ours, which are in *@entries, but for abandoned ones, which are
 * not there any more */
static guint64
list_entries (HrBlobCache *cache, GArray *entries)
{
  g_autoptr (GDir) folder = g_dir_open (cache->folder, 0, NULL);
  const char *name;
  guint64 total = 0;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL) {
    g_autofree char *path = g_build_filename (cache->folder, name, NULL);
    Entry entry;
    gboolean temporary;
    struct stat info;

    if (!is_ours (name, &temporary) || lstat (path, &info) != 0)
      continue;
    entry.used = info.st_atim.tv_sec * G_USEC_PER_SEC + info.st_atim.tv_nsec / 1000;
    /* what it takes on the disk: many are smaller than a block */
    entry.bytes = MAX ((guint64)info.st_blocks * 512, (guint64)info.st_size);
    if (temporary && g_get_real_time () - entry.used > ABANDONED_US) {
      unlink (path);
      continue;
    }
    total += entry.bytes;
    if (temporary)
      continue;
    entry.name = g_strdup (name);
    g_array_append_val (entries, entry);
  }
  return total;
}

/* Another process may remove the same files at the same time, or read them: both come to no harm.
 * Returns: FALSE: had to give up files that this run has used, so they would only chase each other
 */
static gboolean
evict (HrBlobCache *cache)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  gboolean good = TRUE;
  guint64 total;

  g_array_set_clear_func (entries, entry_clear);
  total = list_entries (cache, entries);
  /* a sixteenth is written before the next look */
  if (total <= cache->max_bytes - cache->max_bytes / 16)
    return TRUE;
  g_array_sort (entries, compare_entries);
  for (guint i = 0; i < entries->len && total > cache->max_bytes - cache->max_bytes / 8; i++) {
    const Entry *entry = &g_array_index (entries, Entry, i);
    g_autofree char *path = g_build_filename (cache->folder, entry->name, NULL);

    unlink (path);
    total -= entry->bytes;
    good &= entry->used < cache->begun;
  }
  return good;
}

/* nothing more is stored; says so once */
static void
close_cache (HrBlobCache *cache, int code, const char *why, GError **error)
{
  gboolean first;

  hr_mutex_lock (&cache->lock);
  first = !cache->closed;
  cache->closed = TRUE;
  hr_mutex_unlock (&cache->lock);
  if (first)
    g_set_error (error, G_FILE_ERROR, code, "%s: %s: goes on without storing more", cache->folder,
                 why);
}

static void
close_for_errno (HrBlobCache *cache, int failure, GError **error)
{
  close_cache (cache, g_file_error_from_errno (failure), g_strerror (failure), error);
}

/* @written: bytes of a new file */
static void
keep_bounds (HrBlobCache *cache, guint64 written, GError **error)
{
  gboolean due;

  hr_mutex_lock (&cache->lock);
  cache->written += (written | (BLOCK_BYTES - 1)) + 1;
  due = !cache->counting && (!cache->counted || cache->written >= cache->max_bytes / 16);
  if (due) {
    cache->counting = cache->counted = TRUE;
    cache->written = 0;
  }
  hr_mutex_unlock (&cache->lock);
  if (!due)
    return;
  if (!evict (cache))
    close_cache (cache, G_FILE_ERROR_NOSPC, "too small for this run", error);
  hr_mutex_lock (&cache->lock);
  cache->counting = FALSE;
  hr_mutex_unlock (&cache->lock);
}

/* ---- store ---- */

static gboolean
write_all (int fd, const guint8 *bytes, gsize size)
{
  while (size > 0) {
    gssize n = write (fd, bytes, size);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return FALSE;
    bytes += n;
    size -= n;
  }
  return TRUE;
}

/* all of it, on the disk, without a name yet. FALSE: errno says why */
static gboolean
write_file (int fd, const GByteArray *head, const guint8 *bytes, gsize size, gboolean sync)
{
  gboolean good = write_all (fd, head->data, head->len) && write_all (fd, bytes, size)
                  && (!sync || fdatasync (fd) == 0);
  int failure = errno;

  if (close (fd) != 0 && good)
    return FALSE;
  errno = failure;
  return good;
}

static gboolean
is_closed (HrBlobCache *cache)
{
  gboolean closed;

  hr_mutex_lock (&cache->lock);
  closed = cache->closed;
  hr_mutex_unlock (&cache->lock);
  return closed;
}

gboolean
hr_blob_cache_store (HrBlobCache *cache, GBytes *key, const char *kind, const char *note,
                     const guint8 *bytes, gsize size, GError **error)
{
  g_autofree char *file = NULL, *path = NULL, *temporary = NULL;
  g_autoptr (GByteArray) head = NULL;
  int fd;

  if (cache->folder == NULL || size > cache->max_bytes / 2
      || (note != NULL && strlen (note) >= NOTE_BYTES) || is_closed (cache))
    return FALSE;
  file = make_file_name (key, kind);
  path = g_build_filename (cache->folder, file, NULL);
  temporary = g_strdup_printf ("%s/%.*s" TEMPORARY, cache->folder, HEX, file);
  head = make_head (key, note != NULL ? note : "", bytes, size);
  if (g_mkdir_with_parents (cache->folder, 0700) != 0
      || (fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, 0600)) < 0) {
    close_for_errno (cache, errno, error);
    return FALSE;
  }
  if (!write_file (fd, head, bytes, size, size >= cache->sync_bytes)
      || rename (temporary, path) != 0) {
    int failure = errno;

    unlink (temporary);
    close_for_errno (cache, failure, error);
    return FALSE;
  }
  keep_bounds (cache, head->len + size, error);
  return TRUE;
}

void
hr_blob_cache_touch (HrBlobCache *cache, GBytes *key, const char *kind)
{
  g_autofree char *path = NULL;

  if (cache->folder == NULL)
    return;
  path = make_path (cache, key, kind);
  utimensat (AT_FDCWD, path, NULL, 0); /* if it may not be told, it is asked for again */
}
