/* filesrc.c: lines of files on disk */
#include "headrace.h"
#include "expand.h"
#include "file.h"
#include "line-limit.h"
#include "line-source.h"
#include "media-link.h"
#include "order-props.h"
#include <fcntl.h>
#include <unistd.h>

typedef struct {
  char *location;
  guint64 block_bytes;
  guint64 max_line_bytes;
  guint64 max_expansion;
  HR_ORDER_FIELDS
} Filesrc;

static const HrProp props[] = {
  HR_PROP_STRING (Filesrc, location, NULL,
                  "File, folder (every *.jsonl, *.jsonl.gz and *.jsonl.zst under it) or pattern (* "
                  "? [ ] **); file:/// too",
                  .flags = HR_PROP_REQUIRED | HR_PROP_STREAM),
  HR_PROP_SIZE (Filesrc, block_bytes, 1, HR_GIB, HR_MIB,
                "Bytes read, and given on, at once; for shuffle=window those of a block",
                .flags = HR_PROP_STREAM),
  HR_PROP_SIZE (Filesrc, max_line_bytes, 0, 2 * HR_GIB - 1, 0,
                "Longest line that is given on whole; 0: the limit of the jsonlparse behind it",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (
      Filesrc, max_expansion, 0, G_MAXINT32, 250,
      "Bytes of text that each byte of a compressed object (*.gz, *.zst) may make, so that a "
      "small one does not fill the disk; 0: any number",
      .unit = "bytes"),
  HR_ORDER_PROPS (Filesrc),
  HR_PROP_END
};

/* an open file, shared by its parts */
typedef struct {
  gint ref_count;
  int fd;
  gint64 size; /* -1: no regular file */
  GRefString *path;
} File;

typedef struct {
  HrLineSource *source;
  HrExpander *expander;
  File *last;
  HrOut *out;
} State;

static void
file_unref (File *file)
{
  if (--file->ref_count > 0)
    return;
  close (file->fd);
  g_ref_string_release (file->path);
  g_free (file);
}

static File *
file_new (const HrObject *object, GError **error)
{
  gint64 size;
  int fd = hr_file_open (object->uri, &size, error);
  File *file;

  if (fd < 0)
    return NULL;
  if (size != object->size) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                 "%s: had %" G_GINT64_FORMAT " bytes when it was listed and has %" G_GINT64_FORMAT,
                 object->uri, object->size, size);
    close (fd);
    return NULL;
  }
  posix_fadvise (fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  file = g_new0 (File, 1);
  file->ref_count = 1;
  file->fd = fd;
  file->size = size;
  file->path = g_ref_string_acquire (object->uri);
  return file;
}

static gpointer
open_part (gpointer data, const HrObject *object, gint64 start G_GNUC_UNUSED,
           gint64 end G_GNUC_UNUSED, GError **error)
{
  State *state = data;

  if (!state->last || state->last->path != object->uri) {
    File *file = file_new (object, error);

    if (!file)
      return NULL;
    g_clear_pointer (&state->last, file_unref);
    state->last = file;
  }
  state->last->ref_count++;
  return state->last;
}

static gssize
read_part (gpointer data, gpointer part, gint64 offset, guint8 *into, gsize size, GError **error)
{
  State *state = data;
  File *file = part;
  gssize n = hr_file_read (file->fd, file->path, offset, into, size,
                           hr_out_get_wake_fd (state->out), error);

  if (n == 0 && offset < file->size) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                 "%s: ends at byte %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                 ": it was cut while it was read",
                 file->path, offset, file->size);
    return -1;
  }
  hr_out_count_read (state->out, (gsize)MAX (n, 0));
  return n;
}

static void
close_part (gpointer data G_GNUC_UNUSED, gpointer part)
{
  file_unref (part);
}

static gboolean
list (const Filesrc *self, State *state, HrOut *out, GError **error)
{
  static const HrLineSourceFuncs funcs = { open_part, read_part, close_part };
  HrPlan *plan = hr_out_get_plan (out);
  g_autofree char *path = hr_file_path (self->location, error), *folder = NULL, *root = NULL;
  HrPlanRules rules = HR_ORDER_RULES (self, self->block_bytes);
  HrLineSourceOptions options;

  if (!path || !hr_file_list (path, plan, &folder, error))
    return FALSE;
  hr_plan_listed (plan);
  state->expander = hr_expander_new (&funcs, state, self->block_bytes, self->max_expansion);
  if (!hr_expander_prepare (state->expander, out, &rules, error))
    return FALSE;
  if (!hr_plan_begin (plan, &rules, error))
    return FALSE;
  root = hr_media_link_folder (folder);
  options = (HrLineSourceOptions){ .root = root,
                                   .part_bytes = self->block_bytes,
                                   .ahead = 1,
                                   .block_bytes = self->block_bytes,
                                   .max_line_bytes = hr_line_limit (out, self->max_line_bytes) };
  state->source = hr_line_source_new (&hr_expander_funcs, state->expander, &options);
  return TRUE;
}

static HrFlow
filesrc_create (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  State *state = worker;

  state->out = out;
  if (!state->source && !list (self, state, out, error))
    return HR_FLOW_ERROR;
  return hr_line_source_create (state->source, out, error);
}

static void
filesrc_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  State *state = worker;

  g_clear_pointer (&state->source, hr_line_source_free);
  g_clear_pointer (&state->expander, hr_expander_free);
  g_clear_pointer (&state->last, file_unref);
}

static gboolean
filesrc_check (gconstpointer self, GError **error)
{
  g_autofree char *path = hr_file_path (((const Filesrc *)self)->location, error);

  return path != NULL;
}

static const char *const examples[] = {
  "filesrc location=tests/data/cases/18-empty-object/ ! fakesink", NULL
};

HR_ELEMENT (filesrc, Filesrc, .summary = "Read the lines of files",
            .description =
                "Lists what the location names, in the order of the bytes of the names relative to "
                "it, and gives blocks of whole lines: field \"lines\", uint8 [n], with offset and "
                "number of the first line in the origin. A missing file, and a pattern or folder "
                "without any file, end the run.",
            .examples = examples, .gives = "lines", .worker_size = sizeof (State), .props = props,
            .waits = TRUE, .plans = TRUE, .check = filesrc_check,
            .worker_stop = filesrc_worker_stop, .create = filesrc_create)
