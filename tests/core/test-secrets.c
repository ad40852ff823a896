/* what is shown of links */
#include "headrace.h"
#include "hr-secrets.h"
#include <string.h>

static void
check (HrSecretsIn in, const char *text, const char *expected)
{
  g_autofree char *shown = hr_secrets_hide (text, in);
  g_autofree char *again = hr_secrets_hide (shown, in);

  g_assert_cmpstr (shown, ==, expected);
  g_assert_cmpstr (again, ==, expected);
}

static void
test_value (void)
{
  check (HR_SECRETS_IN_VALUE, "", "");
  check (HR_SECRETS_IN_VALUE, "://", "://");
  check (HR_SECRETS_IN_VALUE, "8", "8");
  check (HR_SECRETS_IN_VALUE, "https://h/k?X-Amz-Date=d&X-Amz-Signature=0f&x=1",
         "https://h/k?X-Amz-Date=d&X-Amz-Signature=…&x=1");
  /* white space and quotes belong to it */
  check (HR_SECRETS_IN_VALUE, "https://u:p'a s@h/?sig=a b\"c", "https://…@h/?sig=…");
  check (HR_SECRETS_IN_VALUE, "https://u:p@h/,https://v:q@h/", "https://…@h/,https://…@h/");
  check (HR_SECRETS_IN_VALUE, "https://h/?to=https://u:p@h/?token=1",
         "https://h/?to=https://…@h/?token=…");
  check (HR_SECRETS_IN_VALUE, "s3://KEY:secret@b/k", "s3://…@b/k");
  /* names, which may hold anything */
  check (HR_SECRETS_IN_VALUE, "s3://b/k?token=1", "s3://b/k?token=1");
  check (HR_SECRETS_IN_VALUE, "file:///k?token=1", "file:///k?token=1");
  check (HR_SECRETS_IN_VALUE, "/data/a?key=1", "/data/a?key=1");
}

static void
test_text (void)
{
  check (HR_SECRETS_IN_TEXT, "bad \"https://u:p@h/?jwt=a\": token=b is no key",
         "bad \"https://…@h/?jwt=…\": token=b is no key");
  check (HR_SECRETS_IN_TEXT, "from <https://h/?key=a> to https://h/?pwd=b c?key=d",
         "from <https://h/?key=…> to https://h/?pwd=… c?key=d");
  check (HR_SECRETS_IN_TEXT, "https://h/?key=a:b: HTTP 403", "https://h/?key=…: HTTP 403");
  check (HR_SECRETS_IN_TEXT, "https://h/?key=…: HTTP 403", "https://h/?key=…: HTTP 403");
}

static void
test_place (void)
{
  const char *text = "tokenizer='https://u:p@h/?sig=abc' !";
  g_autofree char *shown = hr_secrets_hide (text, HR_SECRETS_IN_PLACE);

  g_assert_cmpstr (shown, ==, "tokenizer='https://***@h/?sig=***' !");
}

/* to a program a pipeline tells all, to people nothing secret */
static void
test_pipeline (void)
{
  const char *wrong = "fakesrc num-buffers='https://u:CANARY@h/?X-Amz-Signature=CANARY' ! fakesink";
  const char *link = "https://u:CANARY@h/?X-Amz-Signature=CANARY";
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) set = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch ("fakesrc ! npysink location=x", &error);
  g_autofree char *told = NULL, *shown = NULL, *dot = NULL;

  g_assert_no_error (error);
  g_assert_true (hr_element_set_from_string (hr_pipeline_get_element (pipeline, "npysink0"),
                                             "location", link, &error));
  told = hr_pipeline_to_string (pipeline);
  shown = hr_pipeline_to_shown_string (pipeline);
  dot = hr_pipeline_to_dot (pipeline);
  g_assert_nonnull (strstr (told, link));
  g_assert_null (strstr (shown, "CANARY"));
  g_assert_nonnull (strstr (shown, "npysink location=https://…@h/?X-Amz-Signature=…"));
  g_assert_null (strstr (dot, "CANARY"));
  g_assert_nonnull (strstr (dot, "location=https://…@h/"));
  g_assert_false (hr_element_set_from_string (hr_pipeline_get_element (pipeline, "fakesrc0"),
                                              "num-buffers", link, &set));
  g_assert_null (strstr (set->message, "CANARY"));
  g_clear_error (&error);
  g_assert_null (hr_parse_launch (wrong, &error));
  g_assert_null (strstr (error->message, "CANARY"));
  g_assert_nonnull (strstr (error->message, "X-Amz-Signature=…"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/secrets/value", test_value);
  g_test_add_func ("/secrets/text", test_text);
  g_test_add_func ("/secrets/place", test_place);
  g_test_add_func ("/secrets/pipeline", test_pipeline);
  return g_test_run ();
}
