/* pattern.h: one regular expression that cuts text into pieces */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* Read-only once it is made; what matching needs besides belongs to a worker. */
typedef struct _HrPattern HrPattern;
typedef struct _HrMatcher HrMatcher;

/**
 * hr_pattern_new:
 * @text: the pattern
 * @literal: it is no expression, but stands for itself
 * @error: #HR_RESOURCE_ERROR: what is wrong with it, and where
 *
 * Well-known ones are the scanner's, all others PCRE2's, compiled. Both cut where the pattern
 * matches, and what lies between two matches is a piece as well.
 */
HrPattern *hr_pattern_new (const char *text, gboolean literal, GError **error);
void hr_pattern_free (HrPattern *pattern);
/* TRUE: PCRE2 is not used */
gboolean hr_pattern_is_scanner (const HrPattern *pattern);

HrMatcher *hr_matcher_new (const HrPattern *pattern);
void hr_matcher_free (HrMatcher *matcher);

/**
 * hr_matcher_begin:
 *
 * Sets the text, UTF-8, that hr_matcher_next() cuts.
 */
void hr_matcher_begin (HrMatcher *matcher, const guint8 *text, gsize size);

/* behind the next piece; %NULL behind the last one. FALSE with HR_DATA_ERROR_OTHER if matching
 * takes more than the limits of PCRE2 allow */
gboolean hr_matcher_next (HrMatcher *matcher, const guint8 **end, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrPattern, hr_pattern_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrMatcher, hr_matcher_free)

G_END_DECLS
