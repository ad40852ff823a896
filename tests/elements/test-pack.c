/* hr-pack.c: which samples of a block share a row, and how full rows are */
#include <math.h>
#include "hr-pack.h"

static void
check_packing (const HrPackSize *sizes, guint n, gint64 most, gint64 most_images)
{
  g_autofree guint *rows = g_new (guint, n + 1);
  g_autofree HrPackSize *used = g_new0 (HrPackSize, n + 1);
  guint n_rows = hr_pack_block (sizes, n, most, most_images, rows), seen = 0;

  for (guint i = 0; i < n; i++) {
    g_assert_cmpuint (rows[i], <, n_rows);
    g_assert_cmpuint (rows[i], <=, seen); /* numbered as they come up */
    seen = MAX (seen, rows[i] + 1);
    used[rows[i]].tokens += sizes[i].tokens;
    used[rows[i]].image_tokens += sizes[i].image_tokens;
  }
  g_assert_cmpuint (seen, ==, n_rows);
  for (guint row = 0; row < n_rows; row++) {
    g_assert_cmpint (used[row].tokens, <=, most);
    g_assert_true (most_images == 0 || used[row].image_tokens <= most_images);
  }
  /* no two rows would fit into one */
  for (guint a = 0; a < n_rows && most_images == 0; a++)
    for (guint b = a + 1; b < n_rows; b++)
      g_assert_cmpint (used[a].tokens + used[b].tokens, >, most);
}

static void
test_packing (void)
{
  for (guint round = 0; round < 500; round++) {
    HrPackSize sizes[80];
    guint n = (guint)g_test_rand_int_range (0, 80);
    gint64 most = g_test_rand_int_range (50, 500), most_images = round % 2 == 0 ? 0 : most / 2;

    for (guint i = 0; i < n; i++) {
      sizes[i].tokens = g_test_rand_int_range (1, (gint)most + 1);
      sizes[i].image_tokens = MIN (sizes[i].tokens, most / 2) * g_test_rand_int_range (0, 2);
    }
    check_packing (sizes, n, most, most_images);
  }
}

/* a mix of conversations with 0 to 4 images; bench/pack has the numbers */
static gint64
random_length (GRand *rand)
{
  double text = exp (5.6
                     + 0.9
                           * (g_rand_double (rand) + g_rand_double (rand) + g_rand_double (rand)
                              + g_rand_double (rand) - 2));
  gint64 length = (gint64)text;

  for (gint i = g_rand_int_range (rand, 0, 5); i > 0; i--)
    length += g_rand_int_range (rand, 64, 540);
  return MIN (length, 8000);
}

static double
fill_of (const HrPackSize *sizes, guint n, guint window, gint64 most)
{
  g_autofree guint *rows = g_new (guint, n);
  gint64 tokens = 0, n_rows = 0;

  for (guint at = 0; at < n; at += window)
    n_rows += hr_pack_block (sizes + at, MIN (window, n - at), most, 0, rows);
  for (guint i = 0; i < n; i++)
    tokens += sizes[i].tokens;
  return (double)tokens / (double)(n_rows * most);
}

static void
test_fill (void)
{
  static const gint64 most[] = { 8192, 16384, 32768 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint n = 8192;
  g_autofree HrPackSize *sizes = g_new0 (HrPackSize, n);

  for (guint i = 0; i < n; i++)
    sizes[i].tokens = random_length (rand);
  for (guint i = 0; i < G_N_ELEMENTS (most); i++) {
    double blocks = fill_of (sizes, n, 512, most[i]), one = fill_of (sizes, n, n, most[i]);

    g_test_message ("%d tokens a row: blocks of 512 %.1f %%, one window %.1f %%", (int)most[i],
                    100 * blocks, 100 * one);
    g_assert_cmpfloat (blocks, >, 0.95);
    g_assert_cmpfloat (blocks, >, one - 0.04);
  }
}

/* the same whatever was packed before, and equal sizes in order */
static void
test_pure (void)
{
  const HrPackSize sizes[] = { { 3, 0 }, { 5, 0 }, { 5, 0 }, { 2, 0 }, { 3, 0 } };
  guint rows[5], n = 0;

  for (guint round = 0; round < 2; round++) {
    g_assert_cmpuint (hr_pack_block (sizes, 5, 8, 0, rows), ==, 3);
    g_assert_cmpuint (rows[0], ==, 0); /* 5 + 3, 5 + 3, 2 */
    g_assert_cmpuint (rows[1], ==, 0);
    g_assert_cmpuint (rows[2], ==, 1);
    g_assert_cmpuint (rows[3], ==, 2);
    g_assert_cmpuint (rows[4], ==, 1);
  }
  /* the fullest row that it fits in, not the first: 3 goes to the 6 and not to the 5 */
  {
    const HrPackSize best[] = { { 5, 0 }, { 6, 0 }, { 3, 0 } };

    n = hr_pack_block (best, 3, 9, 0, rows);
    g_assert_cmpuint (n, ==, 2);
    g_assert_cmpuint (rows[2], ==, 1);
  }
  /* images are bounded apart */
  {
    const HrPackSize images[] = { { 4, 4 }, { 4, 4 }, { 4, 0 } };

    n = hr_pack_block (images, 3, 12, 4, rows);
    g_assert_cmpuint (n, ==, 2);
    g_assert_cmpuint (rows[0], !=, rows[1]);
  }
  g_assert_cmpuint (hr_pack_block (sizes, 0, 8, 0, rows), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack/packing", test_packing);
  g_test_add_func ("/pack/fill", test_fill);
  g_test_add_func ("/pack/pure", test_pure);
  return g_test_run ();
}
