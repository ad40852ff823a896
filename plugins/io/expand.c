/* expand.c */
#include "expand.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "file.h"
#include "inflate.h"

/* of stored bytes, and of text, that are held at once */
#define CHUNK_BYTES (256 * 1024)
/* a small object may have a head that expands more than the rest */
#define FREE_BYTES (16 * 1024 * 1024)

struct _HrExpander {
  const HrLineSourceFuncs *funcs;
  gpointer data;
  gsize part_bytes;
  guint64 max_expansion;
  GHashTable *files; /* URI to descriptor + 1, of those that have been expanded */
};

/* text that is made while it is read */
typedef struct {
  HrExpander *expander;
  HrObject object; /* as it is stored: uri is the plan's */
  HrInflater *inflater;
  gpointer part; /* at hand */
  gint64 part_end;
  gint64 fetched; /* stored bytes that have been read … */
  gint64 used;    /* … and expanded */
  gint64 made;    /* bytes of text so far */
  guint8 *in;
  gsize in_first, in_end;
} Stream;

typedef struct {
  gpointer plain;
  Stream *stream;
  int fd;
  const char *uri;
} Part;

/* ---- streams ---- */

static Stream *
stream_new (HrExpander *expander, const HrObject *object)
{
  Stream *stream = g_new0 (Stream, 1);

  stream->expander = expander;
  stream->object = *object;
  stream->object.size = object->stored;
  stream->inflater = hr_inflater_new (hr_stored_of (object->key));
  stream->in = g_malloc (CHUNK_BYTES);
  return stream;
}

static void
close_part_of (Stream *stream)
{
  if (stream->part != NULL)
    stream->expander->funcs->close (stream->expander->data, stream->part);
  stream->part = NULL;
}

static void
stream_free (Stream *stream)
{
  if (stream == NULL)
    return;
  close_part_of (stream);
  hr_inflater_free (stream->inflater);
  g_free (stream->in);
  g_free (stream);
}

/* puts who and where in front */
static gboolean
spoilt (const Stream *stream, GError **error)
{
  g_prefix_error (error,
                  "%s: byte %" G_GINT64_FORMAT " of the compressed object: ", stream->object.uri,
                  stream->used);
  return FALSE;
}

/* more stored bytes behind those that are left; none: that was the last */
static gboolean
fetch (Stream *stream, GError **error)
{
  const HrLineSourceFuncs *funcs = stream->expander->funcs;
  gpointer data = stream->expander->data;
  gssize n;

  memmove (stream->in, stream->in + stream->in_first, stream->in_end - stream->in_first);
  stream->in_end -= stream->in_first;
  stream->in_first = 0;
  if (stream->fetched == stream->object.size)
    return TRUE;
  if (stream->part != NULL && stream->fetched == stream->part_end)
    close_part_of (stream);
  if (stream->part == NULL) {
    stream->part_end =
        MIN (stream->fetched + (gint64)stream->expander->part_bytes, stream->object.size);
    stream->part = funcs->open (data, &stream->object, stream->fetched, stream->part_end, error);
    if (stream->part == NULL)
      return FALSE;
  }
  n = funcs->read (
      data, stream->part, stream->fetched, stream->in + stream->in_end,
      (gsize)MIN ((gint64)(CHUNK_BYTES - stream->in_end), stream->part_end - stream->fetched),
      error);
  if (n < 0)
    return FALSE;
  if (n == 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                 "it was cut after it was listed");
    return spoilt (stream, error);
  }
  stream->in_end += (gsize)n;
  stream->fetched += n;
  return TRUE;
}

static gboolean
check_expansion (const Stream *stream, GError **error)
{
  guint64 most = stream->expander->max_expansion;

  if (most == 0 || stream->made <= FREE_BYTES
      || (guint64)stream->made / most <= (guint64)stream->used)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "%" G_GINT64_FORMAT " bytes of text so far, more than %" G_GUINT64_FORMAT
               " for each stored byte; max-expansion=0 lets it pass",
               stream->made, most);
  return spoilt (stream, error);
}

/* Returns: bytes of text; 0 at the end; -1 */
static gssize
stream_read (Stream *stream, guint8 *into, gsize size, GError **error)
{
  for (;;) {
    gsize left = stream->in_end - stream->in_first, used = 0, made = 0;

    if (left > 0
        && !hr_inflater_step (stream->inflater, stream->in + stream->in_first, left, &used, into,
                              size, &made, error)) {
      spoilt (stream, error);
      return -1;
    }
    stream->in_first += used;
    stream->used += (gint64)used;
    stream->made += (gint64)made;
    if (made > 0)
      return check_expansion (stream, error) ? (gssize)made : -1;
    if (used > 0)
      continue;
    if (stream->fetched == stream->object.size) {
      if (left == 0 && hr_inflater_may_end (stream->inflater))
        return 0;
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                   "it ends inside the compressed text: it has been cut");
      spoilt (stream, error);
      return -1;
    }
    if (!fetch (stream, error))
      return -1;
  }
}

/* what is in front is expanded, and dropped */
static gboolean
stream_seek (Stream *stream, gint64 offset, GError **error)
{
  g_autofree guint8 *scratch = NULL;

  while (stream->made < offset) {
    gssize n;

    if (scratch == NULL)
      scratch = g_malloc (CHUNK_BYTES);
    n = stream_read (stream, scratch, (gsize)MIN (CHUNK_BYTES, offset - stream->made), error);
    if (n <= 0)
      return n == 0;
  }
  return TRUE;
}

