/* domains and the names of kinds */
#include "hr-error.h"

static void
test_domains (void)
{
  const GQuark quarks[] = { HR_PARSE_ERROR, HR_CORE_ERROR, HR_RESOURCE_ERROR, HR_DATA_ERROR };

  g_assert_cmpstr (g_quark_to_string (HR_PARSE_ERROR), ==, "hr-parse-error-quark");
  g_assert_cmpstr (g_quark_to_string (HR_DATA_ERROR), ==, "hr-data-error-quark");
  for (guint i = 0; i < G_N_ELEMENTS (quarks); i++)
    for (guint j = 0; j < i; j++)
      g_assert_cmpuint (quarks[i], !=, quarks[j]);
}

static void
test_kinds (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (int i = 0; i < HR_N_DATA_ERRORS; i++)
    g_assert_true (g_hash_table_add (seen, (gpointer)hr_data_error_kind (i)));
  g_assert_cmpstr (hr_data_error_kind (HR_DATA_ERROR_BAD_JSON), ==, "bad-json");
  g_assert_cmpstr (hr_data_error_kind (HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT), ==,
                   "media-token-in-text");
  g_assert_cmpstr (hr_data_error_kind (HR_DATA_ERROR_LINK_REFUSED), ==, "link-refused");
  g_assert_cmpstr (hr_data_error_kind (-1), ==, "other");
  g_assert_cmpstr (hr_data_error_kind (HR_N_DATA_ERRORS), ==, "other");
}

static void
test_set (void)
{
  g_autoptr (GError) error = NULL;

  hr_set_data_error (&error, HR_DATA_ERROR_OVERLONG, "%d of %s", 7, "four");
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG);
  g_assert_cmpstr (error->message, ==, "7 of four");
  hr_set_data_error (NULL, HR_DATA_ERROR_OVERLONG, "nobody asks");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/error/domains", test_domains);
  g_test_add_func ("/error/kinds", test_kinds);
  g_test_add_func ("/error/set", test_set);
  return g_test_run ();
}
