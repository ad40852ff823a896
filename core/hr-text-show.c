/* hr-text-show.c: the part of a text that an error is about, and a caret below it */
#include "hr-text.h"
#include "hr-secrets.h"
#include <string.h>

#define MAX_COLUMNS 90
#define RIGHT_COLUMNS 24 /* what is shown behind the caret, if something has to be cut */

/* a character as it is shown: in a terminal some take two columns and some none */
typedef struct {
  const char *bytes;
  guint8 length, columns;
  gboolean blank;
} Glyph;

static GArray *
read_glyphs (const char *start, const char *end, const char *from, const char *to, guint *first,
             guint *last)
{
  GArray *glyphs = g_array_new (FALSE, FALSE, sizeof (Glyph));
  gboolean begun = FALSE;

  *first = *last = 0;
  for (const char *p = start; p < end;) {
    gunichar c = g_utf8_get_char_validated (p, end - p);
    Glyph glyph = { p, 1, 1, FALSE };

    if (!begun && p >= from) {
      *first = glyphs->len;
      begun = TRUE;
    }
    if (c == (gunichar)-1 || c == (gunichar)-2) {
      glyph.bytes = "?";
      p++;
    } else {
      const char *next = g_utf8_next_char (p);

      if (g_unichar_iscntrl (c)) {
        glyph.blank = c == '\t' || c == '\r';
        glyph.bytes = glyph.blank ? " " : "?";
      } else {
        glyph.length = (guint8)(next - p);
        glyph.columns = g_unichar_iswide (c) ? 2 : g_unichar_iszerowidth (c) ? 0 : 1;
        glyph.blank = c == ' ';
      }
      p = next;
    }
    g_array_append_val (glyphs, glyph);
    if (p <= to)
      *last = glyphs->len;
  }
  if (!begun)
    *first = glyphs->len;
  *last = MAX (*last, *first);
  return glyphs;
}

static guint
columns (const GArray *glyphs, guint from, guint to)
{
  guint sum = 0;

  for (; from < to; from++)
    sum += g_array_index (glyphs, Glyph, from).columns;
  return sum;
}

/* the end counts as blank: no word begins there */
static gboolean
is_blank (const GArray *glyphs, guint index)
{
  return index >= glyphs->len || g_array_index (glyphs, Glyph, index).blank;
}

/* the first "!" between words, else the first word, that begins at or behind @from */
static guint
cut_left (const GArray *glyphs, guint from, guint first)
{
  guint word = first;

  for (guint i = first; i > from; i--) {
    if (!is_blank (glyphs, i) && is_blank (glyphs, i - 1))
      word = i;
  }
  for (guint i = from + 1; i + 1 < first; i++)
    if (*g_array_index (glyphs, Glyph, i).bytes == '!' && is_blank (glyphs, i - 1)
        && is_blank (glyphs, i + 1))
      return i;
  return word;
}

/* Which glyphs are shown: [*left, *right) */
static void
choose_window (const GArray *glyphs, guint first, guint last, guint *left, guint *right)
{
  guint room = MAX_COLUMNS;
  guint shown_to;

  *left = 0;
  *right = glyphs->len;
  if (columns (glyphs, 0, glyphs->len) <= MAX_COLUMNS)
    return;
  /* the word itself, or as much of it as half the width holds, and a little behind it */
  for (shown_to = first;
       shown_to < MAX (last, first) && columns (glyphs, first, shown_to) < MAX_COLUMNS / 2;)
    shown_to++;
  *right = shown_to;
  while (*right < glyphs->len && columns (glyphs, shown_to, *right) < RIGHT_COLUMNS)
    (*right)++;
  if (columns (glyphs, 0, *right) + 2 <= MAX_COLUMNS) {
    while (columns (glyphs, 0, *right) + 2 < MAX_COLUMNS)
      (*right)++;
  } else {
    room -= 2 + (*right < glyphs->len ? 2 : 0);
    for (*left = first; *left > 0 && columns (glyphs, *left - 1, *right) <= room;)
      (*left)--;
    *left = cut_left (glyphs, *left, first);
  }
  /* no half words at the end, if there is a whole one */
  if (*right < glyphs->len)
    for (guint i = *right; i > shown_to; i--)
      if (is_blank (glyphs, i)) {
        *right = i;
        break;
      }
}

static void
append (GString *to, const GArray *glyphs, guint from, guint end)
{
  for (; from < end; from++) {
    const Glyph *glyph = &g_array_index (glyphs, Glyph, from);

    g_string_append_len (to, glyph->bytes, glyph->length);
  }
}

char *
hr_text_show (const char *written, gsize offset, gsize length)
{
  g_autofree char *text = hr_secrets_hide (written, HR_SECRETS_IN_PLACE);
  gsize all = strlen (text);
  const char *at = text + MIN (offset, all);
  const char *start = at, *end = at;
  g_autoptr (GArray) glyphs = NULL;
  GString *shown = g_string_new ("  ");
  guint first, last, left, right, indent, line = 1;

  while (start > text && start[-1] != '\n')
    start--;
  end += strcspn (at, "\n");
  for (const char *p = text; p < start; p++)
    line += *p == '\n';
  glyphs = read_glyphs (start, end, at, MIN (at + length, end), &first, &last);
  while (glyphs->len > last && is_blank (glyphs, glyphs->len - 1))
    g_array_set_size (glyphs, glyphs->len - 1);
  choose_window (glyphs, first, last, &left, &right);
  if (strchr (text, '\n') != NULL && text[strcspn (text, "\n") + 1] != '\0')
    g_string_append_printf (shown, "line %u: ", line);
  indent = (guint)shown->len;
  if (left > 0) {
    g_string_append (shown, "… ");
    indent += 2;
  }
  append (shown, glyphs, left, right);
  if (right < glyphs->len)
    g_string_append (shown, " …");
  g_string_append_c (shown, '\n');
  indent += columns (glyphs, left, first);
  g_string_append_printf (shown, "%*s^", (int)indent, "");
  for (guint i = 1, n = columns (glyphs, first, MIN (last, right)); i < n; i++)
    g_string_append_c (shown, '~');
  return g_string_free (shown, FALSE);
}
