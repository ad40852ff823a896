/* test-pace.c: half as many at once when the server asks for less, then more again */
#include "pace.h"

static guint
fill (HrPace *pace)
{
  guint n = 0;

  while (n < 1000 && hr_pace_enter (pace, FALSE))
    n++;
  return n;
}

static void
leave (HrPace *pace, guint n)
{
  while (n-- > 0)
    hr_pace_leave (pace);
}

static void
test_halve (void)
{
  HrPace pace;

  hr_pace_init (&pace);
  g_assert_cmpuint (hr_pace_get_limit (&pace), ==, 0);
  for (guint i = 0; i < 64; i++)
    g_assert_true (hr_pace_enter (&pace, FALSE));
  g_assert_true (hr_pace_halve (&pace, 100, 200));
  g_assert_cmpuint (hr_pace_get_limit (&pace), ==, 32);
  /* the other 63 were sent before: that is the same message */
  for (guint i = 0; i < 63; i++)
    g_assert_false (hr_pace_halve (&pace, 199, 300));
  g_assert_cmpuint (hr_pace_get_limit (&pace), ==, 32);
  /* none begins while there are more than that, but the first of another client */
  g_assert_false (hr_pace_enter (&pace, FALSE));
  g_assert_true (hr_pace_enter (&pace, TRUE));
  leave (&pace, 65);
  g_assert_cmpuint (fill (&pace), ==, 32);
  g_assert_true (hr_pace_halve (&pace, 200, 400));
  g_assert_cmpuint (hr_pace_get_limit (&pace), ==, 16);
  leave (&pace, 32);
  /* of few under way the half counts, and one is left always */
  for (guint i = 0; i < 10; i++)
    hr_pace_halve (&pace, 1000 + i, 1000 + i);
  g_assert_cmpuint (fill (&pace), ==, 1);
  leave (&pace, 1);
  hr_pace_clear (&pace);
}

static void
test_grow (void)
{
  HrPace pace;
  guint answers = 0, last = 8;

  hr_pace_init (&pace);
  leave (&pace, 0);
  for (guint i = 0; i < 16; i++)
    hr_pace_enter (&pace, FALSE);
  hr_pace_halve (&pace, 1, 1);
  leave (&pace, 16);
  g_assert_cmpuint (hr_pace_get_limit (&pace), ==, 8);
  /* one more after about as many answers as there are at once */
  for (; hr_pace_get_limit (&pace) > 0; answers++) {
    guint limit = hr_pace_get_limit (&pace);

    g_assert_cmpuint (limit, >=, last);
    g_assert_cmpuint (limit, <=, last + 1);
    last = limit;
    hr_pace_grow (&pace, 16);
  }
  /* 8 + 9 + … + 15 = 92 */
  g_assert_cmpuint (answers, >=, 88);
  g_assert_cmpuint (answers, <=, 100);
  g_assert_cmpuint (last, ==, 15);
  hr_pace_clear (&pace);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/pace/halve", test_halve);
  g_test_add_func ("/io/pace/grow", test_grow);
  return g_test_run ();
}
