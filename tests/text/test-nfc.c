/* NFC: by hand, beside GLib on what Unicode 9 knew, and what is newer */
#include "nfc.h"
#include <string.h>
#include "unicode-class.h"

/* (transfer full) */
static char *
nfc (const char *text, gsize size, gsize *out_size)
{
  GByteArray *into = g_byte_array_new ();

  hr_nfc_append (into, (const guint8 *)text, size);
  *out_size = into->len;
  g_byte_array_append (into, (const guint8 *)"", 1);
  return (char *)g_byte_array_free (into, FALSE);
}

static void
test_known (void)
{
  static const char *const rows[][2] = {
    { "abc", "abc" },
    { "e\u0301", "\u00e9" },
    { "xe\u0301y", "x\u00e9y" },
    { "\u0301", "\u0301" },
    { "a\u0301\u0323", "\u1ea1\u0301" },
    { "a\u0323\u0301", "\u1ea1\u0301" },
    { "A\u030a", "\u00c5" },
    { "\u212b", "\u00c5" },
    { "\u1100\u1161\u11a8", "\uac01" },
    { "\uac00\u11a8", "\uac01" },
    { "\u0958", "\u0915\u093c" },
    { "\u0344", "\u0308\u0301" },
    { "\uf900", "\u8c48" },
    { "\u1e9b\u0323", "\u1e9b\u0323" },
    { "\u00f4\u0302", "\u00f4\u0302" },
    { "\n\u0301", "\n\u0301" },
    { "ab\u0301c\u0301d", "ab\u0301\u0107d" },
    /* marks that Unicode 9 did not know stay where they are, whatever GLib knows */
    { "e\u1ac1\u0323", "e\u1ac1\u0323" },
    { "e\u1ac1\u0301", "e\u1ac1\u0301" },
    { "\U00011935\U00011930", "\U00011935\U00011930" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    gsize size;
    g_autofree char *got = nfc (rows[i][0], strlen (rows[i][0]), &size);

    g_assert_cmpstr (got, ==, rows[i][1]);
  }
}

static void
test_nul (void)
{
  static const char text[] = "e\u0301\0e\u0301", expected[] = "\u00e9\0\u00e9";
  gsize size;
  g_autofree char *got = nfc (text, sizeof (text) - 1, &size);

  g_assert_cmpmem (got, size, expected, sizeof (expected) - 1);
}

static gunichar
random_char (void)
{
  static const gunichar first[] = { 0x41,   0xC0,  0x300,  0x1100, 0x1161,
                                    0x11A8, 0x900, 0x1E00, 0xAC00, 0x300 };
  gint kind = g_test_rand_int_range (0, G_N_ELEMENTS (first) + 1);

  for (;;) {
    gunichar c = kind == G_N_ELEMENTS (first)
                     ? (gunichar)g_test_rand_int_range (1, 0x110000)
                     : first[kind] + (gunichar)g_test_rand_int_range (0, 0x70);

    if ((c < 0xD800 || c >= 0xE000) && !(hr_unicode_class (c) & HR_CLASS_BARRIER))
      return c;
  }
}

static void
test_beside_glib (void)
{
  guint certain = 0;

  for (guint i = 0; i < 50000; i++) {
    g_autoptr (GString) text = g_string_new (NULL);
    g_autofree char *theirs = NULL, *ours = NULL;
    gint n = g_test_rand_int_range (1, 12);
    gsize size;

    while (n-- > 0)
      g_string_append_unichar (text, random_char ());
    theirs = g_utf8_normalize (text->str, (gssize)text->len, G_NORMALIZE_NFC);
    ours = nfc (text->str, text->len, &size);
    g_assert_cmpstr (ours, ==, theirs);
    if (hr_nfc_is_certain ((const guint8 *)text->str, text->len)) {
      certain++;
      g_assert_cmpstr (text->str, ==, theirs);
    }
  }
  g_assert_cmpuint (certain, >, 100);
}

/* each code point after a starter that melts with many, where a newer one would show */
static void
test_certain (void)
{
  for (gunichar c = 1; c < 0x110000; c++) {
    g_autoptr (GString) text = NULL;
    gsize size;

    if (c >= 0xD800 && c < 0xE000)
      continue;
    text = g_string_new ("e");
    g_string_append_unichar (text, c);
    if (hr_nfc_is_certain ((const guint8 *)text->str, text->len)) {
      g_autofree char *got = nfc (text->str, text->len, &size);

      g_assert_cmpstr (got, ==, text->str);
    }
  }
}

/* GLib's own would take a minute for this */
static void
test_many_marks (void)
{
  g_autoptr (GString) text = g_string_new ("a"), expected = g_string_new ("\u1ea1");
  gsize size, n = 100000;
  g_autofree char *got = NULL;

  for (gsize i = 0; i < n; i++)
    g_string_append (text, "\u0301\u0323");
  got = nfc (text->str, text->len, &size);
  for (gsize i = 1; i < n; i++)
    g_string_append (expected, "\u0323");
  for (gsize i = 0; i < n; i++)
    g_string_append (expected, "\u0301");
  g_assert_cmpuint (size, ==, expected->len);
  g_assert_true (memcmp (got, expected->str, size) == 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/nfc/known", test_known);
  g_test_add_func ("/text/nfc/nul", test_nul);
  g_test_add_func ("/text/nfc/beside-glib", test_beside_glib);
  g_test_add_func ("/text/nfc/certain", test_certain);
  g_test_add_func ("/text/nfc/many-marks", test_many_marks);
  return g_test_run ();
}
