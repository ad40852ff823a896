/* pattern-translate.h: a pattern as Oniguruma reads it, written so that PCRE2 reads the same */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * hr_pattern_translate:
 * @text: the pattern, UTF-8, in the syntax that Hugging Face's tokenizers use: Oniguruma's for Ruby
 * @error: #HR_RESOURCE_ERROR: what in it is not covered, by name, and where
 *
 * Categories of Unicode 16 are put in place of PCRE2's own where those differ. What the two read
 * differently, or what has data of its own (\w, \b, scripts but Han), is refused.
 *
 * Returns: (transfer full): for PCRE2 with UTF, UCP and MULTILINE, newlines being LF
 */
char *hr_pattern_translate (const char *text, GError **error);

G_END_DECLS
