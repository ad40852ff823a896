/* glob.h: names with * ? [ ], the same for files and for keys */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* does it hold any of * ? [ */
gboolean hr_glob_is_pattern (const char *text);
/* length of the part up to the last "/" before the first of them: what all matches begin with */
gsize hr_glob_folder_length (const char *pattern);

/**
 * hr_glob_match:
 * @pattern: `*` stands for any characters but "/", `**` for any at all, `?` for one character but
 *   "/", `[a-z]` and `[!a-z]` for one of or none of a set. To write one of these as it is, put it
 *   into a set: `[*]`
 * @name: UTF-8, or any bytes, which then count one by one
 *
 * The whole name has to match. A dot in front is like any other character.
 */
gboolean hr_glob_match (const char *pattern, const char *name);

G_END_DECLS
