/* test-hr-inspect.c: the list, one element in full, JSON, and what is said of what is not there */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

typedef struct {
  int status;
  char *out, *err;
} Run;

static char *folder; /* HR_PLUGIN_PATH: a sound plugin, and one that does not load, with a list */

static void
run_clear (Run *run)
{
  g_free (run->out);
  g_free (run->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

static Run
inspect (const char *first, const char *second)
{
  const char *argv[] = { HR_INSPECT, first, first != NULL ? second : NULL, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) process = g_subprocess_newv (
      argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);
  Run run = { 0 };

  g_assert_no_error (error);
  g_subprocess_communicate_utf8 (process, NULL, NULL, &run.out, &run.err, &error);
  g_assert_no_error (error);
  g_assert_true (g_subprocess_get_if_exited (process));
  run.status = g_subprocess_get_exit_status (process);
  return run;
}

static JsonObject *
parse (JsonParser *parser, const char *text)
{
  g_autoptr (GError) error = NULL;

  json_parser_load_from_data (parser, text, -1, &error);
  g_assert_no_error (error);
  return json_node_get_object (json_parser_get_root (parser));
}

/* by plugin, and without opening any: one of them is no library at all */
static void
test_list (void)
{
  g_auto (Run) run = inspect (NULL, NULL);
  const char *good, *sick;

  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpstr (run.err, ==, "");
  good = strstr (run.out, "good:\n  regone");
  sick = strstr (run.out, "sick:\n  regsick");
  g_assert_nonnull (good);
  g_assert_nonnull (sick);
  g_assert_nonnull (strstr (run.out, "The first of two"));
  g_assert_nonnull (strstr (run.out, "Does not load"));
  g_assert_nonnull (strstr (run.out, "debug:\n"));
  g_assert_nonnull (strstr (run.out, "  fakesink "));
}

static void
test_list_json (void)
{
  g_auto (Run) run = inspect ("--json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonArray *elements = json_object_get_array_member (parse (parser, run.out), "elements");
  gboolean seen = FALSE;

  g_assert_cmpint (run.status, ==, 0);
  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *row = json_array_get_object_element (elements, i);

    if (strcmp (json_object_get_string_member (row, "name"), "regone") != 0)
      continue;
    seen = TRUE;
    g_assert_cmpstr (json_object_get_string_member (row, "plugin"), ==, "good");
    g_assert_cmpstr (json_object_get_string_member (row, "summary"), ==, "The first of two");
    g_assert_cmpstr (json_object_get_string_member (row, "needs"), ==, "a:b");
    g_assert_cmpstr (json_object_get_string_member (row, "gives"), ==, "c, d:e");
    g_assert_cmpstr (json_object_get_string_member (row, "takes"), ==, "f");
    g_assert_true (g_str_has_prefix (json_object_get_string_member (row, "file"), folder));
  }
  g_assert_true (seen);
}

static void
test_element (void)
{
  g_auto (Run) run = inspect ("regone", NULL);
  static const char *const parts[] = {
    "regone: The first of two\n",
    "kind     transform",
    "needs    a:b",
    "gives    c, d:e",
    "takes    f",
    "plugin   good 1.2 (Two elements)",
    "/hrgood.so",
    "n            uint, 0 to 9, default 1",
    "A number",
    "on-error     enum, default | fail | skip, default default, live, stream",
    "workers      uint of threads, 0 to 256, default 0, live, auto",
    "name         string, unset"
  };

  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpstr (run.err, ==, "");
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (run.out, parts[i]) == NULL)
      g_error ("no \"%s\" in:\n%s", parts[i], run.out);
}

/* an element of the tree with a description, required properties and examples */
static void
test_real_element (void)
{
  g_auto (Run) run = inspect ("filesink", NULL), long_one = inspect ("batch", NULL);

  g_assert_cmpint (run.status, ==, 0);
  g_assert_nonnull (strstr (run.out, "kind     sink"));
  g_assert_nonnull (strstr (run.out, "location     string, required"));
  g_assert_nonnull (strstr (run.out, "\nExamples\n  hr-launch "));
  /* paragraphs stay apart */
  g_assert_nonnull (strstr (long_one.out, "\n\n  mode=padded: "));
}

static JsonObject *
prop_named (JsonObject *element, const char *array, const char *name)
{
  JsonArray *props = json_object_get_array_member (element, array);

  for (guint i = 0; i < json_array_get_length (props); i++)
    if (strcmp (json_object_get_string_member (json_array_get_object_element (props, i), "name"),
                name)
        == 0)
      return json_array_get_object_element (props, i);
  g_error ("no property %s", name);
}

static void
test_element_json (void)
{
  g_auto (Run) run = inspect ("--json", "regone");
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *element = parse (parser, run.out);
  JsonObject *prop = prop_named (element, "properties", "n");

  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpstr (json_object_get_string_member (element, "kind"), ==, "transform");
  g_assert_cmpstr (json_object_get_string_member (element, "version"), ==, "1.2");
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (element, "properties")),
                    ==, 1);
  g_assert_cmpuint (
      json_array_get_length (json_object_get_array_member (element, "common_properties")), ==, 8);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (element, "examples")), ==,
                    0);
  g_assert_cmpstr (json_object_get_string_member (prop, "type"), ==, "uint");
  g_assert_cmpstr (json_object_get_string_member (prop, "default"), ==, "1");
  g_assert_cmpstr (json_object_get_string_member (prop, "min"), ==, "0");
  g_assert_cmpstr (json_object_get_string_member (prop, "max"), ==, "9");
  g_assert_false (json_object_get_boolean_member (prop, "live"));
  g_assert_false (json_object_get_boolean_member (prop, "auto"));
  prop = prop_named (element, "common_properties", "on-error");
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (prop, "choices")), ==, 3);
  g_assert_true (json_object_get_boolean_member (prop, "stream"));
  prop = prop_named (element, "common_properties", "queue-bytes");
  g_assert_true (json_object_get_null_member (prop, "max"));
}

