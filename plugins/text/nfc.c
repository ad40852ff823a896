/* nfc.c: Unicode's normal form C
 *
 * Text that may not be in form C is worked on in stretches: an unsafe character, what stands next
 * to it, back to the starter before and forth to the next safe character. GLib knows what a
 * character decomposes to; g_utf8_normalize() itself is not used, for it sorts marks in quadratic
 * time and stops at NUL. */
#include "nfc.h"
#include <string.h>
#include "unicode-class.h"

#define MOST_PARTS 18 /* of one character: G_UNICHAR_MAX_DECOMPOSITION_LENGTH */
#define FEW 16        /* marks that are sorted in place */

gboolean
hr_nfc_is_certain (const guint8 *text, gsize size)
{
  const guint8 *p = text, *end = text + size;
  guint length;

  while (p < end) {
    guint64 eight;

    if (end - p >= 8) {
      memcpy (&eight, p, 8);
      if ((eight & G_GUINT64_CONSTANT (0x8080808080808080)) == 0) {
        p += 8;
        continue;
      }
    }
    if (*p < 0xCC) { /* below U+0300 nothing is unsafe */
      p++;
      continue;
    }
    if (hr_utf8_class (p, end, &length) & HR_CLASS_UNSAFE)
      return FALSE;
    p += length;
  }
  return TRUE;
}

typedef struct {
  gunichar c;
  guint class;
  guint at;
} Mark;

static gint
compare_marks (gconstpointer a, gconstpointer b, gpointer unused G_GNUC_UNUSED)
{
  const Mark *one = a, *other = b;

  return one->class != other->class ? (one->class < other->class ? -1 : 1)
                                    : (one->at < other->at ? -1 : 1);
}

/* marks of one starter by their class; those of the same class stay in order */
static void
sort_marks (Mark *marks, guint n)
{
  if (n > FEW) {
    for (guint i = 0; i < n; i++)
      marks[i].at = i;
    g_qsort_with_data (marks, (gint)n, sizeof (Mark), compare_marks, NULL);
    return;
  }
  for (guint i = 1; i < n; i++)
    for (guint k = i; k > 0 && marks[k - 1].class > marks[k].class; k--) {
      Mark mark = marks[k];

      marks[k] = marks[k - 1];
      marks[k - 1] = mark;
    }
}

static void
sort_all (GArray *marks)
{
  guint first = 0;

  for (guint i = 0; i <= marks->len; i++)
    if (i == marks->len || g_array_index (marks, Mark, i).class == 0) {
      sort_marks (&g_array_index (marks, Mark, first), i - first);
      first = i + 1;
    }
}

static void
decompose (GArray *marks, const guint8 *p, const guint8 *end)
{
  while (p < end) {
    gunichar parts[MOST_PARTS];
    gsize n = g_unichar_fully_decompose (g_utf8_get_char ((const char *)p), FALSE, parts,
                                         G_N_ELEMENTS (parts));

    for (gsize i = 0; i < n; i++) {
      Mark mark = { parts[i], (guint)g_unichar_combining_class (parts[i]), 0 };

      g_array_append_val (marks, mark);
    }
    p = (const guint8 *)g_utf8_next_char ((const char *)p);
  }
}

/* puts together what goes together, in place */
static void
compose (GArray *marks)
{
  guint n = 0, starter = G_MAXUINT, last = 0;

  for (guint i = 0; i < marks->len; i++) {
    Mark mark = g_array_index (marks, Mark, i);
    gunichar sum;

    if (starter != G_MAXUINT && (n == starter + 1 || (last < mark.class))
        && g_unichar_compose (g_array_index (marks, Mark, starter).c, mark.c, &sum)) {
      g_array_index (marks, Mark, starter).c = sum;
      continue;
    }
    if (mark.class == 0)
      starter = n;
    last = mark.class;
    g_array_index (marks, Mark, n++) = mark;
  }
  g_array_set_size (marks, n);
}

static void
append_stretch (GByteArray *into, GArray *marks, const guint8 *p, const guint8 *end)
{
  g_array_set_size (marks, 0);
  decompose (marks, p, end);
  sort_all (marks);
  compose (marks);
  for (guint i = 0; i < marks->len; i++) {
    char utf8[6];
    gint length = g_unichar_to_utf8 (g_array_index (marks, Mark, i).c, utf8);

    g_byte_array_append (into, (const guint8 *)utf8, (guint)length);
  }
}

static guint8
flags_at (const guint8 *p, const guint8 *end, guint *length)
{
  *length = 1;
  if (*p >= 0x80)
    return hr_utf8_class (p, end, length);
  return *p == 0 ? HR_CLASS_BARRIER : 0;
}

void
hr_nfc_append (GByteArray *into, const guint8 *text, gsize size)
{
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (Mark));
  const guint8 *p = text, *end = text + size, *safe = text, *starter = NULL;
  guint length = 0;

  while (p < end) {
    guint8 flags = flags_at (p, end, &length);
    const guint8 *begin;

    if (!(flags & HR_CLASS_UNSAFE)) {
      starter = flags & HR_CLASS_BARRIER ? NULL : p;
      p += length;
      continue;
    }
    begin = starter != NULL ? starter : p;
    g_byte_array_append (into, safe, (guint)(begin - safe));
    while (p < end && (flags_at (p, end, &length) & HR_CLASS_UNSAFE))
      p += length;
    append_stretch (into, marks, begin, p);
    safe = p;
    starter = NULL;
  }
  g_byte_array_append (into, safe, (guint)(end - safe));
}
