/* row-queue.c */
#include "row-queue.h"
#include <string.h>

/* so many lines that follow each other in a block are given on where they lie; fewer are copied
 * together with others */
#define MIN_VIEW 16
/* most lines in a block of such copies, so that several workers get some */
#define MAX_COPIED 1024

typedef struct {
  FoundLine line; /* with a reference of its block; that is NULL for padding */
  guint epoch;
  gint64 place;
  HrRowMark row;
  HrOrigin *left_out; /* not NULL: there is a line, but it makes no sample: */
  HrWanted why;
  HrBuffer *hole; /* not NULL: it is there already */
} Row;

struct _RowQueue {
  gsize block_bytes;
  GArray *rows; /* Row */
  guint first;  /* those before it have been given on */
  gint64 complete;
};

static void
row_clear (gpointer row)
{
  g_clear_pointer (&((Row *)row)->line.block, hr_buffer_unref);
  g_clear_pointer (&((Row *)row)->left_out, hr_origin_unref);
  g_clear_pointer (&((Row *)row)->hole, hr_buffer_unref);
}

RowQueue *
row_queue_new (gsize block_bytes)
{
  RowQueue *queue = g_new0 (RowQueue, 1);

  queue->block_bytes = block_bytes;
  queue->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_array_set_clear_func (queue->rows, row_clear);
  return queue;
}

void
row_queue_free (RowQueue *queue)
{
  g_array_unref (queue->rows);
  g_free (queue);
}

void
row_queue_cut (RowQueue *queue, gint64 place)
{
  guint n = queue->rows->len;

  while (n > queue->first && g_array_index (queue->rows, Row, n - 1).place >= place)
    n--;
  g_array_set_size (queue->rows, n);
}

void
row_queue_add_padding (RowQueue *queue, guint epoch, const HrWanted *wanted)
{
  Row row = { .epoch = epoch, .place = wanted->place, .row = wanted->row };

  g_array_append_val (queue->rows, row);
}

void
row_queue_add_left_out (RowQueue *queue, guint epoch, const HrWanted *wanted, HrOrigin *origin)
{
  Row row = { .epoch = epoch, .place = wanted->place, .left_out = origin, .why = *wanted };

  g_array_append_val (queue->rows, row);
}

void
row_queue_add_hole (RowQueue *queue, HrBuffer *hole)
{
  Row row = { .epoch = hole->epoch, .place = hole->place, .hole = hole };

  g_array_append_val (queue->rows, row);
}

void
row_queue_add (RowQueue *queue, const FoundLine *line, guint epoch, gint64 place,
               const HrRowMark *mark)
{
  Row row = { *line, epoch, place, *mark, NULL, { 0 } };

  hr_buffer_ref (row.line.block);
  g_array_append_val (queue->rows, row);
}

void
row_queue_set_complete (RowQueue *queue, gint64 place)
{
  queue->complete = place;
}

static const Row *
get (const RowQueue *queue, guint index)
{
  return index < queue->rows->len ? &g_array_index (queue->rows, Row, index) : NULL;
}

static gboolean
may_give (const RowQueue *queue, guint index)
{
  const Row *row = get (queue, index);

  return row != NULL && row->place < queue->complete;
}

gboolean
row_queue_can_give (const RowQueue *queue)
{
  return may_give (queue, queue->first);
}

static gboolean
is_cut (const FoundLine *line)
{
  return line->bytes > (gint64)line->length;
}

/* lines from @first on that lie behind each other in one block */
static guint
count_run (const RowQueue *queue, guint first, guint most)
{
  guint n = 1;

  while (n < most && may_give (queue, first + n)) {
    const Row *last = get (queue, first + n - 1), *row = get (queue, first + n);

    if (row->line.block != last->line.block || row->line.offset < last->line.offset
        || row->epoch != last->epoch)
      break;
    n++;
  }
  return n;
}

static void
add_row (HrRows *rows, const Row *row, gsize offset, gsize length)
{
  HrRow one = { .uri = row->line.uri,
                .root = row->line.root,
                .offset = offset,
                .length = length,
                .bytes = row->line.bytes,
                .byte = row->line.byte,
                .line = row->line.line,
                .place = row->place,
                .row = row->row };

  hr_rows_add (rows, &one);
}

/* a block of one epoch that begins with @row */
static HrBuffer *
new_block (const Row *row, HrTensor *lines, HrRows *rows)
{
  HrBuffer *block = hr_buffer_new ();
  const char *limit = hr_buffer_get_string (row->line.block, "line-limit");

  block->epoch = row->epoch;
  block->place = row->place;
  hr_buffer_set_origin (block, hr_origin_ref (hr_buffer_get_origin (row->line.block)));
  hr_buffer_set_tensor (block, "lines", lines);
  hr_buffer_set_rows (block, rows);
  if (limit != NULL)
    hr_buffer_set_string (block, "line-limit", limit);
  return block;
}

