/* hr-plan.c: objects, what is known of them, and where a run begins */
#include "hr-plan-struct.h"
#include "hr-checksum.h"
#include "hr-error.h"
#include "hr-random.h"
#include "hr-rules.h"
#include "hr-sums.h"
#include <string.h>

static void
object_clear (gpointer data)
{
  HrObject *object = data;

  g_ref_string_release (object->uri);
  g_free (object->key);
  g_free (object->etag);
}

static void
table_unref (gpointer table)
{
  g_clear_pointer (&table, hr_line_table_unref);
}

static void
lengths_unref (gpointer lengths)
{
  g_clear_pointer (&lengths, g_bytes_unref);
}

HrPlan *
hr_plan_new (const HrPlanOrders *orders)
{
  static const HrPlanOrders none = {
    .shard = { 0, 1, 0, FALSE }, .seed = -1, .epochs = -1, .shuffle = -1
  };
  HrPlan *plan = g_new0 (HrPlan, 1);

  plan->orders = orders != NULL ? *orders : none;
  plan->n_lines = plan->n_steps = -1;
  plan->objects = g_array_new (FALSE, TRUE, sizeof (HrObject));
  plan->tables = g_ptr_array_new_with_free_func (table_unref);
  plan->lengths = g_ptr_array_new_with_free_func (lengths_unref);
  plan->members = g_array_new (FALSE, FALSE, sizeof (HrRowMember));
  g_array_set_clear_func (plan->objects, object_clear);
  plan->marks = g_array_new (FALSE, FALSE, sizeof (HrPlanStart));
  hr_mutex_init (&plan->lock);
  return plan;
}

void
hr_plan_free (HrPlan *plan)
{
  if (plan->orders.mix == NULL) { /* else they are the mix's */
    g_clear_pointer (&plan->dealer.balance, hr_balance_free);
    g_clear_pointer (&plan->rows, hr_row_plan_free);
  }
  g_array_unref (plan->members);
  g_clear_pointer (&plan->sequence, hr_sequence_free);
  g_ptr_array_unref (plan->tables);
  g_ptr_array_unref (plan->lengths);
  g_array_unref (plan->objects);
  g_array_unref (plan->marks);
  g_clear_pointer (&plan->first_block, g_array_unref);
  g_free (plan->identity);
  hr_mutex_clear (&plan->lock);
  g_free (plan);
}

/* ---- objects ---- */

void
hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size, const char *etag)
{
  HrObject object = { g_ref_string_new (uri), g_strdup (key), size, g_strdup (etag), -1 };

  g_return_if_fail (!plan->listed);
  g_array_append_val (plan->objects, object);
}

void
hr_plan_mark_compressed (HrPlan *plan)
{
  HrObject *object = &g_array_index (plan->objects, HrObject, plan->objects->len - 1);

  object->stored = object->size;
  object->size = -1;
}

gboolean
hr_plan_needs_sizes (const HrPlan *plan, const HrPlanRules *rules)
{
  const HrPlanOrders *orders = &plan->orders;
  gint shuffle = orders->shuffle >= 0 ? orders->shuffle : (gint)rules->shuffle;

  return shuffle != HR_SHUFFLE_NONE || orders->next_unit != NULL || orders->mix != NULL
         || orders->lines || orders->lengths || orders->wants_object != NULL;
}

void
hr_plan_set_size (HrPlan *plan, guint object, gint64 size)
{
  g_return_if_fail (object < plan->objects->len);
  g_array_index (plan->objects, HrObject, object).size = size;
}

/* by bytes, the same on disk and on S3, whatever the locale */
static gint
compare_keys (gconstpointer a, gconstpointer b)
{
  return strcmp (((const HrObject *)a)->key, ((const HrObject *)b)->key);
}

static void
leave_out_objects (HrPlan *plan)
{
  for (guint i = plan->objects->len; i-- > 0;)
    if (!plan->orders.wants_object (plan->orders.wants_user,
                                    &g_array_index (plan->objects, HrObject, i)))
      g_array_remove_index (plan->objects, i);
}

void
hr_plan_listed (HrPlan *plan)
{
  g_array_sort (plan->objects, compare_keys);
  if (plan->orders.wants_object != NULL)
    leave_out_objects (plan);
  g_ptr_array_set_size (plan->tables, (gint)plan->objects->len);
  g_ptr_array_set_size (plan->lengths, (gint)plan->objects->len);
  __atomic_store_n (&plan->listed, TRUE, __ATOMIC_RELEASE);
}

