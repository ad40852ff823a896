/* fuzz-parse.c: any text as a pipeline; what is accepted prints as a text that means the same */
#include <string.h>
#include "cast.h"
#include "hr-parse.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);
const char *__asan_default_options (void);

/* A text may name an element of a real plugin, which is opened then. Its tables have the names of
 * our own cast's, and either will do. */
const char *
__asan_default_options (void)
{
  return "detect_odr_violation=0";
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static gsize once_only;
  g_autofree char *text = g_strndup ((const char *)data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  gsize offset = 0, length = 0;

  if (g_once_init_enter (&once_only)) {
    cast_register ();
    g_once_init_leave (&once_only, 1);
  }
  pipeline = hr_parse_text (text, NULL, &offset, &length, &error);

  if (pipeline) {
    g_autofree char *once = hr_pipeline_to_string (pipeline);
    g_autoptr (HrPipeline) again = hr_parse_launch (once, &error);
    g_autofree char *twice = again ? hr_pipeline_to_string (again) : NULL;

    g_assert_no_error (error);
    g_assert_cmpstr (once, ==, twice);
  } else {
    g_auto (GStrv) lines = NULL;

    g_assert_nonnull (error);
    g_assert_true (error->domain == HR_PARSE_ERROR);
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
    g_assert_true (offset + length <= strlen (text));
    lines = g_strsplit (error->message, "\n", -1);
    g_assert_cmpuint (g_strv_length (lines), >=, 3);
    g_assert_nonnull (strchr (lines[2], '^'));
  }
  return 0;
}
