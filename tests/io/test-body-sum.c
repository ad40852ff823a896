/* test-body-sum.c: which checksum of those that a server gives is checked, and how */
#include "body-sum.h"
#include "hr-error.h"
#include <string.h>

/* of "123456789" */
static const char *const good[] = {
  "x-amz-checksum-crc32: y/Q5Jg==",
  "x-amz-checksum-crc32c: 4waSgw==",
  "x-amz-checksum-crc64nvme: rosUhgp5mIg=",
  "x-amz-checksum-sha1: 98O8HYCOBHMq32eZZczDTKeuNEE=",
  "x-amz-checksum-sha256: FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
  "ETag: \"25f9e794323b453885f5181f1b624d0b\"",
};

static void
parse (HrHttpResponse *response, const char *const *lines)
{
  hr_http_response_init (response);
  hr_http_response_line (response, "HTTP/1.1 200 OK\r\n", 17);
  for (; *lines; lines++)
    hr_http_response_line (response, *lines, strlen (*lines));
}

/* NULL: none is checked; else what is said */
static char *
check (const char *const *lines, HrVerify verify, const char *body)
{
  HrHttpResponse response;
  g_autoptr (HrBodySum) sum = NULL;
  g_autoptr (GError) error = NULL;

  parse (&response, lines);
  sum = hr_body_sum_new (&response, verify);
  hr_http_response_clear (&response);
  if (!sum)
    return NULL;
  for (const char *c = body; *c; c++)
    hr_body_sum_add (sum, (const guint8 *)c, 1);
  if (hr_body_sum_check (sum, &error))
    return g_strdup ("good");
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  return g_strdup (error->message);
}

static void
test_kinds (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    const char *const lines[] = { good[i], NULL };
    g_autofree char *right = check (lines, HR_VERIFY_MD5, "123456789"),
                    *wrong = check (lines, HR_VERIFY_MD5, "123456788"),
                    *none = check (lines, HR_VERIFY_NONE, "123456789"),
                    *lazy = check (lines, HR_VERIFY_AUTO, "123456789");

    g_assert_cmpstr (right, ==, "good");
    g_assert_nonnull (strstr (wrong, "the bytes that came are not those that the server has"));
    g_assert_null (none);
    /* MD5 only where it was asked for */
    g_assert_cmpstr (lazy, ==, i < 5 ? "good" : NULL);
  }
}

/* the quickest is checked, whichever comes first */
static void
test_choice (void)
{
  for (guint i = 0; i < 2; i++) {
    const char *const lines[] = { good[i == 0 ? 4 : 2], good[i == 0 ? 2 : 4], good[5], NULL };
    g_autofree char *wrong = check (lines, HR_VERIFY_MD5, "x");

    g_assert_nonnull (strstr (wrong, "their CRC64NVME is "));
    g_assert_nonnull (strstr (wrong, ", not ae8b14860a799888"));
  }
}

/* of the parts of an upload, or nonsense: nothing that the whole could be compared with */
static void
test_none (void)
{
  static const char *const others[][3] = {
    { "x-amz-checksum-crc32c: 4waSgw==-3", NULL },
    { "x-amz-checksum-crc32: y/Q5Jg==", "x-amz-checksum-type: COMPOSITE", NULL },
    { "x-amz-checksum-crc32: rosUhgp5mIg=", NULL },
    { "x-amz-checksum-crc32: 4waSgw", NULL },
    { "x-amz-checksum-crc32:", NULL },
    { "x-amz-checksum-crc128: 4waSgw==", NULL },
    { "ETag: \"25f9e794323b453885f5181f1b624d0b-2\"", NULL },
    { "ETag: \"25f9e794323b453885f5181f1b624d0g\"", NULL },
    { "ETag: W/\"25f9e794323b453885f5181f1b624d0\"", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autofree char *said = check (others[i], HR_VERIFY_MD5, "anything");

    g_assert_cmpstr (said, ==, NULL);
  }
}

static void
test_full_object (void)
{
  const char *const lines[] = { "x-amz-checksum-type: FULL_OBJECT", good[0], NULL };
  g_autofree char *said = check (lines, HR_VERIFY_AUTO, "123456789");

  g_assert_cmpstr (said, ==, "good");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/body-sum/kinds", test_kinds);
  g_test_add_func ("/io/body-sum/choice", test_choice);
  g_test_add_func ("/io/body-sum/none", test_none);
  g_test_add_func ("/io/body-sum/full-object", test_full_object);
  return g_test_run ();
}
