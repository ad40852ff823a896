/* line-source.c: what sources of lines have in common: extents of the plan become blocks of lines
 */
#include "line-source.h"
#include "lines.h"

/* read behind an extent, for the end of its last line */
#define TAIL_BYTES (64 * 1024)

typedef struct {
  HrExtent extent;
  gboolean joined; /* belongs to the run that is being read */
  gpointer handle;
} Part;

struct _HrLineSource {
  const HrLineSourceFuncs *funcs;
  gpointer data;
  HrLineSourceOptions options;
  GRefString *root;
  HrLines *lines;
  GQueue parts;
  HrOut *out;       /* during create() */
  gboolean planned; /* the plan has no more */
  gboolean active;  /* a run of extents without gaps is being read … */
  guint object;     /* … of this object … */
  gint64 position;  /* … from here on … */
  gint64 end;       /* … to here */
};

static gssize read_bytes (gpointer data, guint8 *into, gsize size, GError **error);
static HrMemory *alloc_block (gpointer data, gsize size, GError **error);

HrLineSource *
hr_line_source_new (const HrLineSourceFuncs *funcs, gpointer data,
                    const HrLineSourceOptions *options)
{
  static const HrLinesFuncs lines_funcs = { read_bytes, alloc_block };
  HrLineSource *source = g_new0 (HrLineSource, 1);

  source->funcs = funcs;
  source->data = data;
  source->options = *options;
  source->root = g_ref_string_new (options->root);
  source->lines =
      hr_lines_new (&lines_funcs, source, options->block_bytes, options->max_line_bytes);
  return source;
}

static void
close_part (HrLineSource *source, Part *part)
{
  source->funcs->close (source->data, part->handle);
  g_free (part);
}

static void
drop_part (HrLineSource *source)
{
  close_part (source, g_queue_pop_head (&source->parts));
}

void
hr_line_source_free (HrLineSource *source)
{
  while (!g_queue_is_empty (&source->parts))
    drop_part (source);
  hr_lines_free (source->lines);
  g_ref_string_release (source->root);
  g_free (source);
}

static const HrObject *
get_object (HrLineSource *source, guint index)
{
  return hr_plan_get_object (hr_out_get_plan (source->out), index);
}

static Part *
open_part (HrLineSource *source, const HrExtent *extent, GError **error)
{
  const HrObject *object = get_object (source, extent->object);
  gpointer handle = source->funcs->open (source->data, object, extent->start, extent->end, error);
  Part *part;

  if (!handle)
    return NULL;
  part = g_new0 (Part, 1);
  part->extent = *extent;
  part->handle = handle;
  return part;
}

/* opens what will be read next. An extent that does not begin an object needs the byte before it,
 * which the one in front of it has, unless there is a gap. */
static gboolean
look_ahead (HrLineSource *source, GError **error)
{
  while (!source->planned && source->parts.length < source->options.ahead + 1) {
    Part *last = g_queue_peek_tail (&source->parts), *part;
    HrExtent extent;
    gboolean follows;

    if (!hr_plan_next (hr_out_get_plan (source->out), source->options.extent_bytes, &extent)) {
      source->planned = TRUE;
      break;
    }
    if (last && !last->joined)
      follows = last->extent.object == extent.object && last->extent.end == extent.start;
    else
      follows = source->active && source->object == extent.object && source->end == extent.start;
    if (!follows && extent.start > 0)
      extent.start--;
    part = open_part (source, &extent, error);
    if (!part)
      return FALSE;
    part->joined = FALSE;
    g_queue_push_tail (&source->parts, part);
  }
  return TRUE;
}

static gboolean
is_read (HrLineSource *source, const Part *part)
{
  return part->joined && part->extent.end >= 0 && source->position >= part->extent.end;
}

/* what was read behind an extent may stand in front of extents that are read by that, too */
static void
drop_read (HrLineSource *source)
{
  for (GList *node = source->parts.head, *next; node; node = next) {
    Part *part = node->data;

    next = node->next;
    if (is_read (source, part)) {
      g_queue_delete_link (&source->parts, node);
      close_part (source, part);
    }
  }
}

