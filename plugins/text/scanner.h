/* scanner.h: cuts text into the pieces that are tokenised apart, by hand for well-known patterns */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrScanner:
 * @max_digits: numbers in one piece: 1 for Qwen, 3 for Llama 3
 * @joins_marks: [\p{L}\p{M}]+ for \p{L}+, and no \p{M} in the run of other characters: Qwen3.5
 *
 * The pattern, with N for @max_digits:
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,N}|
 * ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ with Unicode 16's L and N and White_Space for
 * \s.
 */
typedef struct {
  guint max_digits;
  gboolean joins_marks;
} HrScanner;

/* FALSE: it is no pattern that the scanner knows */
gboolean hr_scanner_init (HrScanner *scanner, const char *pattern);

/* (not nullable): behind the piece that begins at @p, which is before @end. UTF-8; other bytes
 * make pieces, too */
const guint8 *hr_scanner_next (const HrScanner *scanner, const guint8 *p, const guint8 *end);

G_END_DECLS