static void
expect_failure (const char *first, const char *second, int status, const char *part)
{
  g_auto (Run) run = inspect (first, second);

  g_assert_cmpint (run.status, ==, status);
  g_assert_cmpstr (run.out, ==, "");
  g_assert_true (g_str_has_prefix (run.err, "hr-inspect: "));
  if (strstr (run.err, part) == NULL)
    g_error ("no \"%s\" in: %s", part, run.err);
}

static void
test_usage (void)
{
  expect_failure ("fakesnk", NULL, 2, "no element \"fakesnk\"; did you mean \"fakesink\"?");
  expect_failure ("qqqqqqqqqqq", NULL, 2, "no element \"qqqqqqqqqqq\"");
  expect_failure ("--json", "regtow", 2, "did you mean \"regtwo\"?");
  expect_failure ("regone", "regtwo", 2, "one element at a time");
  expect_failure ("--jason", NULL, 2, "--jason");
  /* that it does not load is no fault of the command line */
  expect_failure ("regsick", NULL, 1, "/hrsick.so: file too short");
}

/* how values are written, and who gives and needs a field; the sick plugin is not opened */
static void
test_types (void)
{
  g_auto (Run) run = inspect ("--types", NULL), as_json = inspect ("--types", "--json");
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *root = parse (parser, as_json.out);
  JsonArray *fields = json_object_get_array_member (root, "fields");
  gboolean seen = FALSE;

  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpstr (run.err, ==, "");
  g_assert_nonnull (strstr (run.out, "  duration  "));
  g_assert_nonnull (strstr (run.out, "\n  a:b\n      needed by regone\n"));
  g_assert_nonnull (strstr (run.out, "\n  f\n      taken by  regone\n"));
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (root, "property_types")),
                    ==, 9);
  for (guint i = 0; i < json_array_get_length (fields); i++) {
    JsonObject *row = json_array_get_object_element (fields, i);
    JsonArray *gives = json_object_get_array_member (row, "gives");

    if (!g_str_equal (json_object_get_string_member (row, "field"), "d:e"))
      continue;
    seen = TRUE;
    g_assert_cmpuint (json_array_get_length (gives), ==, 1);
    g_assert_cmpstr (json_array_get_string_element (gives, 0), ==, "regone");
  }
  g_assert_true (seen);
}

