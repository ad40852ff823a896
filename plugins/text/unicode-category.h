/* unicode-category.h: the sets of code points that patterns name, as Unicode 16 has them */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* code points from @first to @last */
typedef struct {
  guint32 first;
  guint32 last;
} HrCodeRange;

/**
 * HrUnicodeSet:
 * @name: its short name: "L", "Lu", "Han"
 * @categories: general categories, a bit each
 * @is_han: the script Han instead
 */
typedef struct {
  char name[4];
  guint32 categories;
  gboolean is_han;
} HrUnicodeSet;

/**
 * hr_unicode_set_find:
 * @name: "L", "Lu", "Letter", "Han"; case, spaces, "-" and "_" do not count
 * @length: its bytes
 *
 * Returns: %FALSE for other names
 */
gboolean hr_unicode_set_find (const char *name, gsize length, HrUnicodeSet *set);

/* appends the set's ranges, in order, with a gap between any two; surrogates are never in it */
void hr_unicode_set_get_ranges (const HrUnicodeSet *set, GArray *ranges);

/* ---- sorted arrays of HrCodeRange with gaps between them ---- */

/* what is in @from and not in @without; (transfer full) */
GArray *hr_code_ranges_subtract (const GArray *from, const GArray *without);
/* all code points but surrogates; (transfer full) */
GArray *hr_code_ranges_new_all (void);

G_END_DECLS
