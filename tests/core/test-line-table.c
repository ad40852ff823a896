/* test-line-table.c: any starts and numbers come back, frozen, written and read again; bytes that
 * are no table are refused */
#include "hr-line-table.h"
#include <string.h>

typedef struct {
  gint64 byte;
  gint64 line;
} Start;

/* what the table must answer, beside it */
typedef struct {
  HrLineTable *table;
  GArray *starts; /* Start */
  gint64 size;    /* of the object */
} Both;

static void
both_add (Both *both, gint64 byte, gint64 line)
{
  Start start = { byte, line };

  hr_line_table_add (both->table, byte, line);
  g_array_append_val (both->starts, start);
  both->size = byte + 1;
}

static void
both_clear (Both *both)
{
  hr_line_table_unref (both->table);
  g_array_unref (both->starts);
}

static Both
both_new (void)
{
  return (Both){ hr_line_table_new (), g_array_new (FALSE, FALSE, sizeof (Start)), 0 };
}

static void
assert_same (const HrLineTable *table, const GArray *starts)
{
  g_assert_cmpuint (hr_line_table_get_length (table), ==, starts->len);
  for (guint i = 0; i < starts->len; i++) {
    Start start = g_array_index (starts, Start, i);
    gint64 last = i > 0 ? g_array_index (starts, Start, i - 1).byte : -1;

    g_assert_cmpint (hr_line_table_get_byte (table, i), ==, start.byte);
    g_assert_cmpint (hr_line_table_get_line (table, i), ==, start.line);
    g_assert_cmpuint (hr_line_table_find (table, start.byte), ==, i);
    g_assert_cmpuint (hr_line_table_find (table, last + 1), ==, i);
    g_assert_cmpuint (hr_line_table_find (table, start.byte + 1), ==, i + 1);
  }
  g_assert_cmpuint (hr_line_table_find (table, 0), ==, 0);
  g_assert_cmpuint (hr_line_table_find (table, G_MAXINT64), ==, starts->len);
}

/* as it is, frozen, and out of its bytes, wherever these stand */
static void
check_all (Both *both)
{
  g_autoptr (GBytes) bytes = NULL, inner = NULL, moved = NULL;
  g_autoptr (HrLineTable) again = NULL, unaligned = NULL;
  g_autofree guint8 *shifted = NULL;
  gsize size;

  assert_same (both->table, both->starts);
  hr_line_table_freeze (both->table);
  hr_line_table_freeze (both->table); /* it is already */
  assert_same (both->table, both->starts);
  bytes = hr_line_table_to_bytes (both->table);
  again = hr_line_table_from_bytes (bytes, both->size);
  g_assert_nonnull (again);
  assert_same (again, both->starts);
  size = g_bytes_get_size (bytes);
  shifted = g_malloc (size + 1);
  memcpy (shifted + 1, g_bytes_get_data (bytes, NULL), size);
  moved = g_bytes_new (shifted, size + 1);
  inner = g_bytes_new_from_bytes (moved, 1, size);
  unaligned = hr_line_table_from_bytes (inner, both->size);
  g_assert_nonnull (unaligned);
  assert_same (unaligned, both->starts);
  if (both->starts->len > 0) /* its last line begins behind such an object */
    g_assert_null (hr_line_table_from_bytes (bytes, both->size - 1));
}

static void
test_blank (void)
{
  g_assert_true (hr_line_is_blank ("", 0));
  g_assert_true (hr_line_is_blank (" \t\r\r", 4));
  g_assert_true (hr_line_is_blank ("\xef\xbb\xbf", 3));
  g_assert_true (hr_line_is_blank ("\xef\xbb\xbf \r", 5));
  g_assert_false (hr_line_is_blank ("\xef\xbb\xbf\xef\xbb\xbf", 6));
  g_assert_false (hr_line_is_blank (" \xef\xbb\xbf", 4));
  g_assert_false (hr_line_is_blank ("\xef\xbb", 2));
  g_assert_false (hr_line_is_blank (" 1", 2));
  g_assert_false (hr_line_is_blank ("\f", 1));
  g_assert_false (hr_line_is_blank ("\0", 1));
}

static void
test_empty (void)
{
  Both both = both_new ();

  check_all (&both);
  both_clear (&both);
}

/* lengths around the borders of groups; gaps of all sizes, now and then one over 4 GiB; blank lines
 */
static void
test_random (void)
{
  for (guint round = 0; round < 300; round++) {
    Both both = both_new ();
    guint n = g_test_rand_int_range (0, round % 3 == 0 ? 5 : 400);
    guint wide = g_test_rand_int_range (0, 3) * 30, blank = g_test_rand_int_range (0, 3) * 20;
    gint64 byte = g_test_rand_int_range (0, 100), line = 1;

    for (guint i = 0; i < n; i++) {
      if (g_test_rand_int_range (0, 100) < (gint)blank) {
        gint n_blank = g_test_rand_int_range (1, 4);

        line += n_blank;
        byte += n_blank;
      }
      both_add (&both, byte, line++);
      if (wide > 0 && g_test_rand_int_range (0, (gint)wide) == 0)
        byte += G_MAXUINT32 - 1 + g_test_rand_int_range (0, 4);
      byte += 1 + g_test_rand_int_range (0, 1 << g_test_rand_int_range (0, 20));
    }
    check_all (&both);
    both_clear (&both);
  }
}

