/* test-hr-elements.c: the list of a plugin, and plugins that get none */
#include <gio/gio.h>
#include <string.h>

static int
list (const char *plugin, char **out, char **err)
{
  g_autofree char *path = plugin != NULL ? g_build_filename (HR_TEST_PLUGINS, plugin, NULL) : NULL;
  const char *argv[] = { HR_ELEMENTS, path, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) process = g_subprocess_newv (
      argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);

  g_assert_no_error (error);
  g_subprocess_communicate_utf8 (process, NULL, NULL, out, err, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_get_if_exited (process));
  return g_subprocess_get_exit_status (process);
}

static void
test_good (void)
{
  g_autofree char *out = NULL, *err = NULL;

  g_assert_cmpint (list ("hrgood.so", &out, &err), ==, 0);
  g_assert_cmpstr (out, ==,
                   "regone\tThe first of two\ta:b\tc, d:e\tf\nregtwo\tThe second of two\t\t\t\n");
  g_assert_cmpstr (err, ==, "");
}

/* the tables are read, nothing is called: functions may be missing */
static void
test_symbol (void)
{
  g_autofree char *out = NULL, *err = NULL;

  g_assert_cmpint (list ("hrsymbol.so", &out, &err), ==, 0);
  g_assert_cmpstr (out, ==, "regsymbol\tCalls what nobody has\t\t\t\n");
}

static void
test_bad (void)
{
  static const struct {
    const char *plugin;
    int status;
    const char *part;
  } rows[] = { { NULL, 2, "usage: hr-elements" },
               { "hrabi.so", 1, "made for another version of Headrace" },
               { "hrnone.so", 1, "no symbol \"hr_plugin\"" },
               { "hrnowhere.so", 1, "hrnowhere.so" } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *out = NULL, *err = NULL;

    g_assert_cmpint (list (rows[i].plugin, &out, &err), ==, rows[i].status);
    g_assert_cmpstr (out, ==, "");
    g_assert_nonnull (strstr (err, rows[i].part));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/elements/good", test_good);
  g_test_add_func ("/elements/symbol", test_symbol);
  g_test_add_func ("/elements/bad", test_bad);
  return g_test_run ();
}
