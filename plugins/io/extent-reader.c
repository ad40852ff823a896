/* extent-reader.c */
#include "extent-reader.h"
#include "lines.h"

/* read behind an extent, for the end of its last line */
#define TAIL_BYTES (64 * 1024)

/* a piece of an extent that is asked for by one request */
typedef struct {
  guint64 extent; /* the number of its extent */
  gint64 end;     /* -1: to the end of the object */
  gpointer handle;
} Part;

struct _ExtentReader {
  const HrLineSourceFuncs *funcs;
  gpointer data;
  HrLineSourceOptions options;
  GRefString *root;
  HrLines *lines;
  HrOut *out;

  GQueue extents;   /* HrExtent, the first is at hand */
  guint64 number;   /* of the first */
  gboolean begun;   /* … it is being read */
  gint64 position;  /* of the next byte */
  GQueue parts;     /* opened, in the order in which they are read */
  guint opening;    /* which of the extents is opened next */
  gint64 opened_to; /* … from this byte on; -1: from its start */
};

static gssize read_bytes (gpointer data, guint8 *into, gsize size, GError **error);
static HrMemory *alloc_block (gpointer data, gsize size, GError **error);

ExtentReader *
extent_reader_new (const HrLineSourceFuncs *funcs, gpointer data,
                   const HrLineSourceOptions *options)
{
  static const HrLinesFuncs lines_funcs = { read_bytes, alloc_block };
  ExtentReader *reader = g_new0 (ExtentReader, 1);

  reader->funcs = funcs;
  reader->data = data;
  reader->options = *options;
  reader->root = g_ref_string_new (options->root);
  reader->lines =
      hr_lines_new (&lines_funcs, reader, options->block_bytes, options->max_line_bytes);
  reader->opened_to = -1;
  return reader;
}

static void
drop_part (ExtentReader *reader)
{
  Part *part = g_queue_pop_head (&reader->parts);

  reader->funcs->close (reader->data, part->handle);
  g_free (part);
}

void
extent_reader_free (ExtentReader *reader)
{
  while (!g_queue_is_empty (&reader->parts))
    drop_part (reader);
  g_queue_clear_full (&reader->extents, g_free);
  hr_lines_free (reader->lines);
  g_ref_string_release (reader->root);
  g_free (reader);
}

void
extent_reader_set_out (ExtentReader *reader, HrOut *out)
{
  reader->out = out;
}

static const HrObject *
get_object (ExtentReader *reader, const HrExtent *extent)
{
  return hr_plan_get_object (hr_out_get_plan (reader->out), extent->object);
}

/* ---- ahead ---- */

void
extent_reader_add (ExtentReader *reader, const HrExtent *extent)
{
  g_queue_push_tail (&reader->extents, g_memdup2 (extent, sizeof *extent));
}

gboolean
extent_reader_wants_more (const ExtentReader *reader)
{
  return reader->opening >= reader->extents.length
         && reader->parts.length < reader->options.ahead + 1;
}

static Part *
open_part (ExtentReader *reader, const HrExtent *extent, guint64 number, gint64 start, gint64 end,
           GError **error)
{
  gpointer handle =
      reader->funcs->open (reader->data, get_object (reader, extent), start, end, error);
  Part *part;

  if (handle == NULL)
    return NULL;
  part = g_new0 (Part, 1);
  part->extent = number;
  part->end = end;
  part->handle = handle;
  return part;
}

/* where bytes of an extent begin: the one before it tells whether a line begins at its start */
static gint64
first_byte (const HrExtent *extent)
{
  return extent->start - (extent->start > 0);
}

gboolean
extent_reader_look_ahead (ExtentReader *reader, GError **error)
{
  while (reader->opening < reader->extents.length
         && reader->parts.length < reader->options.ahead + 1) {
    const HrExtent *extent = g_queue_peek_nth (&reader->extents, reader->opening);
    gint64 start = reader->opened_to >= 0 ? reader->opened_to : first_byte (extent), end = -1;
    Part *part;

    if (extent->end == extent->start) { /* an empty object */
      reader->opening++;
      continue;
    }
    if (extent->end >= 0)
      end = MIN (extent->end, start + (gint64)reader->options.part_bytes);
    part = open_part (reader, extent, reader->number + reader->opening, start, end, error);
    if (part == NULL)
      return FALSE;
    g_queue_push_tail (&reader->parts, part);
    reader->opened_to = end;
    if (end == extent->end) {
      reader->opening++;
      reader->opened_to = -1;
    }
  }
  return TRUE;
}

/* ---- the extent at hand ---- */

/* the part that holds the next byte; NULL without an error at the end of the object */
static Part *
find_part (ExtentReader *reader, GError **error)
{
  const HrExtent *extent = g_queue_peek_head (&reader->extents);
  const HrObject *object = get_object (reader, extent);
  gint64 end = reader->position + TAIL_BYTES;
  Part *part;

  if (object->size >= 0 && reader->position >= object->size)
    return NULL;
  for (;;) {
    part = g_queue_peek_head (&reader->parts);
    if (part != NULL && part->extent == reader->number) {
      if (part->end < 0 || reader->position < part->end)
        return part;
      drop_part (reader);
      if (!extent_reader_look_ahead (reader, error))
        return NULL;
    } else if (reader->opening == 0) {
      /* it has not been opened to its end: no room for parts so far */
      if (!extent_reader_look_ahead (reader, error))
        return NULL;
    } else {
      break;
    }
  }
  end = object->size >= 0 ? MIN (end, object->size) : end;
  part = open_part (reader, extent, reader->number, reader->position, end, error);
  if (part != NULL)
    g_queue_push_head (&reader->parts, part);
  return part;
}

static gssize
read_bytes (gpointer data, guint8 *into, gsize size, GError **error)
{
  ExtentReader *reader = data;
  GError *failure = NULL;
  Part *part = find_part (reader, &failure);
  gssize n;

  if (part == NULL) {
    if (failure != NULL)
      g_propagate_error (error, failure);
    return failure != NULL ? -1 : 0;
  }
  if (part->end >= 0)
    size = MIN ((gint64)size, part->end - reader->position);
  n = reader->funcs->read (reader->data, part->handle, reader->position, into, size, error);
  if (n > 0)
    reader->position += n;
  return n;
}

static HrMemory *
alloc_block (gpointer data, gsize size, GError **error)
{
  return hr_out_alloc (((ExtentReader *)data)->out, "lines", size, error);
}

static void
begin (ExtentReader *reader)
{
  const HrExtent *extent = g_queue_peek_head (&reader->extents);

  reader->begun = TRUE;
  reader->position = first_byte (extent);
  hr_lines_begin (reader->lines, get_object (reader, extent)->uri, reader->root, extent->start,
                  extent->end);
}

void
extent_reader_skip (ExtentReader *reader)
{
  Part *part;

  while ((part = g_queue_peek_head (&reader->parts)) != NULL && part->extent == reader->number)
    drop_part (reader);
  g_free (g_queue_pop_head (&reader->extents));
  if (reader->opening > 0)
    reader->opening--;
  else
    reader->opened_to = -1;
  reader->number++;
  reader->begun = FALSE;
}

gboolean
extent_reader_next (ExtentReader *reader, HrBuffer **block, GError **error)
{
  g_return_val_if_fail (!g_queue_is_empty (&reader->extents), FALSE);
  if (!reader->begun)
    begin (reader);
  if (!hr_lines_next (reader->lines, block, error))
    return FALSE;
  hr_out_count_copy (reader->out, hr_lines_take_copied (reader->lines));
  if (*block == NULL)
    extent_reader_skip (reader);
  return TRUE;
}
