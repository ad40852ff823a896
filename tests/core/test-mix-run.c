/* test-mix-run.c: what a member of a mix looks for, when a rank has little or nothing of it */
#include "hr-line-table.h"
#include "hr-plan-struct.h"

#define READ_BYTES 1000

static HrMixRun *
new_run (gboolean random, guint n_members, const HrPlanOrders *orders)
{
  const HrMixRules rules = { .random = random, .seed = 5 };
  HrMixRun *run = hr_mix_run_new (&rules, n_members);

  hr_mix_run_set_places (run, orders);
  return run;
}

static void
tell (HrMixRun *run, guint member, guint64 n_lines)
{
  const HrMixTold told = { .member = { 1, TRUE, n_lines } };

  g_assert_true (hr_mix_run_tell (run, member, &told, NULL));
}

/* member 0, with so many lines of 10 bytes */
static HrPlan *
new_plan (HrMixRun *run, HrPlanOrders orders, guint n_lines)
{
  const HrPlanRules rules = { .epochs = 1, .read_bytes = READ_BYTES, .weight = 1, .repeat = TRUE };
  HrLineTable *lines = hr_line_table_new ();
  HrPlan *plan;

  orders.mix = run;
  orders.name = "a";
  orders.epochs = 0;
  plan = hr_plan_new (&orders);
  hr_plan_add_object (plan, "file:///a", "a", n_lines * 10, NULL);
  hr_plan_listed (plan);
  for (guint i = 0; i < n_lines; i++)
    hr_line_table_add (lines, i * 10, i + 1);
  hr_line_table_freeze (lines);
  g_assert_true (hr_plan_begin (plan, &rules, NULL));
  hr_plan_set_lines (plan, 0, lines);
  hr_line_table_unref (lines);
  g_assert_true (hr_plan_settle (plan, NULL));
  return plan;
}

/* what it looks at is bounded by where the mix is, however often it is asked */
static void
assert_waits (HrMixRun *run, HrPlan *plan)
{
  for (guint i = 0; i < 100; i++) {
    HrRead *read;

    g_assert_cmpint (hr_plan_next (plan, &read), ==, HR_PLAN_LATER);
    g_assert_null (read);
  }
  g_assert_cmpuint (plan->cursor.epoch, <=,
                    MAX (hr_mix_run_get_epoch (run), plan->found_epoch) + 2);
}

/* three places of four ranks: the last one has padding for ever */
static void
test_nothing (gconstpointer random)
{
  const HrPlanOrders orders = { .shard = { 3, 4, 1, FALSE }, .seed = -1, .shuffle = -1 };
  HrMixRun *run = new_run (GPOINTER_TO_INT (random), 3, &orders);
  HrPlan *plan = new_plan (run, orders, 1);
  HrMixPlace place;

  tell (run, 1, 1);
  tell (run, 2, 1);
  for (guint epoch = 0; epoch < 50; epoch++) {
    assert_waits (run, plan);
    g_assert_cmpint (hr_mix_run_peek (run, &place), ==, HR_PLAN_READ);
    g_assert_cmpuint (place.epoch, ==, epoch);
    g_assert_cmpuint (place.input, ==, HR_NO_INPUT);
    hr_mix_run_advance (run);
  }
  hr_plan_free (plan);
  hr_mix_run_free (run);
}

typedef struct {
  guint epoch;
  gint64 place;
} Found;

/* all that it finds now, none farther than one epoch behind the last, or behind the mix */
static void
look_ahead (HrMixRun *run, HrPlan *plan, GQueue *found, guint64 *last)
{
  HrRead *read;

  while (hr_plan_next (plan, &read) == HR_PLAN_READ) {
    g_assert_cmpuint (read->epoch, <=, MAX (*last, hr_mix_run_get_epoch (run)) + 1);
    *last = read->epoch;
    for (guint i = 0; i < read->wanted->len; i++) {
      Found one = { read->epoch, g_array_index (read->wanted, HrWanted, i).place };

      g_queue_push_tail (found, g_memdup2 (&one, sizeof one));
    }
    hr_plan_end_read (plan, read);
  }
  assert_waits (run, plan);
}

/* One place of 40, which eight ranks share: there in some epochs only. It is found before the mix
 * asks for it. */
static void
test_rare (void)
{
  const HrPlanOrders orders = { .shard = { 2, 8, 1, FALSE }, .seed = -1, .shuffle = -1 };
  HrMixRun *run = new_run (TRUE, 40, &orders);
  HrPlan *plan = new_plan (run, orders, 1);
  GQueue found = G_QUEUE_INIT;
  guint64 last = 0;
  guint n_found = 0;
  HrMixPlace place = { 0 };

  for (guint i = 1; i < 40; i++)
    tell (run, i, 1);
  while (place.epoch < 400) {
    look_ahead (run, plan, &found, &last);
    g_assert_cmpint (hr_mix_run_peek (run, &place), ==, HR_PLAN_READ);
    if (place.input == 0) {
      g_autofree Found *one = NULL;

      look_ahead (run, plan, &found, &last); /* it may have come to a new epoch just now */
      one = g_queue_pop_head (&found);
      g_assert_nonnull (one);
      g_assert_cmpuint (one->epoch, ==, place.epoch);
      g_assert_cmpint (one->place, ==, place.place);
      n_found++;
    }
    hr_mix_run_advance (run);
  }
  g_assert_cmpuint (n_found, >, 20);
  g_assert_cmpuint (n_found, <, 120);
  g_queue_clear_full (&found, g_free);
  hr_plan_free (plan);
  hr_mix_run_free (run);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/mix-run/nothing/even", GINT_TO_POINTER (FALSE), test_nothing);
  g_test_add_data_func ("/mix-run/nothing/random", GINT_TO_POINTER (TRUE), test_nothing);
  g_test_add_func ("/mix-run/rare", test_rare);
  return g_test_run ();
}
