/* test-hedge.c: when an answer is late, and how many second requests there may be */
#include "hedge.h"

#define MSEC G_GINT64_CONSTANT (1000000)

static void
test_limit (void)
{
  HrHedge hedge;

  hr_hedge_init (&hedge);
  for (guint i = 0; i < 63; i++)
    hr_hedge_note (&hedge, 100 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), ==, G_MAXINT64);
  hr_hedge_note (&hedge, 100 * MSEC);
  /* a bin is a quarter of an octave wide */
  g_assert_cmpint (hr_hedge_get_limit (&hedge), >=, 100 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), <=, 119 * MSEC);
  hr_hedge_clear (&hedge);
}

/* 90 of 100 take 30 ms, 7 take 300, 3 take 3000 */
static void
test_percentile (void)
{
  HrHedge hedge;

  hr_hedge_init (&hedge);
  for (guint i = 0; i < 800; i++)
    hr_hedge_note (&hedge, i % 100 < 90 ? 30 * MSEC : i % 100 < 97 ? 300 * MSEC : 3000 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), >=, 300 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), <=, 357 * MSEC);
  /* it has become quick: what was before is forgotten */
  for (guint i = 0; i < 30000; i++)
    hr_hedge_note (&hedge, 30 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), ==, 50 * MSEC);
  /* nothing is late after no time, nor unknown after a day */
  for (guint i = 0; i < 30000; i++)
    hr_hedge_note (&hedge, 1);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), ==, 50 * MSEC);
  for (guint i = 0; i < 30000; i++)
    hr_hedge_note (&hedge, 86400 * 1000 * MSEC);
  g_assert_cmpint (hr_hedge_get_limit (&hedge), >=, 86400 * 1000 * MSEC);
  hr_hedge_clear (&hedge);
}

/* one for every twenty requests */
static void
test_budget (void)
{
  HrHedge hedge;
  guint taken = 0;

  hr_hedge_init (&hedge);
  g_assert_false (hr_hedge_take (&hedge));
  for (guint i = 0; i < 1000; i++) {
    hr_hedge_count (&hedge);
    taken += hr_hedge_take (&hedge);
    g_assert_cmpuint (taken, ==, (i + 1) / 20);
  }
  hr_hedge_clear (&hedge);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/hedge/limit", test_limit);
  g_test_add_func ("/io/hedge/percentile", test_percentile);
  g_test_add_func ("/io/hedge/budget", test_budget);
  return g_test_run ();
}