/* the distance that still fits, and the first that does not, at every place of a group */
static void
test_wide (void)
{
  for (guint at = 1; at < 130; at++)
    for (guint over = 0; over < 2; over++) {
      Both both = both_new ();
      gint64 base = 7 + (at / 64) * 64;

      for (guint i = 0; i < 140; i++)
        both_add (&both, i < at ? 7 + (gint64)i : base + G_MAXUINT32 + over + (i - at), i + 1);
      check_all (&both);
      both_clear (&both);
    }
}

static void
test_memory (void)
{
  g_autoptr (HrLineTable) table = hr_line_table_new ();
  guint n = 1000000;

  for (guint i = 0; i < n; i++)
    hr_line_table_add (table, (gint64)i * 1000, i + 1);
  g_assert_cmpuint (hr_line_table_get_n_bytes (table), <, 9 * n);
  hr_line_table_freeze (table);
  g_assert_cmpuint (hr_line_table_get_n_bytes (table), <, 4.13 * n);
}

/* whatever comes out of spoilt bytes can be asked without reading outside, and ascends */
static void
check_spoilt (const guint8 *data, gsize size, gint64 object_size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size); /* a copy: the sanitizer sees its end */
  g_autoptr (HrLineTable) table = hr_line_table_from_bytes (bytes, object_size);
  gint64 byte = -1, line = 0;

  if (table == NULL)
    return;
  for (guint64 i = 0; i < hr_line_table_get_length (table); i++) {
    g_assert_cmpint (hr_line_table_get_byte (table, i), >, byte);
    g_assert_cmpint (hr_line_table_get_line (table, i), >, line);
    byte = hr_line_table_get_byte (table, i);
    line = hr_line_table_get_line (table, i);
  }
  g_assert_cmpint (byte, <, object_size);
}

static void
test_spoilt (void)
{
  Both both = both_new ();
  g_autoptr (GBytes) bytes = NULL;
  g_autofree guint8 *data = NULL;
  gint64 line = 1;
  gsize size;

  for (guint i = 0; i < 200; i++) {
    line += i % 50 == 7;
    both_add (&both, i * 100 + (i > 100 ? (gint64)1 << 33 : 0), line++);
  }
  hr_line_table_freeze (both.table);
  bytes = hr_line_table_to_bytes (both.table);
  data = g_memdup2 (g_bytes_get_data (bytes, &size), g_bytes_get_size (bytes));
  for (gsize cut = 0; cut < size; cut++) {
    g_autoptr (GBytes) part = g_bytes_new (data, cut);

    g_assert_null (hr_line_table_from_bytes (part, both.size));
  }
  for (gsize i = 0; i < size; i++) {
    guint8 right = data[i];

    for (guint bit = 0; bit < 8; bit++) {
      data[i] = right ^ (1 << bit);
      check_spoilt (data, size, both.size);
    }
    data[i] = 0xff;
    check_spoilt (data, size, both.size);
    data[i] = right;
  }
  for (guint round = 0; round < 20000; round++) { /* several words at once */
    g_autofree guint8 *copy = g_memdup2 (data, size);

    for (guint k = 0; k < 1 + round % 4; k++) {
      gsize at =
          (round % 2 ? g_test_rand_int_range (0, size / 8) : g_test_rand_int_range (0, 8)) * 8;

      memset (copy + at, g_test_rand_int_range (0, 256), g_test_rand_int_range (1, 9));
    }
    check_spoilt (copy, size, both.size);
  }
  both_clear (&both);
}

/* a table of @n lines of ten bytes, the tenth behind a blank one */
static GBytes *
make_table (guint n)
{
  g_autoptr (HrLineTable) table = hr_line_table_new ();

  for (guint i = 0; i < n; i++)
    hr_line_table_add (table, i * 10, i + 1 + (i >= 9));
  hr_line_table_freeze (table);
  return hr_line_table_to_bytes (table);
}

/* Returns: (transfer full): with word @word another */
static GBytes *
poke (GBytes *bytes, guint word, gint64 value)
{
  gsize size = g_bytes_get_size (bytes);
  guint8 *data = g_memdup2 (g_bytes_get_data (bytes, NULL), size);

  memcpy (data + word * 8, &value, 8);
  return g_bytes_new_take (data, size);
}

static gboolean
is_refused (GBytes *bytes)
{
  g_autoptr (HrLineTable) table = hr_line_table_from_bytes (bytes, 10 * 200);

  return table == NULL;
}

