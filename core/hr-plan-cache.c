/* hr-plan-cache.c: what was found out about objects, kept on disk
 *
 * A file is a head, which follows from what it is for and from its blob, and the blob. It is named
 * by the sha256 of what it is for. It gets its name when it is complete, so nobody sees half a file
 * unless the machine went down; then the checksum tells.
 */
#include "hr-plan-cache.h"
#include "hr-checksum.h"
#include "hr-log.h"
#include "hr-sync.h"
#include "hr-value.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* changes when the head does, or the bytes of any blob */
#define VERSION 1
/* "HRPLAN\0\1", read by a machine of the other byte order it is another number */
#define MAGIC G_GUINT64_CONSTANT (0x01004e414c505248)

#define HEX 64
#define TEMPORARY ".XXXXXX.tmp"
/* a temporary file that is older belongs to nobody any more */
#define ABANDONED_US (3600 * (gint64)G_USEC_PER_SEC)
/* Smaller blobs are not waited for until they are on the disk: a set of many small objects would
 * wait longer than it takes to find them out again. */
#define SYNC_BYTES (64 * 1024)
/* what the smallest file takes on most disks */
#define BLOCK_BYTES 4096

struct _HrPlanCache {
  char *folder; /* NULL: off */
  guint64 max_bytes;
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
  guint32 strings; /* bytes of them behind this, filled up to a multiple of 8 */
  guint64 blob;    /* bytes */
  guint64 checksum;
  gint64 size; /* of the object */
} Head;

HrPlanCache *
hr_plan_cache_new (const char *folder, guint64 max_bytes)
{
  HrPlanCache *cache = g_new0 (HrPlanCache, 1);

  cache->folder = g_strdup (folder);
  cache->max_bytes = max_bytes;
  cache->begun = g_get_real_time ();
  hr_mutex_init (&cache->lock);
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
  hr_mutex_clear (&cache->lock);
  g_free (cache->folder);
  g_free (cache);
}

/* ---- heads and names ---- */

/* a blob of @blob bytes with that checksum. Returns: (transfer full) */
static GByteArray *
make_head (const HrObject *object, const char *name, const char *key, gsize blob, guint64 checksum)
{
  const char *strings[] = { object->uri, object->etag, name, key != NULL ? key : "" };
  static const guint8 zeros[8] = { 0 };
  GByteArray *bytes = g_byte_array_new ();
  Head head = { MAGIC, VERSION, 0, blob, checksum, object->size };

  g_byte_array_append (bytes, (const guint8 *)&head, sizeof head);
  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    g_byte_array_append (bytes, (const guint8 *)strings[i], strlen (strings[i]) + 1);
  g_byte_array_append (bytes, zeros, (8 - bytes->len % 8) % 8);
  head.strings = bytes->len - sizeof head;
  memcpy (bytes->data, &head, sizeof head);
  return bytes;
}

/* Returns: (transfer full): without the folder */
static char *
make_file_name (const HrObject *object, const char *name, const char *key)
{
  g_autoptr (GByteArray) head = make_head (object, name, key, 0, 0);
  g_autofree char *hash = g_compute_checksum_for_data (G_CHECKSUM_SHA256, head->data, head->len);

  return g_strconcat (hash, ".", name, NULL);
}

/* Names of others in the folder are left alone.
 * Returns: TRUE for HEX.NAME; *@temporary for HEX.XXXXXX.tmp */
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

/* ---- load ---- */

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

/* Returns: (transfer full) (nullable) */
static GBytes *
read_blob (int fd, const HrObject *object, const char *name, const char *key)
{
  g_autoptr (GByteArray) found = make_head (object, name, key, 0, 0), right = NULL;
  g_autofree guint8 *blob = NULL;
  struct stat info;
  Head head;

  if (fstat (fd, &info) != 0 || info.st_size < (gint64)found->len
      || !read_all (fd, found->data, found->len))
    return NULL;
  memcpy (&head, found->data, sizeof head);
  /* all but the checksum is known: the right head is the one with the checksum that was found */
  right = make_head (object, name, key, info.st_size - found->len, head.checksum);
  if (memcmp (found->data, right->data, right->len) != 0)
    return NULL;
  blob = g_try_malloc (MAX (head.blob, 1));
  if (blob == NULL || !read_all (fd, blob, head.blob)
      || hr_checksum64 (blob, head.blob) != head.checksum)
    return NULL;
  futimens (fd, NULL); /* used now. If it may not be told, it is the sooner forgotten. */
  return g_bytes_new_take (g_steal_pointer (&blob), head.blob);
}

