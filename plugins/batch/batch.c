/* batch.c: N samples in one buffer; nothing is copied */
#include <string.h>
#include "headrace.h"

typedef struct {
  guint64 size;
  gint mode;
  gboolean drop_last;
} Batch;

typedef struct {
  HrBuffer *open; /* members so far */
  gint64 dropped;
} State;

static const char *const modes[] = { "list", NULL };

static const HrProp props[] = {
  HR_PROP_UINT (Batch, size, 1, 1 << 20, 32, "Samples in a batch", .flags = HR_PROP_STREAM,
                .unit = "samples"),
  HR_PROP_ENUM (Batch, mode, modes, 0, "list: each field becomes a list over the samples",
                .flags = HR_PROP_STREAM),
  HR_PROP_BOOL (Batch, drop_last, FALSE, "Leave out the last batch if it is not full",
                .flags = HR_PROP_STREAM),
  HR_PROP_END
};

/* a field of the batch while it is made */
typedef struct {
  const char *name;
  HrList *list;
  gint32 *ranges; /* of a field that is a list in the samples: n + 1 */
} Column;

static void
column_clear (gpointer data)
{
  Column *column = data;

  if (column->list != NULL)
    hr_list_unref (column->list);
  g_free (column->ranges);
}

/* the columns, in the order in which the samples name them */
static GArray *
find_columns (const HrBuffer *batch, guint n_samples)
{
  GArray *columns = g_array_new (FALSE, TRUE, sizeof (Column));

  g_array_set_clear_func (columns, column_clear);
  for (guint m = 0; m < hr_buffer_get_n_members (batch); m++) {
    const HrBuffer *member = hr_buffer_get_member (batch, m);

    for (guint f = 0; f < hr_buffer_get_n_fields (member); f++) {
      HrFieldType type;
      const char *name = hr_buffer_get_field (member, f, &type);
      Column *column = NULL;

      for (guint c = 0; c < columns->len && column == NULL; c++)
        if (strcmp (g_array_index (columns, Column, c).name, name) == 0)
          column = &g_array_index (columns, Column, c);
      if (column == NULL) {
        g_array_append_val (columns, ((Column){ name, hr_list_new (n_samples), NULL }));
        column = &g_array_index (columns, Column, columns->len - 1);
      }
      if (type == HR_FIELD_LIST && column->ranges == NULL)
        column->ranges = g_new0 (gint32, n_samples + 1);
    }
  }
  return columns;
}

/* one item a sample: what has none gets an empty one, so that item i is sample i's */
static void
append_item (HrList *list, const HrBuffer *member, const char *name)
{
  HrTensor *tensor = hr_buffer_get_tensor (member, name);
  JsonNode *json = hr_buffer_get_json (member, name);
  const char *string = hr_buffer_get_string (member, name);

  if (tensor != NULL)
    hr_list_append_tensor (list, hr_tensor_ref (tensor));
  else if (string != NULL)
    hr_list_append_string (list, string);
  else
    hr_list_append_json (list,
                         json != NULL ? json_node_ref (json) : json_node_new (JSON_NODE_NULL));
}

static void
append_sample (Column *column, const HrBuffer *member, guint index)
{
  const HrList *items = hr_buffer_get_list (member, column->name);

  if (items != NULL)
    hr_list_append_list (column->list, items);
  else if (column->ranges == NULL)
    append_item (column->list, member, column->name);
  if (column->ranges != NULL)
    column->ranges[index + 1] = (gint32)hr_list_get_length (column->list);
}

static HrTensor *
ranges_tensor (const gint32 *ranges, guint n_samples)
{
  gint64 shape = n_samples + 1;

  return hr_tensor_new (hr_memory_new_copy (ranges, (gsize)shape * sizeof (gint32)), 0, HR_INT32, 1,
                        &shape);
}

/* "image_cu" is for everything that has one item an image; lists of other lengths have their own */
static void
set_ranges (HrBuffer *batch, GArray *columns, guint n_samples)
{
  const gint32 *images = NULL;

  for (guint c = 0; c < columns->len; c++) {
    const Column *column = &g_array_index (columns, Column, c);

    if (column->ranges != NULL && strcmp (column->name, "images") == 0)
      images = column->ranges;
  }
  if (images != NULL)
    hr_buffer_set_tensor (batch, "image_cu", ranges_tensor (images, n_samples));
  for (guint c = 0; c < columns->len; c++) {
    const Column *column = &g_array_index (columns, Column, c);

    if (column->ranges != NULL
        && (images == NULL
            || memcmp (images, column->ranges, (n_samples + 1) * sizeof (gint32)) != 0)) {
      g_autofree char *name = g_strconcat (column->name, "_cu", NULL);

      hr_buffer_set_tensor (batch, g_intern_string (name),
                            ranges_tensor (column->ranges, n_samples));
    }
  }
}

