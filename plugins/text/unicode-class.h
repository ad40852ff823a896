/* unicode-class.h: what the tokeniser needs to know of a code point: one byte, Unicode 16 */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrClass:
 * @HR_CLASS_OTHER: none of the others
 * @HR_CLASS_LETTER: general category L
 * @HR_CLASS_NUMBER: general category N
 * @HR_CLASS_SPACE: White_Space, but for the next
 * @HR_CLASS_NEWLINE: U+000A and U+000D
 * @HR_CLASS_MARK: general category M
 *
 * Exclusive; the low bits of hr_unicode_class().
 */
typedef enum {
  HR_CLASS_OTHER,
  HR_CLASS_LETTER,
  HR_CLASS_NUMBER,
  HR_CLASS_SPACE,
  HR_CLASS_NEWLINE,
  HR_CLASS_MARK,
  HR_CLASS_MASK = 7
} HrClass;

/**
 * HrClassFlags:
 * @HR_CLASS_UNSAFE: a text with it may not be NFC. Without: a starter, left as it is by NFC, that
 *   never melts with what stands before it
 * @HR_CLASS_BARRIER: not assigned in Unicode 9, or NUL: the normaliser takes it for a starter that
 *   melts with nothing
 */
typedef enum { HR_CLASS_UNSAFE = 8, HR_CLASS_BARRIER = 16 } HrClassFlags;

/* class and flags of any number: 0 for what is no code point */
guint8 hr_unicode_class (guint32 c);

/**
 * hr_utf8_class:
 * @p: a byte that is not ASCII
 * @end: behind the text
 * @length: (out): its bytes; 1 where it is no UTF-8
 *
 * Reads nothing behind @end. Returns: class and flags of the character at @p
 */
guint8 hr_utf8_class (const guint8 *p, const guint8 *end, guint *length);

G_END_DECLS