GBytes *
hr_plan_cache_load (HrPlanCache *cache, const HrObject *object, const char *name, const char *key)
{
  g_autofree char *file = NULL, *path = NULL;
  GBytes *blob;
  int fd;

  if (cache->folder == NULL || object->etag == NULL)
    return NULL;
  file = make_file_name (object, name, key);
  path = g_build_filename (cache->folder, file, NULL);
  fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return NULL;
  blob = read_blob (fd, object, name, key);
  if (blob == NULL)
    hr_log ("core", HR_LOG_INFO, -1, "%s: no use, is found out again: %s", path, object->uri);
  close (fd);
  return blob;
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
list_entries (HrPlanCache *cache, GArray *entries)
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
    entry.used = info.st_mtim.tv_sec * G_USEC_PER_SEC + info.st_mtim.tv_nsec / 1000;
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
evict (HrPlanCache *cache)
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
close_cache (HrPlanCache *cache, const char *why)
{
  gboolean first;

  hr_mutex_lock (&cache->lock);
  first = !cache->closed;
  cache->closed = TRUE;
  hr_mutex_unlock (&cache->lock);
  if (first)
    hr_log ("core", HR_LOG_WARNING, -1,
            "%s: %s: goes on without storing more; HR_PLAN_CACHE and "
            "HR_PLAN_CACHE_SIZE choose another place and size",
            cache->folder, why);
}

/* @written: bytes of a new file */
static void
keep_bounds (HrPlanCache *cache, guint64 written)
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
    close_cache (cache, "too small for this run");
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
write_file (int fd, const GByteArray *head, const guint8 *blob, gsize size)
{
  gboolean good = write_all (fd, head->data, head->len) && write_all (fd, blob, size)
                  && (size < SYNC_BYTES || fdatasync (fd) == 0);
  int failure = errno;

  if (close (fd) != 0 && good)
    return FALSE;
  errno = failure;
  return good;
}

static gboolean
is_closed (HrPlanCache *cache)
{
  gboolean closed;

  hr_mutex_lock (&cache->lock);
  closed = cache->closed;
  hr_mutex_unlock (&cache->lock);
  return closed;
}

gboolean
hr_plan_cache_store (HrPlanCache *cache, const HrObject *object, const char *name, const char *key,
                     GBytes *blob)
{
  g_autofree char *file = NULL, *path = NULL, *temporary = NULL;
  g_autoptr (GByteArray) head = NULL;
  gsize size;
  const guint8 *bytes = g_bytes_get_data (blob, &size);
  int fd;

  if (cache->folder == NULL || object->etag == NULL || is_closed (cache))
    return FALSE;
  if (size > cache->max_bytes / 2) {
    hr_log ("core", HR_LOG_WARNING, -1,
            "%s: %" G_GSIZE_FORMAT " bytes (%s) are more than half of HR_PLAN_CACHE_SIZE: not "
            "stored",
            object->uri, size, name);
    return FALSE;
  }
  file = make_file_name (object, name, key);
  path = g_build_filename (cache->folder, file, NULL);
  temporary = g_strdup_printf ("%s/%.*s" TEMPORARY, cache->folder, HEX, file);
  head = make_head (object, name, key, size, hr_checksum64 (bytes, size));
  if (g_mkdir_with_parents (cache->folder, 0700) != 0
      || (fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, 0600)) < 0) {
    close_cache (cache, g_strerror (errno));
    return FALSE;
  }
  if (!write_file (fd, head, bytes, size) || rename (temporary, path) != 0) {
    int failure = errno;

    unlink (temporary);
    close_cache (cache, g_strerror (failure));
    return FALSE;
  }
  keep_bounds (cache, head->len + size);
  return TRUE;
}
