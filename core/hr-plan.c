/* hr-plan.c: the plain plan: every object in the order of its key, from its first byte to its last
 */
#include "hr-plan.h"
#include <string.h>

struct _HrPlan {
  GArray *objects; /* HrObject */
  gboolean listed;
  guint object; /* the cursor */
  gint64 byte;
};

static void
object_clear (gpointer data)
{
  HrObject *object = data;

  g_ref_string_release (object->uri);
  g_free (object->key);
  g_free (object->etag);
}

HrPlan *
hr_plan_new (void)
{
  HrPlan *plan = g_new0 (HrPlan, 1);

  plan->objects = g_array_new (FALSE, TRUE, sizeof (HrObject));
  g_array_set_clear_func (plan->objects, object_clear);
  return plan;
}

void
hr_plan_free (HrPlan *plan)
{
  g_array_unref (plan->objects);
  g_free (plan);
}

void
hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size, const char *etag)
{
  HrObject object = { g_ref_string_new (uri), g_strdup (key), size, g_strdup (etag) };

  g_return_if_fail (!plan->listed);
  g_array_append_val (plan->objects, object);
}

/* by bytes, the same on disk and on S3, whatever the locale */
static gint
compare_keys (gconstpointer a, gconstpointer b)
{
  return strcmp (((const HrObject *)a)->key, ((const HrObject *)b)->key);
}

void
hr_plan_listed (HrPlan *plan)
{
  g_array_sort (plan->objects, compare_keys);
  plan->listed = TRUE;
}

gboolean
hr_plan_is_listed (const HrPlan *plan)
{
  return plan->listed;
}

guint
hr_plan_get_n_objects (const HrPlan *plan)
{
  return plan->objects->len;
}

const HrObject *
hr_plan_get_object (const HrPlan *plan, guint index)
{
  g_return_val_if_fail (index < plan->objects->len, NULL);
  return &g_array_index (plan->objects, HrObject, index);
}

gboolean
hr_plan_next (HrPlan *plan, gint64 block_bytes, HrExtent *extent)
{
  g_return_val_if_fail (plan->listed && block_bytes > 0, FALSE);
  while (plan->object < plan->objects->len) {
    const HrObject *object = hr_plan_get_object (plan, plan->object);

    if (object->size < 0 ? plan->byte > 0 : plan->byte >= object->size) {
      plan->object++;
      plan->byte = 0;
      continue;
    }
    extent->object = plan->object;
    extent->start = plan->byte;
    if (object->size < 0) {
      extent->end = -1;
      plan->byte = G_MAXINT64;
    } else {
      extent->end = MIN (object->size, plan->byte + block_bytes);
      plan->byte = extent->end;
    }
    return TRUE;
  }
  return FALSE;
}