static void
set_fields (HrBuffer *batch)
{
  g_autoptr (GArray) columns = NULL;
  guint n_samples = 0, index = 0;

  for (guint m = 0; m < hr_buffer_get_n_members (batch); m++)
    n_samples += !(hr_buffer_get_member (batch, m)->flags & HR_BUFFER_HOLE);
  if (n_samples == 0)
    return;
  columns = find_columns (batch, n_samples);
  for (guint m = 0; m < hr_buffer_get_n_members (batch); m++) {
    const HrBuffer *member = hr_buffer_get_member (batch, m);

    if (member->flags & HR_BUFFER_HOLE)
      continue;
    for (guint c = 0; c < columns->len; c++)
      append_sample (&g_array_index (columns, Column, c), member, index);
    index++;
  }
  set_ranges (batch, columns, n_samples);
  for (guint c = 0; c < columns->len; c++) {
    Column *column = &g_array_index (columns, Column, c);

    hr_buffer_set_list (batch, column->name, g_steal_pointer (&column->list));
  }
}

static void
flush (State *state, HrOut *out)
{
  HrBuffer *batch = g_steal_pointer (&state->open);

  set_fields (batch);
  hr_out_push (out, batch);
}

static gboolean
batch_process (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out,
               GError **error G_GNUC_UNUSED)
{
  const Batch *self = data;
  State *state = worker;

  if (state->open == NULL)
    state->open = hr_buffer_new ();
  state->open->flags |= in->flags & HR_BUFFER_EPOCH_END;
  hr_buffer_add_member (state->open, in);
  if (hr_buffer_get_n_members (state->open) == self->size)
    flush (state, out);
  return TRUE;
}

static gboolean
batch_finish (gconstpointer data, gpointer worker, HrOut *out, GError **error G_GNUC_UNUSED)
{
  const Batch *self = data;
  State *state = worker;

  if (state->open == NULL)
    return TRUE;
  if (!self->drop_last) {
    flush (state, out);
    return TRUE;
  }
  __atomic_store_n (&state->dropped, hr_buffer_get_n_members (state->open), __ATOMIC_RELAXED);
  return TRUE;
}

static void
batch_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  g_clear_pointer (&((State *)shared)->open, hr_buffer_unref);
}

static guint
batch_group (gconstpointer data)
{
  return (guint)((const Batch *)data)->size;
}

static void
batch_metrics (gconstpointer self G_GNUC_UNUSED, gpointer shared, JsonBuilder *into)
{
  json_builder_set_member_name (into, "dropped_last");
  json_builder_add_int_value (into,
                              __atomic_load_n (&((State *)shared)->dropped, __ATOMIC_RELAXED));
}

HR_ELEMENT (
    batch, Batch, .summary = "Put N samples into one batch",
    .description =
        "A batch holds its samples, skipped ones too, and refers to their data; nothing is "
        "copied. Batch k is made of the samples k*N to k*N+N-1 of the order, so a skipped "
        "sample makes it one shorter and never moves a later one up; a batch of skipped samples "
        "is delivered as well. Each field of the samples that are left becomes a list of one "
        "item a sample; lists (\"images\") are flattened in the order of the samples, and "
        "\"image_cu\", int32 [samples + 1], says which images are whose: sample i has "
        "image_cu[i] to image_cu[i+1]-1. A list whose lengths differ from those of \"images\" "
        "has a field NAME_cu of its own.",
    .examples =
        (const char *const[]){ "fakesrc num-buffers=10 ! batch size=4 ! fakesink",
                               "fakesrc num-buffers=10 ! batch size=4 drop-last=true ! fakesink",
                               NULL },
    .gives = "batch", .props = props, .shared_size = sizeof (State), .light = TRUE,
    .takes_holes = TRUE, .process = batch_process, .finish = batch_finish, .stop = batch_stop,
    .group = batch_group, .metrics = batch_metrics)
