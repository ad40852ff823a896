/* HR_DEBUG is read when the program starts, so each case is a child of its own */
#include <glib/gstdio.h>
#include <string.h>
#include "hr-log.h"

static void
run_child (const char *debug, const char *file)
{
  g_setenv ("HR_DEBUG", debug, TRUE);
  g_setenv ("HR_DEBUG_FILE", file, TRUE);
  g_test_trap_subprocess ("/log/child", 0, 0);
  g_unsetenv ("HR_DEBUG");
  g_unsetenv ("HR_DEBUG_FILE");
  g_test_trap_assert_passed ();
}

static gpointer
log_many (gpointer data G_GNUC_UNUSED)
{
  for (guint i = 0; i < 200; i++)
    hr_log ("many", HR_LOG_INFO, i, "%s", "abcdefghijklmnopqrstuvwxyz");
  return NULL;
}

static void
test_child (void)
{
  GThread *threads[4];

  if (!g_test_subprocess ())
    return;
  hr_log ("imagedecode0", HR_LOG_DEBUG, 1234, "header of %d bytes", 7);
  hr_log ("imagedecode1", HR_LOG_WARNING, -1, "odd");
  hr_log ("imagedecoder", HR_LOG_INFO, -1, "another element");
  hr_log ("core", HR_LOG_ERROR, -1, "bad");
  hr_log ("core", HR_LOG_TRACE, -1, "detail");
  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("logger", log_many, NULL);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
}

#define HEADER "imagedecode0 #1234: header of 7 bytes\n"
#define ODD "imagedecode1: odd\n"
#define ANOTHER "imagedecoder: another element\n"
#define BAD "core: bad\n"
#define DETAIL "core: detail\n"

static void
test_rules (void)
{
  static const struct {
    const char *debug;
    const char *lines[6];
  } rows[] = {
    { "", { NULL } },
    { "0", { NULL } },
    { "5", { HEADER, ODD, ANOTHER, BAD, DETAIL } },
    { "*:2", { ODD, BAD } },
    { "imagedecode:4", { HEADER, ODD } },
    { "imagedecode:4,*:1", { HEADER, ODD, BAD } },
    { "*:5,imagedecode:1,core:1", { ANOTHER, BAD } },
    { "imagedecode0:0,imagedecode:4", { ODD } },
    { "image*:info,core:trace", { ODD, ANOTHER, BAD, DETAIL } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    run_child (rows[i].debug, "");
    for (guint j = 0; j < 5; j++) {
      const char *all[] = { HEADER, ODD, ANOTHER, BAD, DETAIL };
      g_autofree char *pattern = g_strdup_printf ("*%s*", all[j]);

      if (g_strv_contains (rows[i].lines, all[j]))
        g_test_trap_assert_stderr (pattern);
      else
        g_test_trap_assert_stderr_unmatched (pattern);
    }
  }
}

static void
test_bad_rule (void)
{
  run_child ("core:9x,core:1", "");
  g_test_trap_assert_stderr ("*HR_DEBUG: \"core:9x\"*");
  g_test_trap_assert_stderr ("*" BAD "*");
}

static void
test_file (void)
{
  g_autofree char *directory = g_dir_make_tmp ("hr-log-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (directory, "log", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  guint many = 0;

  run_child ("5", file);
  g_test_trap_assert_stderr_unmatched ("*core: bad*");
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], " many #") != NULL) {
      /* lines of threads do not mix; each tells its thread */
      g_assert_true (g_str_has_suffix (lines[i], ": abcdefghijklmnopqrstuvwxyz"));
      g_assert_nonnull (strstr (lines[i], " logger "));
      many++;
    }
  g_assert_cmpuint (many, ==, 800);
  g_assert_nonnull (strstr (text, HEADER));
  g_unlink (file);
  g_rmdir (directory);

  run_child ("1", "/does/not/exist");
  g_test_trap_assert_stderr ("*HR_DEBUG_FILE: /does/not/exist: *" BAD "*");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/log/child", test_child);
  g_test_add_func ("/log/rules", test_rules);
  g_test_add_func ("/log/bad-rule", test_bad_rule);
  g_test_add_func ("/log/file", test_file);
  return g_test_run ();
}
