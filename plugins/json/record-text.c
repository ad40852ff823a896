/* record-text.c: placeholders in texts, and the white space around them */
#include "record-private.h"
#include <string.h>

/* both placeholders are of this length */
#define PLACEHOLDER_LENGTH 7

static HrPiece
placeholder_at (const char *p, const char *end)
{
  if (end - p >= PLACEHOLDER_LENGTH) {
    if (memcmp (p, "<image>", PLACEHOLDER_LENGTH) == 0)
      return HR_PIECE_IMAGE;
    if (memcmp (p, "<video>", PLACEHOLDER_LENGTH) == 0)
      return HR_PIECE_VIDEO;
  }
  return HR_PIECE_TEXT;
}

gboolean
hr_text_next_piece (const char **rest, gsize *length, HrPiece *kind, const char **piece,
                    gsize *piece_length)
{
  const char *p = *rest, *end = p + *length;

  if (p == end)
    return FALSE;
  *kind = placeholder_at (p, end);
  *piece = p;
  if (*kind != HR_PIECE_TEXT) {
    p += PLACEHOLDER_LENGTH;
  } else {
    while (p < end && placeholder_at (p, end) == HR_PIECE_TEXT) {
      p = memchr (p + 1, '<', end - p - 1);
      if (p == NULL)
        p = end;
    }
  }
  *piece_length = p - *piece;
  *rest = p;
  *length = end - p;
  return TRUE;
}

/* Python's str.isspace(): the bidirectional types WS, B, S and the category Zs */
static gboolean
is_space (gunichar c)
{
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0
         || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f
         || c == 0x205f || c == 0x3000;
}

void
hr_text_strip (const char **text, gsize *length)
{
  const char *p = *text, *end = p + *length;

  while (p < end && is_space (g_utf8_get_char (p)))
    p = g_utf8_next_char (p);
  while (end > p) {
    const char *last = g_utf8_prev_char (end);

    if (!is_space (g_utf8_get_char (last)))
      break;
    end = last;
  }
  *text = p;
  *length = end - p;
}
