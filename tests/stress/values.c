/* values.c: what a sample is and what happens to it: functions of (seed, element, sample) alone */
#include "stress.h"
#include <math.h>
#include <string.h>

enum { SALT_SIZE = 100, SALT_FAIL, SALT_TIME, SALT_MEMBERS, SALT_START, SALT_ROW_END };

guint64
stress_hash (const Node *node, gint64 id, int salt)
{
  return stress_mix (node->run->config->seed * 1000003 + (guint64)node->id * 7919 + (guint64)id * 31
                     + (guint64)salt);
}

/* from 1 to the configuration's size, small ones more often */
gsize
stress_size (const Node *node, gint64 id, int salt)
{
  double x = (double)(stress_hash (node, id, SALT_SIZE + salt) % 10000) / 1e4;

  return 1 + (gsize)pow ((double)node->run->config->size, x);
}

gboolean
stress_fails (const Node *node, gint64 id)
{
  return (gint64)(stress_hash (node, id, SALT_FAIL) % 1000) < node->run->config->fail;
}

gboolean
stress_is_fatal (const Node *node, gint64 id)
{
  const Run *run = node->run;

  return run->config->fatal != 0 && !run->serial && node->id == run->fatal_node && id >= 3;
}

Value
stress_get (const HrBuffer *buffer)
{
  HrTensor *tensor = hr_buffer_get_tensor (buffer, "v");
  Value value = { 0 };

  if (tensor == NULL)
    stress_die ("a buffer without its value");
  memcpy (&value, hr_tensor_get_data (tensor), sizeof value);
  return value;
}

void
stress_set (HrBuffer *buffer, Value value)
{
  hr_buffer_set_tensor (buffer, "v",
                        hr_tensor_new_bytes (hr_memory_new_copy (&value, sizeof value)));
}

HrBuffer *
stress_sample (const Node *node, gint64 id)
{
  HrBuffer *buffer = hr_buffer_new ();
  guint64 hash = stress_hash (node, id, SALT_START);
  guint n = (guint)(stress_hash (node, id, SALT_MEMBERS) % 6);
  HrList *list = hr_list_new (n);

  for (guint i = 0; i < n; i++) {
    guint64 member = stress_mix (hash + i);

    hr_list_append_tensor (list, hr_tensor_new_bytes (hr_memory_new_copy (&member, sizeof member)));
  }
  hr_buffer_set_list (buffer, "m", list);
  stress_set (buffer, (Value){ hash, id });
  return buffer;
}

HrBuffer *
stress_block (const Node *node, gint64 id, guint n, HrMemory *memory)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrRow row = { .uri = g_ref_string_new ("stress"), .line = -1 };
  HrRows *rows = hr_rows_new ();

  for (guint i = 0; i < n; i++) {
    ((gint64 *)(gpointer)memory->data)[i] = row.place = id + i;
    row.row.end = stress_ends_row (node->run, id + i);
    hr_rows_add (rows, &row);
  }
  g_ref_string_release (row.uri);
  hr_buffer_set_rows (buffer, rows);
  hr_buffer_set_tensor (buffer, "block", hr_tensor_new_bytes (memory));
  return buffer;
}

gboolean
stress_ends_row (const Run *run, gint64 id)
{
  return run->marked != NULL
         && (id == __atomic_load_n (&run->n_all, __ATOMIC_ACQUIRE) - 1
             || stress_hash (run->marked, id, SALT_ROW_END) % (guint64)run->marked->arg == 0);
}

gint64
stress_row_of (const Run *run, gint64 id)
{
  gint64 row = 0;

  for (gint64 i = 0; i < id; i++)
    row += stress_ends_row (run, i);
  return row;
}

static guint64
tensor_digest (const HrTensor *tensor)
{
  const guint8 *data = hr_tensor_get_data (tensor);
  gsize n = hr_tensor_get_n_bytes (tensor);
  guint64 hash = n;

  for (gsize i = 0; i < MIN (n, 16); i++)
    hash = stress_mix (hash ^ data[i]);
  if (n > 0)
    hash = stress_mix (hash ^ data[n - 1]);
  return hash;
}

static guint64
fields_digest (const HrBuffer *buffer)
{
  guint64 hash = 0;

  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (buffer, i, &type);

    hash = stress_mix (hash ^ g_str_hash (name));
    if (type == HR_FIELD_TENSOR) {
      hash = stress_mix (hash ^ tensor_digest (hr_buffer_get_tensor (buffer, name)));
    } else {
      HrList *list = hr_buffer_get_list (buffer, name);

      for (guint k = 0; k < hr_list_get_length (list); k++)
        hash = stress_mix (hash ^ tensor_digest (hr_list_get_tensor (list, k)));
    }
  }
  return hash;
}

guint64
stress_digest (const HrBuffer *buffer, GArray *samples)
{
  guint64 hash = buffer->flags & HR_BUFFER_HOLE ? 77 : fields_digest (buffer);
  guint n = hr_buffer_get_n_members (buffer);

  if (n == 0 && !(buffer->flags & HR_BUFFER_HOLE))
    g_array_append_val (samples, hash);
  for (guint i = 0; i < n; i++)
    hash = stress_mix (hash ^ stress_digest (hr_buffer_get_member (buffer, i), samples));
  return hash;
}

void
stress_compute (gint64 microseconds)
{
  guint64 x = (guint64)microseconds;

  for (gint64 i = 0; i < microseconds * 400; i++) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(x));
  }
}

gint64
stress_time (const Node *node, gint64 id)
{
  guint64 hash = stress_hash (node, id, SALT_TIME);
  gint64 time = node->time >= 0 ? node->time : node->run->config->work;

  if (node->run->serial)
    return 0;
  if (node->sure)
    return time;
  return hash % 8 != 0 ? time * (gint64)(hash % 100) / 100 : time * 3;
}

void
stress_note_bytes (Node *node, gint64 id, gsize bytes)
{
  Run *run = node->run;
  GHashTable *table = node->packer != NULL ? node->packer->row_bytes : run->sample_bytes;
  gint64 *sum;

  if (!run->serial)
    return;
  sum = g_hash_table_lookup (table, &id);
  if (sum == NULL) {
    gint64 *key = g_new (gint64, 1);

    *key = id;
    sum = g_new0 (gint64, 1);
    g_hash_table_insert (table, key, sum);
  }
  *sum += (gint64)bytes;
}

void
stress_record (Node *node, HrBuffer *buffer)
{
  Run *run = node->run;
  const Config *config = run->config;
  Outcome *outcome = &run->outcomes[node->sink];
  guint64 digest = stress_digest (buffer, outcome->samples);
  guint index = outcome->digests->len;

  g_atomic_int_inc (&stress_progress);
  g_array_append_val (outcome->digests, digest);
  if (run->reference != NULL && !run->any_order) {
    const GArray *right = run->reference->outcomes[node->sink].digests;

    if (index >= right->len || g_array_index (right, guint64, index) != digest)
      stress_die ("sink %d: buffer %u differs from the serial run's", node->sink, index);
  }
  if (config->hold > 0 && !run->serial) {
    GPtrArray *held = run->held[node->sink];

    g_ptr_array_add (held, buffer);
    if (held->len > config->hold)
      g_ptr_array_remove_index (held, 0);
  } else {
    hr_buffer_unref (buffer);
  }
}
