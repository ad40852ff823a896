/* known-lines.c */
#include "known-lines.h"
#include "scan-objects.h"

#define BLOB "lines"

typedef struct {
  HrPlanCache *cache;
  HrPlan *plan;
  GArray *missing; /* guint: objects that are scanned */
} Scan;

static void
add (HrPlanCache *cache, HrPlan *plan, guint object, HrLineTable *table)
{
  g_autoptr (GBytes) blob = hr_line_table_to_bytes (table);

  hr_plan_cache_store (cache, hr_plan_get_object (plan, object), BLOB, NULL, blob);
  hr_plan_set_lines (plan, object, table);
  hr_line_table_unref (table);
}

void
known_lines_add (HrPlanCache *cache, HrPlan *plan, guint object, gpointer table)
{
  hr_line_table_freeze (table);
  add (cache, plan, object, table);
}

static gboolean
found (gpointer data, guint index, HrLineTable *table, GError **error G_GNUC_UNUSED)
{
  Scan *scan = data;

  add (scan->cache, scan->plan, g_array_index (scan->missing, guint, index), table);
  return TRUE;
}

/* FALSE: the cache does not have it */
static gboolean
load (HrPlanCache *cache, HrPlan *plan, guint index)
{
  const HrObject *object = hr_plan_get_object (plan, index);
  g_autoptr (GBytes) blob = hr_plan_cache_load (cache, object, BLOB, NULL);
  g_autoptr (HrLineTable) table =
      blob != NULL ? hr_line_table_from_bytes (blob, object->size) : NULL;

  if (table != NULL)
    hr_plan_set_lines (plan, index, table);
  return table != NULL;
}

gboolean
known_lines_begin (HrPlanCache *cache, HrPlan *plan, const HrLineSourceFuncs *funcs, gpointer data,
                   const HrLineSourceOptions *options, int wake_fd, GError **error)
{
  g_autoptr (GPtrArray) objects = g_ptr_array_new ();
  g_autoptr (GArray) missing = g_array_new (FALSE, FALSE, sizeof (guint));
  Scan scan = { cache, plan, missing };
  HrScanOptions how = { .part_bytes = (gint64)options->part_bytes,
                        .ahead = MAX (options->ahead, 1),
                        .ahead_bytes = (gint64)(options->part_bytes * (options->ahead + 1)),
                        .wake_fd = wake_fd };

  if (!hr_plan_has_samples (plan))
    return TRUE;
  for (guint i = 0; i < hr_plan_get_n_objects (plan); i++)
    if (!load (cache, plan, i)) {
      g_array_append_val (missing, i);
      g_ptr_array_add (objects, (gpointer)hr_plan_get_object (plan, i));
    }
  return !hr_plan_needs_scan (plan)
         || hr_scan_objects (funcs, data, (const HrObject *const *)objects->pdata, objects->len,
                             &how, found, &scan, error);
}