gboolean
hr_plan_is_listed (const HrPlan *plan)
{
  return plan->listed;
}

const HrObject *
hr_plan_find_object (const HrPlan *plan, const GRefString *uri)
{
  if (!__atomic_load_n (&plan->listed, __ATOMIC_ACQUIRE))
    return NULL;
  for (guint i = 0; i < plan->objects->len; i++) {
    const HrObject *object = &g_array_index (plan->objects, HrObject, i);

    if (object->uri == uri) /* samples hold the plan's own */
      return object;
  }
  return NULL;
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

/* ---- what is known ---- */

gboolean
hr_plan_has_samples (const HrPlan *plan)
{
  return plan->orders.shard.group > 0;
}

gboolean
hr_plan_is_complete (const HrPlan *plan)
{
  return plan->sequence != NULL;
}

HrSequence *
hr_plan_get_sequence (HrPlan *plan)
{
  return plan->sequence;
}

const HrPlanRules *
hr_plan_get_rules (const HrPlan *plan)
{
  return &plan->rules;
}

gboolean
hr_plan_has_all_tables (const HrPlan *plan)
{
  for (guint i = 0; i < plan->tables->len; i++)
    if (plan->tables->pdata[i] == NULL)
      return FALSE;
  return TRUE;
}

gboolean
hr_plan_needs_scan (const HrPlan *plan)
{
  return (plan->rules.shuffle == HR_SHUFFLE_FULL || plan->orders.next_unit != NULL
          || plan->orders.mix != NULL || plan->orders.lines || plan->orders.lengths)
         && !hr_plan_has_all_tables (plan);
}

gboolean
hr_plan_needs_lengths (const HrPlan *plan)
{
  return plan->orders.lengths;
}

GBytes *
hr_plan_get_lengths (HrPlan *plan, guint object)
{
  return plan->lengths->pdata[object];
}

guint64
hr_plan_count_lines (const HrPlan *plan, guint object)
{
  return hr_line_table_get_length (plan->tables->pdata[object]);
}

gboolean
hr_plan_set_lengths (HrPlan *plan, guint object, GBytes *lengths)
{
  if (g_bytes_get_size (lengths) != hr_plan_count_lines (plan, object) * sizeof (HrLength))
    return FALSE;
  plan->lengths->pdata[object] = g_bytes_ref (lengths);
  return TRUE;
}

gboolean
hr_plan_check_lengths_sum (guint64 sum, guint64 wanted, GError **error)
{
  if (wanted == 0 || wanted == sum)
    return TRUE;
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                       "the lengths of lines are not those that the checkpoint was made with: "
                       "images, or what could be read of them, have changed; ranks that do not "
                       "share HR_PLAN_CACHE can find different ones");
  return FALSE;
}

gboolean
hr_plan_check_lengths (HrPlan *plan, GError **error)
{
  guint64 sum = 0;

  for (guint i = 0; i < plan->lengths->len; i++) {
    gsize size;
    const guint8 *bytes = g_bytes_get_data (plan->lengths->pdata[i], &size);

    sum = hr_mix64 (sum ^ hr_checksum64 (bytes, size));
  }
  sum = MAX (sum, 1);
  __atomic_store_n (&plan->lengths_sum, sum, __ATOMIC_RELAXED);
  if (plan->orders.mix != NULL)
    return TRUE;
  if (plan->orders.rows.window > 0
      && !hr_row_rules_check (&plan->orders.rows, &plan->lengths, 1, error))
    return FALSE;
  return hr_plan_check_lengths_sum (sum, plan->orders.lengths_sum, error);
}

guint64
hr_plan_get_lengths_sum (const HrPlan *plan)
{
  return __atomic_load_n (&plan->lengths_sum, __ATOMIC_RELAXED);
}

gboolean
hr_plan_knows_lines (const HrPlan *plan, guint object)
{
  return plan->tables->pdata[object] != NULL;
}

void
hr_plan_set_lines (HrPlan *plan, guint object, gpointer lines)
{
  g_return_if_fail (plan->listed && plan->tables->pdata[object] == NULL);
  plan->tables->pdata[object] = hr_line_table_ref (lines);
}

/* ---- the beginning ---- */

