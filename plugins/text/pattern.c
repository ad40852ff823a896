/* pattern.c: one regular expression that cuts text into pieces */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"
#include <pcre2.h>
#include "hr-error.h"
#include "pattern-translate.h"
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
  const guint8 *from;      /* where to look for the next match */
  const guint8 *last_end;  /* of the last match; NULL: none yet */
  const guint8 *match_end; /* behind @at: a match begins at @at and ends here */
};

/* @text is PCRE2's; @shown is what the user knows */
static gboolean
compile (HrPattern *pattern, const char *text, gboolean literal, const char *shown, GError **error)
{
  pcre2_compile_context *context = pcre2_compile_context_create (NULL);
  int code;
  PCRE2_SIZE at;

  pcre2_set_newline (context, PCRE2_NEWLINE_LF);
  pattern->code = pcre2_compile (
      (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
      PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE), &code, &at, context);
  pcre2_compile_context_free (context);
  if (pattern->code == NULL) {
    PCRE2_UCHAR why[256];

    pcre2_get_error_message (code, why, sizeof (why));
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the pattern \"%s\" is wrong: %s", shown, (const char *)why);
    return FALSE;
  }
  pcre2_jit_compile (pattern->code, PCRE2_JIT_COMPLETE); /* without it, slower */
  return TRUE;
}

HrPattern *
hr_pattern_new (const char *text, gboolean literal, GError **error)
{
  g_autoptr (HrPattern) pattern = g_new0 (HrPattern, 1);
  g_autofree char *translated = NULL;

  pattern->is_scanner = !literal && hr_scanner_init (&pattern->scanner, text);
  if (pattern->is_scanner)
    return g_steal_pointer (&pattern);
  if (!literal && (translated = hr_pattern_translate (text, error)) == NULL)
    return NULL;
  return compile (pattern, literal ? text : translated, literal, text, error)
             ? g_steal_pointer (&pattern)
             : NULL;
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
  matcher->text = matcher->at = matcher->from = text;
  matcher->end = text + size;
  matcher->last_end = matcher->match_end = NULL;
}

/* The next match, as the reference counts them: from the end of the last one, and an empty one
 * there is none. FALSE with *@begin %NULL: there is none. The text was checked to be UTF-8 before.
 */
static gboolean
find (HrMatcher *matcher, const guint8 **begin, const guint8 **end, GError **error)
{
  gsize size = matcher->end - matcher->text;

  *begin = NULL;
  while (matcher->from < matcher->end) {
    int n = pcre2_match (matcher->pattern->code, matcher->text, size, matcher->from - matcher->text,
                         PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer (matcher->data);

    if (n == PCRE2_ERROR_NOMATCH)
      return TRUE;
    if (n < 0) {
      PCRE2_UCHAR why[256];

      pcre2_get_error_message (n, why, sizeof (why));
      hr_set_data_error (error, HR_DATA_ERROR_OTHER,
                         "the tokenizer's pattern cannot cut this text: %s", (const char *)why);
      return FALSE;
    }
    *begin = matcher->text + found[0];
    *end = matcher->text + found[1];
    if (*begin < *end || *end != matcher->last_end) {
      matcher->from = matcher->last_end = *end;
      return TRUE;
    }
    *begin = NULL;
    matcher->from = (const guint8 *)g_utf8_next_char ((const char *)matcher->from);
  }
  return TRUE;
}

/* up to where the next match begins; that it matches is the piece after this one */
static const guint8 *
cut_before (HrMatcher *matcher, const guint8 *begin, const guint8 *behind)
{
  if (begin == matcher->at)
    return behind;
  matcher->match_end = behind;
  return begin;
}

gboolean
hr_matcher_next (HrMatcher *matcher, const guint8 **end, GError **error)
{
  const guint8 *begin, *behind, *next = matcher->at;

  *end = NULL;
  if (matcher->at >= matcher->end)
    return TRUE;
  if (matcher->pattern->is_scanner) {
    *end = matcher->at = hr_scanner_next (&matcher->pattern->scanner, matcher->at, matcher->end);
    return TRUE;
  }
  if (matcher->match_end > matcher->at)
    next = matcher->match_end;
  while (next == matcher->at) { /* an empty match cuts what is in front of it, and is no piece */
    if (!find (matcher, &begin, &behind, error))
      return FALSE;
    next = begin != NULL ? cut_before (matcher, begin, behind) : matcher->end;
  }
  *end = matcher->at = next;
  return TRUE;
}
