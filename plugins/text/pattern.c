/* pattern.c: one regular expression that cuts text into pieces */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"
#include <pcre2.h>
#include "hr-error.h"
#include "scanner.h"

#define STACK_START (32 * 1024)
#define STACK_MOST (8 * 1024 * 1024)

struct _HrPattern {
  gboolean is_scanner;
  HrScanner scanner;
  pcre2_code *code;
};

struct _HrMatcher {
  const HrPattern *pattern;
  pcre2_match_data *data;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
  const guint8 *text;
  const guint8 *at;
  const guint8 *end;
  const guint8 *match_end; /* a match begins at @at and ends here; NULL: it has to be looked for */
};

HrPattern *
hr_pattern_new (const char *text, gboolean literal, GError **error)
{
  g_autoptr (HrPattern) pattern = g_new0 (HrPattern, 1);
  int code;
  PCRE2_SIZE at;

  pattern->is_scanner = !literal && hr_scanner_init (&pattern->scanner, text);
  if (pattern->is_scanner)
    return g_steal_pointer (&pattern);
  pattern->code =
      pcre2_compile ((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                     PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP), &code, &at, NULL);
  if (pattern->code == NULL) {
    PCRE2_UCHAR why[256];

    pcre2_get_error_message (code, why, sizeof (why));
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the pattern \"%s\" is wrong at offset %" G_GSIZE_FORMAT ": %s", text, (gsize)at,
                 (const char *)why);
    return NULL;
  }
  pcre2_jit_compile (pattern->code, PCRE2_JIT_COMPLETE); /* without it, slower */
  return g_steal_pointer (&pattern);
}

void
hr_pattern_free (HrPattern *pattern)
{
  if (pattern == NULL)
    return;
  pcre2_code_free (pattern->code);
  g_free (pattern);
}

gboolean
hr_pattern_is_scanner (const HrPattern *pattern)
{
  return pattern->is_scanner;
}

HrMatcher *
hr_matcher_new (const HrPattern *pattern)
{
  HrMatcher *matcher = g_new0 (HrMatcher, 1);

  matcher->pattern = pattern;
  if (pattern->is_scanner)
    return matcher;
  matcher->data = pcre2_match_data_create (1, NULL);
  matcher->context = pcre2_match_context_create (NULL);
  matcher->stack = pcre2_jit_stack_create (STACK_START, STACK_MOST, NULL);
  pcre2_jit_stack_assign (matcher->context, NULL, matcher->stack);
  return matcher;
}

void
hr_matcher_free (HrMatcher *matcher)
{
  if (matcher == NULL)
    return;
  pcre2_match_data_free (matcher->data);
  pcre2_match_context_free (matcher->context);
  pcre2_jit_stack_free (matcher->stack);
  g_free (matcher);
}

void
hr_matcher_begin (HrMatcher *matcher, const guint8 *text, gsize size)
{
  matcher->text = matcher->at = text;
  matcher->end = text + size;
  matcher->match_end = NULL;
}

/* Where the next match begins and ends; an empty one cuts nothing. The text was checked to be
 * UTF-8 before. */
static gboolean
find (HrMatcher *matcher, const guint8 **begin, const guint8 **end, GError **error)
{
  gsize from = matcher->at - matcher->text, size = matcher->end - matcher->text;

  while (from < size) {
    int n = pcre2_match (matcher->pattern->code, matcher->text, size, from, PCRE2_NO_UTF_CHECK,
                         matcher->data, matcher->context);
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer (matcher->data);

    if (n == PCRE2_ERROR_NOMATCH)
      break;
    if (n < 0) {
      PCRE2_UCHAR why[256];

      pcre2_get_error_message (n, why, sizeof (why));
      hr_set_data_error (error, HR_DATA_ERROR_OTHER,
                         "the tokenizer's pattern cannot cut this text: %s", (const char *)why);
      return FALSE;
    }
    if (found[1] > found[0] && found[0] >= from) {
      *begin = matcher->text + found[0];
      *end = matcher->text + found[1];
      return TRUE;
    }
    from = MAX (found[1], from);
    from = (const guint8 *)g_utf8_next_char ((const char *)matcher->text + from) - matcher->text;
  }
  *begin = *end = matcher->end;
  return TRUE;
}

gboolean
hr_matcher_next (HrMatcher *matcher, const guint8 **end, GError **error)
{
  const guint8 *begin, *behind;

  if (matcher->at >= matcher->end) {
    *end = NULL;
    return TRUE;
  }
  if (matcher->pattern->is_scanner) {
    *end = matcher->at = hr_scanner_next (&matcher->pattern->scanner, matcher->at, matcher->end);
    return TRUE;
  }
  if (matcher->match_end != NULL) {
    *end = matcher->at = matcher->match_end;
    matcher->match_end = NULL;
    return TRUE;
  }
  if (!find (matcher, &begin, &behind, error))
    return FALSE;
  if (begin == matcher->at) {
    *end = matcher->at = behind;
    return TRUE;
  }
  if (behind > begin)
    matcher->match_end = behind;
  *end = matcher->at = begin;
  return TRUE;
}
