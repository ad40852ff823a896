/* test-budget.c: what memory there is while a pipeline runs: never more than the budget and the
 * largest step, with what a sink still works on and what lies idle in pools */
#include "hr-pool.h"
#include "hr-reservation.h"
#include "small.h"
#include <string.h>

#define BUDGET 3000000
#define LARGEST 2000000

static gint64 in_use, most; /* bytes, atomic */
static gint n_excess;       /* blocks that were larger than needed, atomic */

static gsize
size_of (gint64 value)
{
  /* as many of a size in a row that pools fill with it, then another one */
  static const gsize sizes[] = { LARGEST, 100000, 700000, 1200000, 30000, 250000 };

  return sizes[value / 8 % G_N_ELEMENTS (sizes)];
}

static void
note (gint64 bytes)
{
  gint64 seen = __atomic_load_n (&most, __ATOMIC_RELAXED);

  while (seen < bytes
         && !__atomic_compare_exchange_n (&most, &seen, bytes, FALSE, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED))
    ;
}

static gboolean
grow_process (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
              HrOut *out, GError **error)
{
  gsize size = size_of (small_value (in));
  HrMemory *memory = hr_out_alloc (out, "y", size, error);
  HrPipeline *pipeline = hr_out_get_element (out)->pipeline;

  if (memory == NULL) {
    hr_buffer_unref (in);
    return FALSE;
  }
  /* all of a recycled block is paid for, but for the rest of a page */
  g_assert_cmpuint (memory->reservation->bytes + 65536, >, size + hr_pool_get_excess (memory));
  if (memory->reservation->bytes > size)
    g_atomic_int_inc (&n_excess);
  memset (memory->data, 1, size);
  if (hr_out_is_serial (out)) { /* nobody else frees or takes meanwhile */
    HrGateStats stats;
    guint64 bytes = 0;

    hr_gate_get_stats (pipeline->memory, &stats);
    for (guint i = 0; i < pipeline->order->len; i++)
      bytes += hr_pool_trim (((HrElement *)pipeline->order->pdata[i])->run->pool, G_MAXSIZE);
    note ((gint64)(stats.used + bytes));
  } else {
    note (__atomic_add_fetch (&in_use, (gint64)size, __ATOMIC_RELAXED));
  }
  in = hr_buffer_make_writable (in);
  hr_buffer_set_tensor (in, "y", hr_tensor_new_bytes (memory));
  hr_out_push (out, in);
  return TRUE;
}

static const HrElementDef grow_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "grow",
  .summary = "Takes memory",
  .self_size = 1,
  .parallel = HR_PARALLEL_YES,
  .process = grow_process,
};

static gboolean
slow_consume (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer *in,
              HrOut *out, GError **error G_GNUC_UNUSED)
{
  gint64 size = (gint64)size_of (small_value (in));

  if (!hr_out_is_serial (out))
    hr_out_sleep (out, 2000000);
  /* before it is true, so that nobody is blamed for what has just gone */
  __atomic_sub_fetch (&in_use, size, __ATOMIC_RELAXED);
  hr_buffer_unref (in);
  return TRUE;
}

static const HrElementDef slow_def = {
  .abi_size = sizeof (HrElementDef),
  .name = "slow",
  .summary = "Works on what it gets",
  .self_size = 1,
  .consume = slow_consume,
};

static HrElement *
add (HrPipeline *pipeline, const HrElementDef *def, const char *name)
{
  HrElement *element = hr_element_new (def);

  small_set (element, "name", name);
  hr_pipeline_add (pipeline, element);
  return element;
}

/* elements that take memory behind each other, each with a pool of its own */
static guint64
run (gboolean serial, guint n_growing, const char *budget)
{
  HrGateStats stats;
  SmallRig rig;
  HrElement *from, *sink;

  in_use = most = 0;
  small_rig_set_up (&rig);
  small_set_pipeline (rig.pipeline, "memory", budget);
  small_set_pipeline (rig.pipeline, "serial", serial ? "true" : "false");
  from = small_source (rig.pipeline, "source", 200, NULL, NULL);
  for (guint i = 0; i < n_growing; i++) {
    g_autofree char *name = g_strdup_printf ("grow%u", i);
    HrElement *to = add (rig.pipeline, &grow_def, name);

    if (!serial)
      small_set (to, "workers", "4");
    small_link (rig.pipeline, from, to, NULL);
    from = to;
  }
  sink = add (rig.pipeline, &slow_def, "sink");
  small_link (rig.pipeline, from, sink, NULL);
  small_run (rig.pipeline);
  hr_gate_get_stats (rig.pipeline->memory, &stats);
  g_assert_cmpuint (stats.used, ==, 0);
  small_rig_tear_down (&rig);
  g_test_message ("at most %" G_GINT64_FORMAT " bytes", most);
  return (guint64)most;
}

/* a sink that is slow has one step, which counts, and not the next one besides */
static void
test_sink (void)
{
  guint64 bytes = run (FALSE, 1, G_STRINGIFY (BUDGET));

  g_assert_cmpuint (bytes, <=, BUDGET + LARGEST);
  g_assert_cmpuint (bytes, >, LARGEST);
  g_assert_cmpuint (run (FALSE, 1, "1"), ==, LARGEST);
}

/* blocks that nobody uses are given up before the budget is passed */
static void
test_idle (void)
{
  guint64 bytes = run (TRUE, 3, G_STRINGIFY (BUDGET));

  g_assert_cmpuint (bytes, <=, BUDGET + 2 * LARGEST); /* a step holds the old one and the new one */
  g_assert_cmpuint (bytes, >, LARGEST);
}

/* a large block that is used for less has all its memory all the same */
static void
test_excess (void)
{
  n_excess = 0;
  run (TRUE, 1, "100000000");
  g_assert_cmpint (n_excess, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/budget/sink", test_sink);
  g_test_add_func ("/budget/idle", test_idle);
  g_test_add_func ("/budget/excess", test_excess);
  return g_test_run ();
}