/* what has been given on is let go: its blocks may be large */
static void
drop (RowQueue *queue, guint n)
{
  for (guint i = queue->first; i < queue->first + n; i++) {
    Row *row = &g_array_index (queue->rows, Row, i);

    g_clear_pointer (&row->line.block, hr_buffer_unref);
    g_clear_pointer (&row->left_out, hr_origin_unref);
    g_clear_pointer (&row->hole, hr_buffer_unref);
  }
  queue->first += n;
  if (queue->first == queue->rows->len) {
    g_array_set_size (queue->rows, 0);
    queue->first = 0;
  } else if (queue->first >= 4096) {
    g_array_remove_range (queue->rows, 0, queue->first);
    queue->first = 0;
  }
}

static void
give_padding (RowQueue *queue, HrOut *out)
{
  while (may_give (queue, queue->first) && get (queue, queue->first)->line.block == NULL) {
    Row *row = &g_array_index (queue->rows, Row, queue->first);

    if (row->hole != NULL)
      hr_out_push (out, g_steal_pointer (&row->hole));
    else if (row->left_out != NULL)
      hr_out_leave_out (out, row->epoch, hr_origin_ref (row->left_out), &row->why);
    else
      hr_out_pad (out, row->epoch, row->place, &row->row);
    drop (queue, 1);
  }
}

static void
give_view (RowQueue *queue, guint n, HrOut *out)
{
  const Row *first = get (queue, queue->first);
  HrTensor *lines = hr_tensor_ref (hr_buffer_get_tensor (first->line.block, "lines"));
  HrRows *rows = hr_rows_new ();

  for (guint i = 0; i < n; i++) {
    const Row *row = get (queue, queue->first + i);

    add_row (rows, row, row->line.offset, row->line.length);
  }
  hr_out_push (out, new_block (first, lines, rows));
  drop (queue, n);
}

/* how many lines make a block of copies, and of how many bytes. A line over the limit is one of its
 * own: it brings its limit. */
static guint
measure_copy (const RowQueue *queue, gsize *bytes)
{
  const Row *first = get (queue, queue->first);
  guint n = 0;

  for (*bytes = 0; n < MAX_COPIED && may_give (queue, queue->first + n); n++) {
    const Row *row = get (queue, queue->first + n);

    if (n > 0
        && (row->line.block == NULL || row->epoch != first->epoch || is_cut (&row->line)
            || *bytes + row->line.length > queue->block_bytes
            || count_run (queue, queue->first + n, MIN_VIEW) == MIN_VIEW))
      break;
    *bytes += row->line.length;
    if (is_cut (&row->line))
      return 1;
  }
  return n;
}

static gboolean
give_copy (RowQueue *queue, HrOut *out, GError **error)
{
  const Row *first = get (queue, queue->first);
  gsize bytes, used = 0;
  guint n = measure_copy (queue, &bytes);
  HrMemory *memory = hr_out_alloc (out, "lines", MAX (bytes, 1), error);
  gint64 shape = (gint64)bytes;
  HrRows *rows;

  if (memory == NULL)
    return FALSE;
  rows = hr_rows_new ();
  for (guint i = 0; i < n; i++) {
    const Row *row = get (queue, queue->first + i);
    const guint8 *text = hr_tensor_get_data (hr_buffer_get_tensor (row->line.block, "lines"));

    memcpy (memory->data + used, text + row->line.offset, row->line.length);
    add_row (rows, row, used, row->line.length);
    used += row->line.length;
  }
  hr_out_count_copy (out, used);
  hr_out_push (out, new_block (first, hr_tensor_new (memory, 0, HR_UINT8, 1, &shape), rows));
  drop (queue, n);
  return TRUE;
}

gboolean
row_queue_give (RowQueue *queue, HrOut *out, GError **error)
{
  const Row *first = get (queue, queue->first), *next;
  HrTensor *lines;
  guint n;

  if (first->line.block == NULL) {
    give_padding (queue, out);
    return TRUE;
  }
  n = count_run (queue, queue->first, G_MAXUINT);
  lines = hr_buffer_get_tensor (first->line.block, "lines");
  next = get (queue, queue->first + n);
  /* lines of which nothing else is in the block, too */
  if (n >= MIN_VIEW || is_cut (&first->line) || next == NULL
      || hr_tensor_get_n_bytes (lines) <= 2 * first->line.length) {
    give_view (queue, n, out);
    return TRUE;
  }
  return give_copy (queue, out, error);
}
