/* unicode-category.c: the sets of code points that patterns name */
#include "unicode-category.h"
#include <string.h>
#include "unicode-category-table.h"

#define END 0x110000u
#define FIRST_SURROGATE 0xD800u
#define LAST_SURROGATE 0xDFFFu

/* in the order of the table's numbers */
static const char category_names[][3] = { "lu", "ll", "lt", "lm", "lo", "mn", "mc", "me",
                                          "nd", "nl", "no", "pc", "pd", "ps", "pe", "pi",
                                          "pf", "po", "sm", "sc", "sk", "so", "zs", "zl",
                                          "zp", "cc", "cf", "cs", "co", "cn" };

static const struct {
  const char *name;
  const char *category; /* one or two letters */
} long_names[] = { { "letter", "l" },
                   { "uppercaseletter", "lu" },
                   { "lowercaseletter", "ll" },
                   { "titlecaseletter", "lt" },
                   { "modifierletter", "lm" },
                   { "otherletter", "lo" },
                   { "mark", "m" },
                   { "nonspacingmark", "mn" },
                   { "spacingmark", "mc" },
                   { "enclosingmark", "me" },
                   { "number", "n" },
                   { "decimalnumber", "nd" },
                   { "letternumber", "nl" },
                   { "othernumber", "no" },
                   { "punctuation", "p" },
                   { "symbol", "s" },
                   { "separator", "z" },
                   { "other", "c" } };

/* of all categories that begin with @name */
static guint32
find_categories (const char *name)
{
  guint32 bits = 0;

  for (guint i = 0; i < G_N_ELEMENTS (category_names); i++)
    if (g_str_has_prefix (category_names[i], name))
      bits |= 1u << i;
  return bits;
}

gboolean
hr_unicode_set_find (const char *name, gsize length, HrUnicodeSet *set)
{
  char plain[32];
  gsize n = 0;

  for (gsize i = 0; i < length; i++)
    if (strchr (" -_", name[i]) == NULL) {
      if (n + 1 == sizeof (plain))
        return FALSE;
      plain[n++] = g_ascii_tolower (name[i]);
    }
  plain[n] = '\0';
  for (guint i = 0; i < G_N_ELEMENTS (long_names); i++)
    if (g_str_equal (plain, long_names[i].name))
      n = g_strlcpy (plain, long_names[i].category, sizeof (plain));
  *set = (HrUnicodeSet){ "", n == 1 || n == 2 ? find_categories (plain) : 0,
                         g_str_equal (plain, "han") };
  if (!set->is_han && set->categories == 0)
    return FALSE;
  g_strlcpy (set->name, plain, sizeof (set->name));
  set->name[0] = g_ascii_toupper (set->name[0]);
  return TRUE;
}

/* @first is not before what is there */
static void
append (GArray *ranges, guint32 first, guint32 last)
{
  HrCodeRange range = { first, last };

  if (ranges->len > 0 && g_array_index (ranges, HrCodeRange, ranges->len - 1).last + 1 == first)
    g_array_index (ranges, HrCodeRange, ranges->len - 1).last = last;
  else
    g_array_append_val (ranges, range);
}

void
hr_unicode_set_get_ranges (const HrUnicodeSet *set, GArray *ranges)
{
  for (guint i = 0; set->is_han && i < G_N_ELEMENTS (han_ranges); i++)
    append (ranges, han_ranges[i][0], han_ranges[i][1]);
  for (guint i = 0; !set->is_han && i < G_N_ELEMENTS (category_runs); i++) {
    guint32 first = category_runs[i] >> 5;
    guint32 behind = i + 1 < G_N_ELEMENTS (category_runs) ? category_runs[i + 1] >> 5 : END;

    if ((set->categories & (1u << (category_runs[i] & 31))) != 0 && first != FIRST_SURROGATE)
      append (ranges, first, behind - 1);
  }
}

GArray *
hr_code_ranges_subtract (const GArray *from, const GArray *without)
{
  GArray *left = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));
  guint k = 0;

  for (guint i = 0; i < from->len; i++) {
    HrCodeRange range = g_array_index (from, HrCodeRange, i);

    while (k < without->len && g_array_index (without, HrCodeRange, k).last < range.first)
      k++;
    for (guint j = k; j < without->len; j++) {
      const HrCodeRange *gone = &g_array_index (without, HrCodeRange, j);

      if (gone->first > range.last)
        break;
      if (gone->first > range.first)
        append (left, range.first, gone->first - 1);
      range.first = gone->last + 1;
    }
    if (range.first <= range.last)
      append (left, range.first, range.last);
  }
  return left;
}

GArray *
hr_code_ranges_new_all (void)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (HrCodeRange));

  append (all, 0, FIRST_SURROGATE - 1);
  append (all, LAST_SURROGATE + 1, END - 1);
  return all;
}