/* extents that follow each other are read as one: their borders cost nothing. FALSE: none follows
 */
static gboolean
join_parts (HrLineSource *source)
{
  gboolean grown = FALSE;

  for (GList *node = source->parts.head; node; node = node->next) {
    Part *part = node->data;

    if (part->joined)
      continue;
    if (part->extent.object != source->object || part->extent.start != source->end)
      break;
    part->joined = grown = TRUE;
    source->end = part->extent.end;
  }
  if (grown)
    hr_lines_extend (source->lines, source->end);
  return grown;
}

static void
begin_run (HrLineSource *source)
{
  Part *part = g_queue_peek_head (&source->parts);
  const HrExtent *extent = &part->extent;
  const HrObject *object = get_object (source, extent->object);

  part->joined = TRUE;
  source->active = TRUE;
  source->object = extent->object;
  source->position = extent->start;
  source->end = extent->end;
  /* look_ahead() has put the start one byte down unless it is the object's */
  hr_lines_begin (source->lines, object->uri, source->root,
                  extent->start > 0 ? extent->start + 1 : 0, extent->end);
}

static void
end_run (HrLineSource *source)
{
  Part *part;

  while ((part = g_queue_peek_head (&source->parts)) && part->joined)
    drop_part (source);
  source->active = FALSE;
}

/* the part that holds the next byte; NULL without an error at the end of the object */
static Part *
find_part (HrLineSource *source, GError **error)
{
  const HrObject *object = get_object (source, source->object);
  HrExtent tail = { source->object, source->position, source->position + TAIL_BYTES };
  Part *part;

  if (object->size >= 0 && source->position >= object->size)
    return NULL;
  while ((part = g_queue_peek_head (&source->parts)) && part->joined && part->extent.end >= 0
         && source->position >= part->extent.end)
    drop_part (source);
  if (part && part->joined)
    return part;
  tail.end = object->size >= 0 ? MIN (tail.end, object->size) : tail.end;
  part = open_part (source, &tail, error);
  if (part) {
    part->joined = TRUE;
    g_queue_push_head (&source->parts, part);
  }
  return part;
}

static gssize
read_bytes (gpointer data, guint8 *into, gsize size, GError **error)
{
  HrLineSource *source = data;
  GError *failure = NULL;
  Part *part = find_part (source, &failure);
  gssize n;

  if (!part) {
    if (failure)
      g_propagate_error (error, failure);
    return failure ? -1 : 0;
  }
  if (part->extent.end >= 0)
    size = MIN ((gint64)size, part->extent.end - source->position);
  n = source->funcs->read (source->data, part->handle, source->position, into, size, error);
  if (n > 0)
    source->position += n;
  return n;
}

static HrMemory *
alloc_block (gpointer data, gsize size, GError **error)
{
  return hr_out_alloc (((HrLineSource *)data)->out, "lines", size, error);
}

HrFlow
hr_line_source_create (HrLineSource *source, HrOut *out, GError **error)
{
  source->out = out;
  for (;;) {
    HrBuffer *block = NULL;
    gboolean grown;

    drop_read (source);
    if (!look_ahead (source, error))
      return HR_FLOW_ERROR;
    if (!source->active) {
      if (g_queue_is_empty (&source->parts))
        return HR_FLOW_END;
      begin_run (source);
    }
    grown = join_parts (source);
    if (!hr_lines_next (source->lines, &block, error))
      return HR_FLOW_ERROR;
    if (block) {
      hr_out_count_copy (out, hr_lines_take_copied (source->lines));
      hr_out_push (out, block);
      return HR_FLOW_MORE;
    }
    /* no line begins in the extents so far, all inside one line; the run, and with it the number
     * of the line, goes on as long as extents follow */
    if (!grown)
      end_run (source);
  }
}