/* all words, in any case; what does not load is named and left out; 1 if there is none */
static void
test_search (void)
{
  g_auto (Run) run = inspect ("--search", "FIRST of");
  g_auto (Run) in_prop = inspect ("--search", "lanczos|pillow");
  g_auto (Run) choice = inspect ("--search", "pillow");
  g_auto (Run) as_json = inspect ("--json", "--search=x");

  g_assert_cmpint (run.status, ==, 0);
  g_assert_nonnull (strstr (run.out, "regone: The first of two"));
  g_assert_null (strstr (run.out, "regtwo"));
  g_assert_nonnull (strstr (run.err, "hr-inspect: regsick is left out: "));
  g_assert_cmpint (in_prop.status, ==, 1);
  g_assert_cmpstr (in_prop.out, ==, "");
  g_assert_nonnull (strstr (in_prop.err, "nothing holds all of these words"));
  g_assert_nonnull (strstr (choice.out, "\n    reference  "));
  g_assert_cmpint (as_json.status, ==, 2);
}

static void
assert_completes (const char *text, const char *expected)
{
  g_auto (Run) run = inspect ("--complete", text);

  g_assert_cmpint (run.status, ==, 0);
  g_assert_cmpstr (run.err, ==, "");
  g_assert_cmpstr (run.out, ==, expected);
}

static void
test_complete (void)
{
  assert_completes ("rego", "regone\n");
  assert_completes ("filesrc location='a ! b' ! rego", "regone\n");
  assert_completes ("regone n", "n=\nname=\n");
  assert_completes ("regone name=x n", "n=\nname=\n");
  assert_completes ("regone on-error=", "on-error=default\non-error=fail\non-error=skip\n");
  assert_completes ("regone on-error=s", "on-error=skip\n");
  assert_completes ("regone ordered=f", "ordered=false\n");
  assert_completes ("seria", "serial=\n");
  assert_completes ("serial=t", "serial=true\n");
  assert_completes ("regone workers=a", "workers=auto\n");
  assert_completes ("regone window=a", "");
  assert_completes ("regone n=", "");
  assert_completes ("regone ! 'unclosed", "");
  assert_completes ("regsick n", "");
  assert_completes ("nosuchelement n", "");
  assert_completes ("regone nosuch=", "");
}

static void
test_version (void)
{
  g_auto (Run) run = inspect ("--version", NULL);
  g_auto (Run) help = inspect ("--help", NULL);

  g_assert_cmpint (run.status, ==, 0);
  g_assert_true (g_str_has_prefix (run.out, "hr-inspect "));
  g_assert_cmpint (help.status, ==, 0);
  g_assert_nonnull (strstr (help.out, "--json"));
}

static void
copy (const char *name)
{
  g_autofree char *from = g_build_filename (HR_TEST_PLUGINS, name, NULL);
  g_autofree char *to = g_build_filename (folder, name, NULL);
  g_autofree char *content = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (from, &content, &length, NULL));
  g_assert_true (g_file_set_contents (to, content, (gssize)length, NULL));
}

static void
write_file (const char *name, const char *content)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, content, -1, NULL));
}

int
main (int argc, char **argv)
{
  static const char *const files[] = { "hrgood.so", "hrgood.elements", "hrsick.so",
                                       "hrsick.elements" };
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("hr-inspect-XXXXXX", NULL);
  g_assert_nonnull (folder);
  copy (files[0]);
  copy (files[1]);
  write_file (files[2], "");
  write_file (files[3], "regsick\tDoes not load\t\t\t\n");
  g_setenv ("HR_PLUGIN_PATH", folder, TRUE);
  g_test_add_func ("/inspect/list", test_list);
  g_test_add_func ("/inspect/list/json", test_list_json);
  g_test_add_func ("/inspect/element", test_element);
  g_test_add_func ("/inspect/element/real", test_real_element);
  g_test_add_func ("/inspect/element/json", test_element_json);
  g_test_add_func ("/inspect/types", test_types);
  g_test_add_func ("/inspect/search", test_search);
  g_test_add_func ("/inspect/complete", test_complete);
  g_test_add_func ("/inspect/usage", test_usage);
  g_test_add_func ("/inspect/version", test_version);
  status = g_test_run ();
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = g_build_filename (folder, files[i], NULL);

    g_unlink (path);
  }
  g_rmdir (folder);
  g_free (folder);
  return status;
}
