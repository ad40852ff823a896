/* packer.c: a block of samples becomes any number of rows: none, if nothing is left of it */
#include "stress.h"
#include <string.h>

enum { SALT_ROWS = 300, SALT_ROW, SALT_LEFT_OUT };

#define MOST_ROWS 5

typedef struct {
  GPtrArray *block; /* HrBuffer */
  guint n;          /* samples of it so far, holes too */
  gint64 n_blocks;
  gint64 last; /* number of the last sample, in whose name bytes are asked for */
} State;

static Node *
node_of (gconstpointer self)
{
  return ((const Self *)self)->node;
}

/* which row a sample goes to */
static guint
row_of (const Node *node, const State *state, const HrBuffer *sample)
{
  guint n_rows = 1 + (guint)(stress_hash (node, state->n_blocks, SALT_ROWS) % MOST_ROWS);

  if (node->marked) /* each block is one */
    return 0;
  return (guint)(stress_hash (node, stress_get (sample).id, SALT_ROW) % n_rows);
}

static gboolean
finish_row (Node *node, const State *state, HrBuffer *row, HrOut *out, GError **error)
{
  gboolean empty = hr_buffer_get_n_members (row) == 0; /* a row of padding */
  Value value = { 9, empty ? state->last : hr_buffer_get_member (row, 0)->sample };

  for (guint i = 0; i < hr_buffer_get_n_members (row); i++)
    value.hash = stress_mix (value.hash ^ stress_get (hr_buffer_get_member (row, i)).hash);
  stress_set (row, node->run->any_order ? (Value){ 0 } : value);
  if (node->reserves) {
    gsize size = stress_size (node, value.id, 0);
    HrMemory *memory = hr_out_alloc (out, "r", size, error);

    if (memory == NULL)
      return FALSE;
    memset (memory->data, (int)value.id, size);
    stress_note_bytes (node, state->last, size);
    if (node->run->any_order) /* the bytes depend on who is in the row */
      hr_memory_unref (memory);
    else
      hr_buffer_set_tensor (row, "r", hr_tensor_new_bytes (memory));
  }
  return TRUE;
}

/* rows leave in the order of their first samples */
static gboolean
pack (Node *node, State *state, HrOut *out, GError **error)
{
  g_autoptr (GPtrArray) block = g_steal_pointer (&state->block);
  HrBuffer *rows[MOST_ROWS] = { NULL };
  guint order[MOST_ROWS], n_rows = 0;
  gboolean ok = TRUE;

  for (guint i = 0; block != NULL && i < block->len; i++) {
    HrBuffer *sample = g_steal_pointer (&block->pdata[i]);
    guint row = row_of (node, state, sample);

    if (rows[row] == NULL) {
      rows[row] = hr_buffer_new ();
      order[n_rows++] = row;
    }
    hr_buffer_add_member (rows[row], sample);
  }
  if (n_rows == 0 && node->marked)
    rows[order[n_rows++] = 0] = hr_buffer_new ();
  for (guint i = 0; i < n_rows; i++) {
    HrBuffer *row = rows[order[i]];

    g_atomic_int_inc (&stress_progress);
    ok = ok && finish_row (node, state, row, out, error);
    if (ok)
      hr_out_push (out, row);
    else
      hr_buffer_unref (row);
  }
  state->n = 0;
  state->n_blocks++;
  return ok;
}

static gboolean
packer_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  Node *node = node_of (self);
  State *state = worker;
  gboolean ends = node->marked ? (in->flags & HR_BUFFER_BLOCK_END) != 0 //
                               : state->n + 1 == node->arg;

  if (node->marked && ends != stress_ends_row (node->run, in->sample))
    stress_die ("sample %" G_GINT64_FORMAT " %s its row", in->sample,
                ends ? "does not end" : "ends");
  state->last = in->sample;
  if (state->block == NULL)
    state->block = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  if (in->flags & HR_BUFFER_HOLE)
    hr_buffer_unref (in);
  else if (node->drops && stress_hash (node, stress_get (in).id, SALT_LEFT_OUT) % 4 == 0)
    hr_buffer_unref (hr_out_note_drop (out, in, NULL));
  else
    g_ptr_array_add (state->block, in);
  state->n++;
  return !ends || pack (node, state, out, error);
}

static gboolean
packer_finish (gconstpointer self, gpointer worker, HrOut *out, GError **error)
{
  State *state = worker;

  return state->n == 0 || pack (node_of (self), state, out, error);
}

static void
packer_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  g_clear_pointer (&((State *)worker)->block, g_ptr_array_unref);
}

/* what give_rows() of the core's topology does for a source that knows all lengths */
static gboolean
packer_start (gconstpointer self, gpointer shared G_GNUC_UNUSED, HrElement *element,
              GError **error G_GNUC_UNUSED)
{
  HrPipeline *pipeline = element->pipeline;

  if (!node_of (self)->marked)
    return TRUE;
  element->run->numbered_rows = TRUE;
  hr_steps_mark_blocks (pipeline->steps);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *sink = pipeline->elements->pdata[i];

    if (sink->outputs->len == 0) /* steps are counted anew */
      hr_steps_set_packer (pipeline->steps, sink->run->sink, sink->run->packer - 1);
  }
  return TRUE;
}

static guint
packer_group (gconstpointer self G_GNUC_UNUSED)
{
  return 0;
}

static guint
packer_block (gconstpointer self)
{
  return (guint)node_of (self)->arg;
}

const HrElementDef stress_packer_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "packer",
  .summary = "Rows of blocks of samples",
  .self_size = sizeof (Self),
  .worker_size = sizeof (State),
  .light = TRUE,
  .takes_holes = TRUE,
  .start = packer_start,
  .process = packer_process,
  .finish = packer_finish,
  .worker_stop = packer_stop,
  .group = packer_group,
  .block = packer_block,
};
