/* unicode-class.c: what the tokeniser needs to know of a code point */
#include "unicode-class.h"
#include "unicode-class-table.h"

#define BLOCK 128

static guint8
look_up (guint32 c)
{
  return c < 0x110000 ? class_blocks[class_index[c / BLOCK]][c % BLOCK] : 0;
}

guint8
hr_unicode_class (guint32 c)
{
  return look_up (c);
}

guint8
hr_utf8_class (const guint8 *p, const guint8 *end, guint *length)
{
  gsize left = end - p;

  *length = 1;
  if (p[0] < 0xC2)
    return 0;
  if (p[0] < 0xE0 && left >= 2) {
    *length = 2;
    return look_up ((p[0] & 31u) << 6 | (p[1] & 63u));
  }
  if (p[0] >= 0xE0 && p[0] < 0xF0 && left >= 3) {
    *length = 3;
    return look_up ((p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u));
  }
  if (p[0] < 0xF5 && left >= 4) {
    *length = 4;
    return look_up ((p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u));
  }
  return 0;
}
