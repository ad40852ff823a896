/* the class table: counts, the code points that others have otherwise, reading UTF-8 */
#include <string.h>
#include "unicode-class.h"

static void
test_counts (void)
{
  guint n[6] = { 0 }, unsafe = 0;

  for (guint32 c = 0; c < 0x110000; c++) {
    guint8 class = hr_unicode_class (c);

    n[class & HR_CLASS_MASK]++;
    unsafe += (class & HR_CLASS_UNSAFE) != 0;
  }
  g_assert_cmpuint (n[HR_CLASS_LETTER], ==, 141028);
  g_assert_cmpuint (n[HR_CLASS_NUMBER], ==, 1911);
  g_assert_cmpuint (n[HR_CLASS_MARK], ==, 2501);
  g_assert_cmpuint (n[HR_CLASS_SPACE], ==, 23);
  g_assert_cmpuint (n[HR_CLASS_NEWLINE], ==, 2);
  g_assert_cmpuint (unsafe, ==, 2001);
  g_assert_cmpuint (hr_unicode_class (0x110000), ==, 0);
  g_assert_cmpuint (hr_unicode_class (G_MAXUINT32), ==, 0);
}

static void
test_classes (void)
{
  static const struct {
    guint32 c;
    guint class;
  } rows[] = {
    { 'a', HR_CLASS_LETTER },
    { '0', HR_CLASS_NUMBER },
    { ' ', HR_CLASS_SPACE },
    { '\n', HR_CLASS_NEWLINE },
    { '\r', HR_CLASS_NEWLINE },
    { '_', HR_CLASS_OTHER },
    { 0x0B, HR_CLASS_SPACE },
    { 0x85, HR_CLASS_SPACE },
    { 0x1C, HR_CLASS_OTHER },
    { 0x180E, HR_CLASS_OTHER },
    { 0x3000, HR_CLASS_SPACE },
    { 0x200B, HR_CLASS_OTHER },
    { 0x2028, HR_CLASS_SPACE },
    { 0x4E2D, HR_CLASS_LETTER },
    { 0x2460, HR_CLASS_NUMBER },
    { 0x0301, HR_CLASS_MARK },
    { 0x1C89, HR_CLASS_LETTER } /* new in Unicode 16 */,
    { 0x10D40, HR_CLASS_NUMBER } /* the same */,
    { 0x10D69, HR_CLASS_MARK } /* the same */,
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpuint (hr_unicode_class (rows[i].c) & HR_CLASS_MASK, ==, rows[i].class);
}

static void
test_flags (void)
{
  g_assert_cmpuint (hr_unicode_class (0x0301) & HR_CLASS_UNSAFE, !=, 0);
  g_assert_cmpuint (hr_unicode_class (0x1161) & HR_CLASS_UNSAFE, !=, 0);
  g_assert_cmpuint (hr_unicode_class (0x212B) & HR_CLASS_UNSAFE, !=, 0);
  g_assert_cmpuint (hr_unicode_class (0x00E9) & HR_CLASS_UNSAFE, ==, 0);
  /* nothing below U+0300: the quick check skips those bytes */
  for (guint32 c = 0; c < 0x300; c++)
    g_assert_cmpuint (hr_unicode_class (c) & HR_CLASS_UNSAFE, ==, 0);
  g_assert_cmpuint (hr_unicode_class (0) & HR_CLASS_BARRIER, !=, 0);
  g_assert_cmpuint (hr_unicode_class ('a') & HR_CLASS_BARRIER, ==, 0);
  /* a mark of Unicode 14: a starter to the reference */
  g_assert_cmpuint (hr_unicode_class (0x1AC1) & (HR_CLASS_BARRIER | HR_CLASS_UNSAFE), ==,
                    HR_CLASS_BARRIER);
}

static void
test_utf8 (void)
{
  for (guint32 c = 0x80; c < 0x110000; c++) {
    char utf8[6];
    gint size;
    guint length;

    if (c >= 0xD800 && c < 0xE000)
      continue;
    size = g_unichar_to_utf8 (c, utf8);
    if (hr_utf8_class ((guint8 *)utf8, (guint8 *)utf8 + size, &length) != hr_unicode_class (c)
        || length != (guint)size)
      g_error ("U+%04X", c);
    /* a character that is cut is read no further */
    for (gint cut = 1; cut < size; cut++) {
      hr_utf8_class ((guint8 *)utf8, (guint8 *)utf8 + cut, &length);
      g_assert_cmpuint (length, ==, 1);
    }
  }
}

static void
test_no_utf8 (void)
{
  for (guint byte = 0x80; byte < 256; byte++) {
    guint8 text[4] = { (guint8)byte, 0xFF, 0xFF, 0xFF };
    guint length;

    hr_utf8_class (text, text + 4, &length);
    g_assert_cmpuint (length, >=, 1);
    g_assert_cmpuint (length, <=, 4);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/unicode-class/counts", test_counts);
  g_test_add_func ("/text/unicode-class/classes", test_classes);
  g_test_add_func ("/text/unicode-class/flags", test_flags);
  g_test_add_func ("/text/unicode-class/utf8", test_utf8);
  g_test_add_func ("/text/unicode-class/no-utf8", test_no_utf8);
  return g_test_run ();
}
