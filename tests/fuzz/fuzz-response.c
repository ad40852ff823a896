/* fuzz-response.c: any lines as the head of an HTTP answer; the first byte is the question */
#include "hr-error.h"
#include "http-response.h"
#include "retry.h"
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_answer (const HrHttpResponse *response, guint choice)
{
  HrHttpQuestion question = { .first = choice & 1 ? 10 : -1,
                              .last = choice & 1 ? 19 : -1,
                              .size = choice & 2 ? 100 : -1,
                              .etag = choice & 4 ? "\"a\"" : NULL,
                              .close_is_end = (choice & 8) != 0 };
  g_autoptr (GError) error = NULL;
  gint64 length = hr_http_response_body_length (response);

  g_assert_cmpint (length, >=, -1);
  if (!hr_http_response_check (response, &question, &error)) {
    g_assert_nonnull (error);
    g_assert_true (error->domain == HR_RESOURCE_ERROR);
    return;
  }
  g_assert_no_error (error);
  g_assert_false (response->contradicts);
  /* what is accepted for a range is no more than the range */
  if (question.first >= 0 && response->range_first >= 0) {
    g_assert_cmpint (response->range_first, ==, question.first);
    g_assert_cmpint (response->range_last, <=, question.last);
    g_assert_cmpint (length, <=, question.last - question.first + 1);
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const char *text = (const char *)data + 1, *end = (const char *)data + size;
  HrHttpResponse response;
  gint64 wait;

  if (size == 0)
    return 0;
  hr_http_response_init (&response);
  while (text < end) {
    const char *newline = memchr (text, '\n', end - text);
    gsize length = newline ? (gsize)(newline + 1 - text) : (gsize)(end - text);

    hr_http_response_line (&response, text, length);
    text += length;
  }
  check_answer (&response, data[0]);
  wait = hr_retry_after (response.retry_after, 1700000000);
  g_assert_cmpint (wait, >=, 0);
  g_assert_cmpint (hr_retry_delay (&HR_RETRY_TIMES, HR_RETRY_SOON, 3, wait, 0.5), >=, 0);
  if (response.date)
    g_assert_cmpint (hr_http_date (response.date), >=, -1);
  hr_http_response_clear (&response);
  return 0;
}
