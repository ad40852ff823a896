/* hr-dead-letter.c */
#include "hr-dead-letter.h"
#include "hr-error.h"
#include "hr-sync.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* so begins each line, and what is left of one that was cut begins this */
#define BEGINNING "{\"uri\":"

struct _HrDeadLetters {
  HrMutex lock;
  int fd;
  char *path;
  GHashTable *known; /* keys of all lines: the set */
  gboolean unsynced;
};

static gboolean
fail (const HrDeadLetters *letters, HrResourceError code, const char *what, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, code, "dead letters: %s: cannot %s: %s", letters->path,
               what, g_strerror (errno));
  return FALSE;
}

/* ---- what the file has ---- */

/* A sample of one order: the same in each run of it. What is found bad first may differ: of two bad
 * images, say. */
static char *
make_key (JsonObject *letter)
{
  static const char *const members[] = { "uri", "byte", "epoch", "place" };
  GString *key = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    JsonNode *node = json_object_get_member (letter, members[i]);

    if (node != NULL && JSON_NODE_HOLDS_VALUE (node)
        && json_node_get_value_type (node) == G_TYPE_STRING)
      g_string_append (key, json_node_get_string (node));
    else if (node != NULL && JSON_NODE_HOLDS_VALUE (node))
      g_string_append_printf (key, "%" G_GINT64_FORMAT, json_node_get_int (node));
    g_string_append_c (key, '\n');
  }
  return g_string_free (key, FALSE);
}

/* (nullable): the line is no dead letter */
static char *
key_of (const char *line, gsize length)
{
  g_autofree char *text = g_strndup (line, length);
  g_autoptr (JsonNode) node = json_from_string (text, NULL);

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node)
      || !json_object_has_member (json_node_get_object (node), "uri")
      || !json_object_has_member (json_node_get_object (node), "kind"))
    return NULL;
  return make_key (json_node_get_object (node));
}

static gboolean
refuse (const HrDeadLetters *letters, guint line, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
               "dead letters: %s:%u: is no dead letter; the file is left as it is, give another",
               letters->path, line);
  return FALSE;
}

static gboolean
read_lines (HrDeadLetters *letters, const char *text, gsize size, GError **error)
{
  const char *end = text + size;
  guint line = 1;

  for (const char *p = text, *stop; p < end; p = stop + 1, line++) {
    char *key;

    stop = memchr (p, '\n', (gsize)(end - p));
    if (stop == NULL) { /* a crash has cut it */
      if (strncmp (p, BEGINNING, MIN (strlen (BEGINNING), (gsize)(end - p))) != 0)
        return refuse (letters, line, error);
      return ftruncate (letters->fd, p - text) == 0
             || fail (letters, HR_RESOURCE_ERROR_WRITE, "cut its last line", error);
    }
    key = key_of (p, (gsize)(stop - p));
    if (key == NULL)
      return refuse (letters, line, error);
    g_hash_table_add (letters->known, key);
  }
  return TRUE;
}

static gboolean
read_file (HrDeadLetters *letters, GError **error)
{
  g_autofree char *text = NULL;
  struct stat about;
  gsize size = 0;

  if (fstat (letters->fd, &about) != 0)
    return fail (letters, HR_RESOURCE_ERROR_READ, "read it", error);
  if (!S_ISREG (about.st_mode)) /* a pipe, say: there is nothing to go on from */
    return TRUE;
  text = g_malloc ((gsize)about.st_size + 1);
  while (size < (gsize)about.st_size) {
    gssize n = pread (letters->fd, text + size, (gsize)about.st_size - size, (off_t)size);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail (letters, HR_RESOURCE_ERROR_READ, "read it", error);
    size += (gsize)n;
  }
  return read_lines (letters, text, size, error);
}

HrDeadLetters *
hr_dead_letters_open (const char *path, GError **error)
{
  g_autoptr (HrDeadLetters) letters = g_new0 (HrDeadLetters, 1);

  hr_mutex_init (&letters->lock);
  letters->path = g_strdup (path);
  letters->known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  letters->fd = open (path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (letters->fd < 0) {
    fail (letters, HR_RESOURCE_ERROR_WRITE, "open it", error);
    return NULL;
  }
  /* two that look for doubles, each in what it knows, would write them */
  if (flock (letters->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                 "dead letters: %s: another run writes it; give each rank a file of its own", path);
    return NULL;
  }
  return read_file (letters, error) ? g_steal_pointer (&letters) : NULL;
}

void
hr_dead_letters_free (HrDeadLetters *letters)
{
  if (letters == NULL)
    return;
  if (letters->fd >= 0)
    close (letters->fd);
  g_clear_pointer (&letters->known, g_hash_table_unref);
  g_free (letters->path);
  hr_mutex_clear (&letters->lock);
  g_free (letters);
}

/* ---- what is added ---- */

/* one write, so that no other line comes in between; what went only half is taken back */
static gboolean
append (HrDeadLetters *letters, const char *line, GError **error)
{
  gsize size = strlen (line);
  struct stat before;
  gboolean file = fstat (letters->fd, &before) == 0 && S_ISREG (before.st_mode);
  gssize n;

  do
    n = write (letters->fd, line, size);
  while (n < 0 && errno == EINTR);
  if (n == (gssize)size)
    return TRUE;
  if (n >= 0)
    errno = ENOSPC;
  fail (letters, HR_RESOURCE_ERROR_WRITE, "write to it", error);
  if (n > 0 && file && ftruncate (letters->fd, before.st_size) != 0)
    return FALSE; /* the next run takes the rest off */
  return FALSE;
}

gboolean
hr_dead_letters_write (HrDeadLetters *letters, const HrLetter *letter, const HrBuffer *sample,
                       const HrObject *object, GError **error)
{
  g_autofree char *line = hr_letter_to_json (letter, sample, object);
  char *key = key_of (line, strlen (line) - 1);
  gboolean ok = TRUE;

  hr_mutex_lock (&letters->lock);
  if (!g_hash_table_contains (letters->known, key)) {
    ok = append (letters, line, error);
    letters->unsynced = TRUE;
    if (ok)
      g_hash_table_add (letters->known, g_steal_pointer (&key));
  }
  hr_mutex_unlock (&letters->lock);
  g_free (key);
  return ok;
}

gboolean
hr_dead_letters_sync (HrDeadLetters *letters, GError **error)
{
  gboolean ok = TRUE;

  hr_mutex_lock (&letters->lock);
  /* a pipe cannot be synced, and need not */
  if (letters->unsynced && fdatasync (letters->fd) != 0 && errno != EINVAL && errno != EROFS)
    ok = fail (letters, HR_RESOURCE_ERROR_WRITE, "sync it", error);
  letters->unsynced = FALSE;
  hr_mutex_unlock (&letters->lock);
  return ok;
}