static gboolean
check_rules (const HrPlan *plan, GError **error)
{
  const HrPlanOrders *orders = &plan->orders;

  if (!hr_plan_has_samples (plan)
      && (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->rules.epochs != 1
          || orders->shard.world > 1 || orders->mix != NULL)) {
    g_set_error_literal (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                         "shuffle, epochs, rank, world and mix are about samples, and no element "
                         "behind it makes any of its lines: jsonlparse does");
    return FALSE;
  }
  for (guint i = 0; i < plan->objects->len; i++)
    if (hr_object_get_bytes (hr_plan_get_object (plan, i)) < 0
        && (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->rules.epochs != 1
            || orders->mix != NULL)) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                   "%s: is no regular file: it can be read once, from its beginning to its end, so "
                   "shuffle=none epochs=1 only, and not in a mix",
                   hr_plan_get_object (plan, i)->uri);
      return FALSE;
    }
  return TRUE;
}

/* how many it is read in */
static guint64
count_units (const HrPlan *plan)
{
  if (plan->rules.shuffle != HR_SHUFFLE_WINDOW)
    return plan->objects->len;
  return (hr_sums_get_last (plan->first_block) + plan->rules.window_blocks - 1)
         / plan->rules.window_blocks;
}

/* a checkpoint may say anything */
static gboolean
check_start (const HrPlan *plan, GError **error)
{
  const HrObject *object =
      plan->unit < plan->objects->len ? hr_plan_get_object (plan, (guint)plan->unit) : NULL;

  if (plan->unit <= count_units (plan)
      && (plan->rules.shuffle != HR_SHUFFLE_NONE || plan->unit_byte == 0
          || (object != NULL && (object->size < 0 || plan->unit_byte <= object->size))))
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
               "this is no checkpoint: byte %" G_GINT64_FORMAT " of %s %" G_GUINT64_FORMAT
               ", where it says that lines go on, is not in the data",
               plan->unit_byte, plan->rules.shuffle == HR_SHUFFLE_WINDOW ? "group" : "object",
               plan->unit);
  return FALSE;
}

static char *
identify (const GArray *objects)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < objects->len; i++) {
    const HrObject *object = &g_array_index (objects, HrObject, i);
    g_autofree char *line =
        g_strdup_printf ("%s\n%" G_GINT64_FORMAT "\n%s\n", object->key,
                         hr_object_get_bytes (object), object->etag != NULL ? object->etag : "");

    g_checksum_update (sum, (const guchar *)line, -1);
  }
  return g_strdup (g_checksum_get_string (sum));
}

const char *
hr_plan_get_identity (const HrPlan *plan)
{
  return plan->identity;
}

gboolean
hr_plan_begin (HrPlan *plan, const HrPlanRules *rules, GError **error)
{
  g_return_val_if_fail (plan->listed && rules->read_bytes > 0, FALSE);
  plan->rules = *rules;
  if (plan->orders.seed >= 0)
    plan->rules.seed = (guint64)plan->orders.seed;
  if (plan->orders.epochs >= 0)
    plan->rules.epochs = (guint64)plan->orders.epochs;
  if (plan->orders.shuffle >= 0)
    plan->rules.shuffle = (HrShuffle)plan->orders.shuffle;
  if (plan->orders.wants_object != NULL) {
    plan->rules.shuffle = HR_SHUFFLE_NONE;
    plan->rules.epochs = 1;
  }
  plan->identity = identify (plan->objects);
  if (!check_rules (plan, error))
    return FALSE;
  if (plan->orders.check_data != NULL
      && !plan->orders.check_data (plan->orders.check_user, plan, error))
    return FALSE;
  if (plan->rules.shuffle == HR_SHUFFLE_WINDOW)
    plan->first_block = hr_sequence_sum_blocks (plan->objects, plan->rules.block_bytes);
  if (!check_start (plan, error))
    return FALSE;
  if (plan->n_known)
    hr_plan_count_steps (plan); /* the checkpoint says it */
  return TRUE;
}

void
hr_plan_set_start (HrPlan *plan, const HrPlanStart *start)
{
  plan->epoch = plan->found_epoch = start->epoch;
  plan->start = hr_wrong (HR_WRONG_NO_START) ? (guint64)start->first : (guint64)start->place;
  plan->unit = start->unit;
  plan->unit_byte = start->byte;
  plan->n_found = (guint64)start->first;
  if (start->n_lines >= 0)
    hr_plan_set_length (plan, (guint64)start->n_lines);
}
