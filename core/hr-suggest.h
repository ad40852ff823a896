/* hr-suggest.h: "did you mean": the nearest of some words. Private to the core. */
#pragma once
#include <glib.h>

/* letters to insert, delete, replace or swap with their neighbour to make @b of @a */
guint hr_edit_distance (const char *a, const char *b);

/* The nearest of @n words, if it is near enough to be what was meant: at most a third of the
 * letters differ, or one word holds the other. (transfer none) (nullable) */
const char *hr_suggest (const char *word, const char *const *words, guint n);
