/* fuzz-pattern.c: a tokenizer's pattern from a stranger, and a text for it; no byte may get lost */
#include <string.h>
#include "hr-error.h"
#include "pattern.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

#define MOST_TEXT 64 /* patterns that try everything must come to an end */

static void
cut (const HrPattern *pattern, const guint8 *text, gsize size)
{
  g_autoptr (HrMatcher) matcher = hr_matcher_new (pattern);
  g_autoptr (GError) error = NULL;
  const guint8 *p = text, *next;

  hr_matcher_begin (matcher, text, size);
  while (hr_matcher_next (matcher, &next, &error) && next != NULL) {
    g_assert_true (next > p && next <= text + size);
    p = next;
  }
  if (error == NULL)
    g_assert_true (p == text + size);
  else
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  gsize length = strnlen ((const char *)data, size);
  g_autofree char *text = g_strndup ((const char *)data, length);
  g_autofree guint8 *rest = NULL;
  g_autoptr (HrPattern) pattern = NULL;
  g_autoptr (GError) error = NULL;

  /* the pattern, NUL, the text; both are UTF-8 where they come from */
  if (length == size || !g_utf8_validate (text, -1, NULL))
    return 0;
  size = MIN (size - length - 1, MOST_TEXT);
  rest = g_memdup2 (data + length + 1, size);
  if (!g_utf8_validate ((const char *)rest, (gssize)size, NULL))
    return 0;
  pattern = hr_pattern_new (text, FALSE, &error);
  if (pattern != NULL)
    cut (pattern, rest, size);
  else
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  return 0;
}
