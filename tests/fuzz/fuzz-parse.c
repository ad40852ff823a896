/* fuzz-parse.c: any text as a pipeline; what is accepted prints as a text that means the same */
#include "headrace.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

  if (pipeline) {
    g_autofree char *once = hr_pipeline_to_string (pipeline);
    g_autoptr (HrPipeline) again = hr_parse_launch (once, &error);
    g_autofree char *twice = again ? hr_pipeline_to_string (again) : NULL;

    g_assert_no_error (error);
    g_assert_cmpstr (once, ==, twice);
  } else {
    g_assert_nonnull (error);
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
  }
  return 0;
}