/* ---- as an object of its text ---- */

static int
find_file (HrExpander *expander, const HrObject *object)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (expander->files, object->uri)) - 1;
}

static gpointer
open_part (gpointer data, const HrObject *object, gint64 start, gint64 end, GError **error)
{
  HrExpander *expander = data;
  Part *part = g_new0 (Part, 1);

  part->uri = object->uri;
  part->fd = -1;
  if (object->stored < 0) {
    part->plain = expander->funcs->open (expander->data, object, start, end, error);
    if (part->plain == NULL)
      g_clear_pointer (&part, g_free);
  } else if ((part->fd = find_file (expander, object)) < 0) {
    part->stream = stream_new (expander, object);
  }
  return part;
}

static gssize
read_part (gpointer data, gpointer handle, gint64 offset, guint8 *into, gsize size, GError **error)
{
  HrExpander *expander = data;
  Part *part = handle;

  if (part->plain != NULL)
    return expander->funcs->read (expander->data, part->plain, offset, into, size, error);
  if (part->stream == NULL)
    return hr_file_read (part->fd, part->uri, offset, into, size, -1, error);
  if (offset < part->stream->made) { /* from its beginning once more */
    HrObject object = part->stream->object;

    stream_free (part->stream);
    part->stream = stream_new (expander, &object);
  }
  return stream_seek (part->stream, offset, error) ? stream_read (part->stream, into, size, error)
                                                   : -1;
}

static void
close_part (gpointer data, gpointer handle)
{
  HrExpander *expander = data;
  Part *part = handle;

  if (part->plain != NULL)
    expander->funcs->close (expander->data, part->plain);
  stream_free (part->stream);
  g_free (part);
}

const HrLineSourceFuncs hr_expander_funcs = { open_part, read_part, close_part };

/* ---- beforehand ---- */

static gboolean
fail_file (GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
               "%s: cannot keep the text of compressed objects there (TMPDIR): %s",
               g_get_tmp_dir (), g_strerror (errno));
  return FALSE;
}

static gboolean
write_all (int fd, const guint8 *bytes, gsize size, GError **error)
{
  for (gsize done = 0; done < size;) {
    gssize n = write (fd, bytes + done, size - done);

    if (n < 0 && errno != EINTR)
      return fail_file (error);
    done += (gsize)MAX (n, 0);
  }
  return TRUE;
}

/* without a name from the beginning, so that nothing is left behind, whatever happens */
static int
open_unnamed (GError **error)
{
  int fd = open (g_get_tmp_dir (), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    g_autofree char *path = g_build_filename (g_get_tmp_dir (), "headrace-XXXXXX", NULL);

    fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
      unlink (path);
  }
  if (fd < 0)
    fail_file (error);
  return fd;
}

gint64
hr_expander_keep (HrExpander *expander, HrOut *out, const HrObject *object, GError **error)
{
  g_autofree guint8 *text = NULL;
  Stream *stream;
  int fd = find_file (expander, object);
  gint64 size = -1;
  gssize n;

  if (fd >= 0)
    return lseek (fd, 0, SEEK_END);
  text = g_malloc (CHUNK_BYTES);
  stream = stream_new (expander, object);
  fd = open_unnamed (error);
  n = fd < 0 ? -1 : 1;

  while (n > 0) {
    n = stream_read (stream, text, CHUNK_BYTES, error);
    if (n > 0 && !write_all (fd, text, (gsize)n, error))
      n = -1;
    if (n > 0 && hr_out_is_closed (out)) {
      g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
      n = -1;
    }
  }
  if (n == 0) {
    size = stream->made;
    g_hash_table_insert (expander->files, object->uri, GINT_TO_POINTER (fd + 1));
  } else if (fd >= 0) {
    close (fd);
  }
  stream_free (stream);
  return size;
}

gboolean
hr_expander_prepare (HrExpander *expander, HrOut *out, const HrPlanRules *rules, GError **error)
{
  HrPlan *plan = hr_out_get_plan (out);

  for (guint i = 0; hr_plan_needs_sizes (plan, rules) && i < hr_plan_get_n_objects (plan); i++) {
    const HrObject *object = hr_plan_get_object (plan, i);
    gint64 size = object->stored >= 0 ? hr_expander_keep (expander, out, object, error) : 0;

    if (size < 0)
      return FALSE;
    if (object->stored >= 0)
      hr_plan_set_size (plan, i, size);
  }
  return TRUE;
}

static void
close_file (gpointer fd)
{
  close (GPOINTER_TO_INT (fd) - 1);
}

HrExpander *
hr_expander_new (const HrLineSourceFuncs *funcs, gpointer data, gsize part_bytes,
                 guint64 max_expansion)
{
  HrExpander *expander = g_new0 (HrExpander, 1);

  expander->funcs = funcs;
  expander->data = data;
  expander->part_bytes = part_bytes;
  expander->max_expansion = max_expansion;
  expander->files = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, close_file);
  return expander;
}

void
hr_expander_free (HrExpander *expander)
{
  g_hash_table_unref (expander->files);
  g_free (expander);
}