static gboolean
is_refused_with (GBytes *bytes, guint word, gint64 value)
{
  g_autoptr (GBytes) wrong = poke (bytes, word, value);

  return is_refused (wrong);
}

/* words: 0 magic, 1 lines, 2 wide groups, 3 jumps, 4 … 7 bases of 200 lines, 8 and 9 the jump, then
 * distances, two a word */
static void
test_crafted (void)
{
  g_autoptr (GBytes) bytes = make_table (200), overflow = poke (bytes, 42, -1);

  g_assert_false (is_refused (bytes));
  g_assert_true (is_refused_with (bytes, 0, 1));
  g_assert_true (is_refused_with (bytes, 1, G_MAXINT64));
  g_assert_true (is_refused_with (bytes, 4, G_MAXINT64));
  g_assert_true (is_refused_with (overflow, 5, G_MAXINT64)); /* and a distance on top */
  g_assert_true (is_refused_with (bytes, 5, -1));
  g_assert_true (is_refused_with (bytes, 5, G_MININT64));
  g_assert_true (is_refused_with (bytes, 8, 200));
  g_assert_true (is_refused_with (bytes, 8, G_MAXINT64));
  g_assert_true (is_refused_with (bytes, 9, 92)); /* of byte 90 */
  g_assert_false (is_refused_with (bytes, 9, 91));
  g_assert_true (is_refused_with (bytes, 9, 10));
  g_assert_true (is_refused_with (bytes, 9, G_MAXINT64));
}

/* wide starts that belong to no group; a group that has none, although what is there would do */
static void
test_crafted_wide (void)
{
  g_autoptr (GBytes) bytes = make_table (8);
  guint8 *longer = g_malloc0 (g_bytes_get_size (bytes) + 512);
  g_autoptr (GBytes) more = NULL, less = poke (bytes, 4, -1);

  memcpy (longer, g_bytes_get_data (bytes, NULL), 5 * 8);
  memcpy (longer + 5 * 8 + 512, (guint8 *)g_bytes_get_data (bytes, NULL) + 5 * 8,
          g_bytes_get_size (bytes) - 5 * 8);
  more = g_bytes_new_take (longer, g_bytes_get_size (bytes) + 512);
  g_assert_true (is_refused_with (more, 2, 1));
  for (guint i = 0; i < 4; i++) {
    GBytes *next = poke (less, 5 + i, i);

    g_bytes_unref (less);
    less = next;
  }
  g_assert_true (is_refused (less));
}

/* so many lines that the bytes they take come out right modulo 2^64: 4 and an eighth a line */
static void
test_crafted_overflow (void)
{
  guint64 inverse = 33;
  guint n_tried = 0;

  for (guint i = 0; i < 6; i++)
    inverse *= 2 - 33 * inverse; /* Newton: twice as many right bits each time */
  for (guint64 size = 8; size < 8192; size += 8) {
    guint64 eighth = size * inverse;
    g_autoptr (GBytes) bytes = make_table (0), head = NULL, longer = NULL;
    guint8 *data;

    if (eighth % 8 != 0 || eighth >= (guint64)1 << 61)
      continue;
    head = poke (bytes, 1, (gint64)(eighth * 8));
    data = g_malloc0 (32 + size);
    memcpy (data, g_bytes_get_data (head, NULL), 32);
    longer = g_bytes_new_take (data, 32 + size);
    g_assert_true (is_refused (longer));
    n_tried++;
  }
  g_assert_cmpuint (n_tried, >, 0);
}

static gpointer
read_in_thread (gpointer data)
{
  HrLineTable *table = data;

  for (guint64 i = 0; i < hr_line_table_get_length (table); i++)
    g_assert_cmpuint (hr_line_table_find (table, hr_line_table_get_byte (table, i)), ==, i);
  hr_line_table_unref (table);
  return NULL;
}

static void
test_threads (void)
{
  HrLineTable *table = hr_line_table_new ();
  GThread *threads[4];

  for (guint i = 0; i < 2000; i++)
    hr_line_table_add (table, i * 10, i + 1);
  hr_line_table_freeze (table);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("reader", read_in_thread, hr_line_table_ref (table));
  hr_line_table_unref (table);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/line-table/blank", test_blank);
  g_test_add_func ("/line-table/empty", test_empty);
  g_test_add_func ("/line-table/random", test_random);
  g_test_add_func ("/line-table/wide", test_wide);
  g_test_add_func ("/line-table/memory", test_memory);
  g_test_add_func ("/line-table/spoilt", test_spoilt);
  g_test_add_func ("/line-table/crafted", test_crafted);
  g_test_add_func ("/line-table/crafted-wide", test_crafted_wide);
  g_test_add_func ("/line-table/crafted-overflow", test_crafted_overflow);
  g_test_add_func ("/line-table/threads", test_threads);
  return g_test_run ();
}
