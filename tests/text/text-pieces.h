/* text-pieces.h: what a pattern cuts a text into */
#pragma once
#include "pattern.h"

/* the pieces, each with U+0001 behind it; (transfer full) */
char *text_pieces_cut (const HrPattern *pattern, const char *text, gsize size);
/* @expected: "a|b|c" */
void text_pieces_assert (const HrPattern *pattern, const char *text, const char *expected);
