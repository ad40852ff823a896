/* line-source.c: what sources of lines have in common: reads of the plan become blocks of lines */
#include "line-source.h"
#include "extent-reader.h"
#include "found-lines.h"
#include "hr-lengths.h"
#include "hr-line-table.h"
#include "known-lines.h"
#include "row-queue.h"

struct _HrLineSource {
  const HrLineSourceFuncs *funcs;
  gpointer data;
  HrLineSourceOptions options; /* but its root … */
  GRefString *root;            /* … which is this */
  HrPlanCache *cache;
  gboolean begun;
  ExtentReader *reader;
  RowQueue *ready;
  GQueue reads;     /* HrRead, the first is at hand */
  gboolean planned; /* the plan has no more */
  HrOut *out;       /* during create() */

  /* of the read at hand */
  guint n_extents;    /* read to their end */
  FoundLines *found;  /* lines that wait for the rest of it */
  HrLineTable *table; /* of an object that is read from its first byte to its last */
};

HrLineSource *
hr_line_source_new (const HrLineSourceFuncs *funcs, gpointer data,
                    const HrLineSourceOptions *options)
{
  HrLineSource *source = g_new0 (HrLineSource, 1);

  source->funcs = funcs;
  source->data = data;
  source->options = *options;
  source->root = g_ref_string_new (options->root);
  source->cache = hr_plan_cache_new_default ();
  source->reader = extent_reader_new (funcs, data, options);
  source->ready = row_queue_new (options->block_bytes);
  source->found = found_lines_new ();
  return source;
}

void
hr_line_source_free (HrLineSource *source)
{
  extent_reader_free (source->reader);
  row_queue_free (source->ready);
  g_ref_string_release (source->root);
  found_lines_free (source->found);
  g_clear_pointer (&source->table, hr_line_table_unref);
  hr_plan_cache_free (source->cache);
  g_queue_clear_full (&source->reads, (GDestroyNotify)hr_read_free);
  g_free (source);
}

static HrPlan *
get_plan (HrLineSource *source)
{
  return hr_out_get_plan (source->out);
}

/* asks the plan for reads as far ahead as requests may be in flight */
static gboolean
look_ahead (HrLineSource *source, GError **error)
{
  HrPlanNext next = HR_PLAN_READ;

  while (!source->planned && next == HR_PLAN_READ
         && source->reads.length < source->options.ahead + 2
         && (g_queue_is_empty (&source->reads) || extent_reader_wants_more (source->reader))) {
    HrRead *read;

    next = hr_plan_next (get_plan (source), &read);
    source->planned = next == HR_PLAN_END;
    if (next == HR_PLAN_READ) {
      g_queue_push_tail (&source->reads, read);
      for (guint i = 0; i < read->extents->len; i++)
        extent_reader_add (source->reader, &g_array_index (read->extents, HrExtent, i));
    }
    if (!extent_reader_look_ahead (source->reader, error))
      return FALSE;
  }
  return extent_reader_look_ahead (source->reader, error);
}

/* ---- the read at hand ---- */

static void
end_read (HrLineSource *source)
{
  source->n_extents = 0;
  found_lines_clear (source->found);
  g_clear_pointer (&source->table, hr_line_table_unref);
  hr_plan_end_read (get_plan (source), g_queue_pop_head (&source->reads));
}

/* the lines that are ours, in the order of the plan */
static gboolean
place_lines (HrLineSource *source, HrRead *read)
{
  g_autoptr (GArray) placed = g_array_new (FALSE, FALSE, sizeof (HrPlaced));
  gboolean more =
      hr_plan_place (get_plan (source), read, found_lines_get_length (source->found), placed);
  static const HrRowMark none = { 0, FALSE };
  guint64 n_again = 0, again_bytes = 0;

  for (guint i = 0; i < placed->len; i++) {
    const HrPlaced *one = &g_array_index (placed, HrPlaced, i);
    const FoundLine *line = found_lines_get (source->found, one->index);

    if (one->again) {
      n_again++;
      again_bytes += (guint64)line->bytes;
      continue;
    }
    row_queue_add (source->ready, line, read->epoch, one->place, &none);
  }
  hr_plan_count_again (get_plan (source), n_again, again_bytes);
  row_queue_set_complete (source->ready, hr_plan_get_complete (get_plan (source)));
  found_lines_clear (source->found);
  return more;
}

/* where its lines begin is known when it has been read; the next epoch need not find out */
static gboolean
is_worth_noting (HrLineSource *source, const HrRead *read)
{
  const HrExtent *extent = &g_array_index (read->extents, HrExtent, 0);

  return extent->start == 0 && extent->end >= 0 && hr_plan_has_samples (get_plan (source))
         && !hr_plan_knows_lines (get_plan (source), extent->object);
}

static void
note_lines (HrLineSource *source, const HrRead *read)
{
  if (!is_worth_noting (source, read))
    return;
  if (source->table == NULL)
    source->table = hr_line_table_new ();
  for (guint i = 0; i < found_lines_get_length (source->found); i++) {
    const FoundLine *line = found_lines_get (source->found, i);

    hr_line_table_add (source->table, line->byte, line->line);
  }
}

static void
give_table (HrLineSource *source, const HrRead *read)
{
  const HrExtent *extent = &g_array_index (read->extents, HrExtent, 0);

  if (!is_worth_noting (source, read))
    return;
  if (source->table == NULL) /* an empty object */
    source->table = hr_line_table_new ();
  known_lines_add (source->cache, get_plan (source), extent->object,
                   g_steal_pointer (&source->table));
}

