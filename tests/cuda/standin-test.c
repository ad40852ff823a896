/* standin-test.c: what the tests of the stand-in share */
#include "standin-test.h"
#include <string.h>

void
standin_test_misuses (const char *kinds)
{
  g_auto (GStrv) taken = standin_take_misuses ();
  g_autoptr (GString) got = g_string_new ("");

  for (guint i = 0; taken[i] != NULL; i++)
    g_string_append_printf (got, "%s%.*s", i > 0 ? " " : "", (int)strcspn (taken[i], ":"),
                            taken[i]);
  if (strcmp (got->str, kinds) != 0) {
    g_autofree char *all = g_strjoinv ("\n", taken);

    g_error ("expected \"%s\", not:\n%s", kinds, all);
  }
}

void
standin_test_in_process (const char *variable, const char *value)
{
  g_setenv (variable, value, TRUE);
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_unsetenv (variable);
  g_test_trap_assert_passed ();
}
