/* test-line-scan.c: any text, cut anywhere: the lines that a plain look at the whole text finds */
#include "line-scan.h"
#include <string.h>

typedef struct {
  gint64 byte;
  gint64 line;
} Start;

/* written from the sentence in docs/plan.md, without a look at the scan */
static GArray *
find_plainly (const char *text, gsize size)
{
  GArray *starts = g_array_new (FALSE, FALSE, sizeof (Start));
  gint64 number = 1;

  for (gsize at = 0; at < size; number++) {
    gsize stop = at, from;

    while (stop < size && text[stop] != '\n')
      stop++;
    from = at;
    if (stop - at >= 3 && strncmp (text + at, "\xef\xbb\xbf", 3) == 0)
      from += 3;
    for (gsize i = from; i < stop; i++)
      if (strchr (" \t\r", text[i]) == NULL || text[i] == '\0') {
        Start start = { (gint64)at, number };

        g_array_append_val (starts, start);
        break;
      }
    at = stop + 1;
  }
  return starts;
}

static void
check_text (const char *text, gsize size, const gsize *cuts, guint n_cuts)
{
  g_autoptr (GArray) starts = find_plainly (text, size);
  g_autoptr (HrLineScan) scan = hr_line_scan_new ();
  g_autoptr (HrLineTable) table = NULL;
  gsize at = 0;

  for (guint i = 0; i <= n_cuts; i++) {
    gsize stop = i < n_cuts ? cuts[i] : size;
    /* of its own, so that a look outside of it is seen */
    g_autofree guint8 *piece = g_memdup2 (text + at, stop - at);

    hr_line_scan_feed (scan, piece, stop - at);
    at = stop;
  }
  table = hr_line_scan_end (scan);
  g_assert_cmpuint (hr_line_table_get_length (table), ==, starts->len);
  for (guint i = 0; i < starts->len; i++) {
    g_assert_cmpint (hr_line_table_get_byte (table, i), ==, g_array_index (starts, Start, i).byte);
    g_assert_cmpint (hr_line_table_get_line (table, i), ==, g_array_index (starts, Start, i).line);
  }
}

/* every text of up to five of the bytes that matter, in every way of cutting it */
static void
test_all_short (void)
{
  static const char bytes[] = "\n \r\xef\xbb\xbf{";
  guint n_bytes = strlen (bytes);

  for (guint size = 0, texts = 1; size <= 5; size++, texts *= n_bytes)
    for (guint number = 0; number < texts; number++) {
      char text[5];

      for (guint i = 0, rest = number; i < size; i++, rest /= n_bytes)
        text[i] = bytes[rest % n_bytes];
      for (guint mask = 0; mask < (size > 0 ? 1u << (size - 1) : 1); mask++) {
        gsize cuts[5];
        guint n_cuts = 0;

        for (guint i = 1; i < size; i++)
          if (mask & (1 << (i - 1)))
            cuts[n_cuts++] = i;
        check_text (text, size, cuts, n_cuts);
      }
    }
}

static gint
compare_sizes (gconstpointer a, gconstpointer b)
{
  gsize left = *(const gsize *)a, right = *(const gsize *)b;

  return left < right ? -1 : left > right;
}

static void
append_line (GString *text)
{
  static const char *const heads[] = { "",
                                       "",
                                       "",
                                       " ",
                                       "\t \r",
                                       "\xef\xbb\xbf",
                                       "\xef\xbb",
                                       "\xef",
                                       "\xef\xbb\xbf\xef\xbb\xbf",
                                       " \xef\xbb\xbf" };
  static const char *const ends[] = { "\n", "\n", "\n", "\r\n", "\n\n", "\n\r\n", "" };

  g_string_append (text, heads[g_test_rand_int_range (0, G_N_ELEMENTS (heads))]);
  if (g_test_rand_int_range (0, 3) > 0)
    for (gint n = g_test_rand_int_range (0, 1 << g_test_rand_int_range (0, 9)); n > 0; n--) {
      guint8 byte = g_test_rand_int_range (0, 256); /* NULs, too */

      g_string_append_c (text, byte == '\n' ? 'x' : byte);
    }
  g_string_append (text, ends[g_test_rand_int_range (0, G_N_ELEMENTS (ends))]);
}

static void
test_random (void)
{
  guint rounds = g_test_slow () ? 100000 : 3000;

  for (guint round = 0; round < rounds; round++) {
    g_autoptr (GString) text = g_string_new (NULL);
    gsize cuts[40];
    guint n_cuts = g_test_rand_int_range (0, G_N_ELEMENTS (cuts));

    for (gint n = g_test_rand_int_range (0, 60); n > 0; n--)
      append_line (text);
    for (guint i = 0; i < n_cuts; i++)
      cuts[i] = g_test_rand_int_range (0, (gint)text->len + 1);
    qsort (cuts, n_cuts, sizeof *cuts, compare_sizes);
    check_text (text->str, text->len, cuts, n_cuts);
  }
}

/* a line of more than 4 GiB between others */
static void
test_long_line (void)
{
  gsize size = 64 << 20;
  g_autofree guint8 *body = g_malloc (size);
  g_autoptr (HrLineScan) scan = hr_line_scan_new ();
  g_autoptr (HrLineTable) table = NULL;

  memset (body, 'a', size);
  hr_line_scan_feed (scan, (const guint8 *)"1\n\n", 3);
  for (guint i = 0; i < 65; i++)
    hr_line_scan_feed (scan, body, size);
  hr_line_scan_feed (scan, (const guint8 *)"\n\n2", 3);
  table = hr_line_scan_end (scan);
  g_assert_cmpuint (hr_line_table_get_length (table), ==, 3);
  g_assert_cmpint (hr_line_table_get_byte (table, 1), ==, 3);
  g_assert_cmpint (hr_line_table_get_line (table, 1), ==, 3);
  g_assert_cmpint (hr_line_table_get_byte (table, 2), ==, 3 + 65 * (gint64)size + 2);
  g_assert_cmpint (hr_line_table_get_line (table, 2), ==, 5);
}

static void
test_left (void)
{
  HrLineScan *scan = hr_line_scan_new ();

  hr_line_scan_feed (scan, (const guint8 *)"a\nb", 3);
  hr_line_scan_free (scan);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/line-scan/all-short", test_all_short);
  g_test_add_func ("/line-scan/random", test_random);
  g_test_add_func ("/line-scan/long-line", test_long_line);
  g_test_add_func ("/line-scan/left", test_left);
  return g_test_run ();
}