static gboolean
read_stream (HrLineSource *source, HrRead *read, GError **error)
{
  HrBuffer *block;

  if (!extent_reader_next (source->reader, &block, error))
    return FALSE;
  if (block == NULL) {
    give_table (source, read);
    end_read (source);
    return TRUE;
  }
  if (!hr_plan_has_samples (get_plan (source))) {
    hr_out_push (source->out, block);
    return TRUE;
  }
  hr_plan_mark (get_plan (source), read, hr_buffer_get_origin (block)->byte);
  found_lines_add_block (source->found, block, 0);
  note_lines (source, read);
  if (!place_lines (source, read)) {
    extent_reader_skip (source->reader);
    end_read (source);
  }
  return TRUE;
}

static void
place_group (HrLineSource *source, HrRead *read)
{
  hr_plan_mark (get_plan (source), read, 0);
  place_lines (source, read);
}

static void
add_hole (HrLineSource *source, HrRead *read, const HrWanted *wanted)
{
  if (!wanted->left_out) {
    row_queue_add_padding (source->ready, read->epoch, wanted);
    return;
  }
  row_queue_add_left_out (
      source->ready, read->epoch, wanted,
      hr_origin_new (hr_plan_get_object (get_plan (source), wanted->object)->uri, source->root,
                     wanted->byte, -1, wanted->line));
}

static gboolean
pick_lines (HrLineSource *source, HrRead *read, GError **error)
{
  for (guint i = 0; i < read->wanted->len; i++) {
    const HrWanted *wanted = &g_array_index (read->wanted, HrWanted, i);
    const FoundLine *line;
    FoundLine numbered;

    if (wanted->extent == HR_NO_EXTENT) {
      add_hole (source, read, wanted);
      continue;
    }
    line = found_lines_find (source->found, wanted->extent, wanted->byte);
    if (line == NULL) {
      const HrExtent *extent = &g_array_index (read->extents, HrExtent, wanted->extent);

      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                   "%s: no line begins at byte %" G_GINT64_FORMAT
                   " any more: it has been changed since its lines were counted",
                   hr_plan_get_object (get_plan (source), extent->object)->uri, wanted->byte);
      return FALSE;
    }
    numbered = *line; /* who begins inside an object cannot count its lines */
    numbered.line = wanted->line;
    row_queue_add (source->ready, &numbered, read->epoch, wanted->place, &wanted->row);
  }
  row_queue_set_complete (source->ready, G_MAXINT64);
  return TRUE;
}

/* a read whose lines are given on when all of them are there */
static gboolean
read_whole (HrLineSource *source, HrRead *read, GError **error)
{
  HrBuffer *block;

  if (source->n_extents == read->extents->len) {
    if (read->mode == HR_READ_GROUP)
      place_group (source, read);
    else if (!pick_lines (source, read, error))
      return FALSE;
    end_read (source);
    return TRUE;
  }
  if (!extent_reader_next (source->reader, &block, error))
    return FALSE;
  if (block == NULL)
    source->n_extents++;
  else
    found_lines_add_block (source->found, block, source->n_extents);
  return TRUE;
}

/* what is left of the epoch, without a step that is not made */
static void
read_padding (HrLineSource *source, HrRead *read)
{
  row_queue_cut (source->ready, read->complete);
  for (guint i = 0; i < read->wanted->len; i++)
    row_queue_add_padding (source->ready, read->epoch, &g_array_index (read->wanted, HrWanted, i));
  row_queue_set_complete (source->ready, G_MAXINT64);
  end_read (source);
}

static gboolean
read_some (HrLineSource *source, GError **error)
{
  HrRead *read = g_queue_peek_head (&source->reads);

  switch (read->mode) {
  case HR_READ_STREAM:
    return read_stream (source, read, error);
  case HR_READ_GROUP:
  case HR_READ_LINES:
    return read_whole (source, read, error);
  case HR_READ_PADDING:
    read_padding (source, read);
    return TRUE;
  }
  g_return_val_if_reached (FALSE);
}

/* what must be known before anything is read */
static gboolean
begin (HrLineSource *source, GError **error)
{
  HrPlan *plan = get_plan (source);

  return known_lines_begin (source->cache, plan, source->funcs, source->data, &source->options,
                            hr_out_get_wake_fd (source->out), error)
         && (!hr_plan_needs_lengths (plan) || hr_lengths_find (source->out, source->cache, error))
         && hr_plan_settle (plan, error);
}

HrFlow
hr_line_source_create (HrLineSource *source, HrOut *out, GError **error)
{
  source->out = out;
  extent_reader_set_out (source->reader, out);
  if (!source->begun && !begin (source, error))
    return HR_FLOW_ERROR;
  source->begun = TRUE;
  if (row_queue_can_give (source->ready))
    return row_queue_give (source->ready, out, error) ? HR_FLOW_MORE : HR_FLOW_ERROR;
  if (!look_ahead (source, error))
    return HR_FLOW_ERROR;
  if (g_queue_is_empty (&source->reads)) {
    if (source->planned)
      return HR_FLOW_END;
    hr_out_wait_request (out);
    return HR_FLOW_MORE;
  }
  return read_some (source, error) ? HR_FLOW_MORE : HR_FLOW_ERROR;
}
