/* test-registry.c: lists, plugins that load and plugins that do not, what is similar */
#include "hr-element-private.h"
#include "hr-registry.h"
#include "things.h"
#include <glib/gstdio.h>
#include <dlfcn.h>
#include <string.h>

static char *folder; /* HR_PLUGIN_PATH of the tests */

static char *
fixture (const char *name)
{
  return g_build_filename (HR_TEST_PLUGINS, name, NULL);
}

static void
copy (const char *from, const char *to)
{
  g_autofree char *source = fixture (from);
  g_autofree char *target = g_build_filename (folder, to, NULL);
  g_autofree char *content = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (source, &content, &length, NULL));
  g_assert_true (g_file_set_contents (target, content, (gssize)length, NULL));
}

static void
write_file (const char *name, const char *content)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, content, -1, NULL));
}

/* each test has a folder of its own, so that nothing is known from the one before */
static void
set_up (gpointer *fixture_data, gconstpointer data)
{
  (void)fixture_data;
  (void)data;
  folder = g_dir_make_tmp ("hr-registry-XXXXXX", NULL);
  g_assert_nonnull (folder);
  g_setenv ("HR_PLUGIN_PATH", folder, TRUE);
}

static void
tear_down (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  (void)fixture_data;
  (void)data;
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (folder, name, NULL);

    g_unlink (path);
  }
  g_rmdir (folder);
  g_clear_pointer (&folder, g_free);
  g_unsetenv ("HR_PLUGIN_PATH");
}

static const HrElementInfo *
row_of (const char *name, const char *file_prefix)
{
  g_autoptr (GPtrArray) list = hr_registry_list ();

  for (guint i = 0; i < list->len; i++) {
    const HrElementInfo *row = g_ptr_array_index (list, i);

    if (g_str_equal (row->name, name)
        && (file_prefix == NULL
            || (row->file != NULL && g_str_has_prefix (row->file, file_prefix))))
      return row;
  }
  return NULL;
}

/* a list is enough to be known, and nothing is opened for it: the file beside it is no library */
static void
test_list (gpointer *fixture_data, gconstpointer data)
{
  const HrElementInfo *row;
  g_autoptr (GPtrArray) list = NULL;

  (void)fixture_data;
  (void)data;
  write_file ("hrfirst.so", "not a library");
  write_file ("hrfirst.elements", "regzebra\tHas stripes\ta:b\tc\td\n\nreghorse\tHas none\n");
  row = row_of ("regzebra", folder);
  g_assert_nonnull (row);
  g_assert_cmpstr (row->plugin, ==, "first");
  g_assert_cmpstr (row->summary, ==, "Has stripes");
  g_assert_cmpstr (row->needs, ==, "a:b");
  g_assert_cmpstr (row->gives, ==, "c");
  g_assert_cmpstr (row->takes, ==, "d");
  row = row_of ("reghorse", folder);
  g_assert_cmpstr (row->summary, ==, "Has none");
  g_assert_cmpstr (row->needs, ==, "");
  g_assert_cmpstr (row->takes, ==, "");
  /* by plugin, then by name */
  list = hr_registry_list ();
  for (guint i = 1; i < list->len; i++) {
    const HrElementInfo *a = g_ptr_array_index (list, i - 1);
    const HrElementInfo *b = g_ptr_array_index (list, i);
    gint order = strcmp (a->plugin, b->plugin);

    g_assert_true (order < 0 || (order == 0 && strcmp (a->name, b->name) < 0));
  }
}

static void
test_good (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const HrElementDef *def;
  const HrPluginDef *plugin;
  const char *file = NULL;

  (void)fixture_data;
  (void)data;
  copy ("hrgood.so", "hrgood.so");
  copy ("hrgood.elements", "hrgood.elements");
  def = hr_registry_find ("regone", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (def->summary, ==, "The first of two");
  g_assert_true (hr_registry_find ("regone", NULL) == def);
  plugin = hr_registry_get_plugin (def, &file);
  g_assert_cmpstr (plugin->version, ==, "1.2");
  g_assert_true (g_str_has_prefix (file, folder));
  g_assert_null (hr_registry_get_plugin (&hr_element_thing, &file));
  g_assert_cmpstr (row_of ("regone", folder)->needs, ==, "a:b");
  g_assert_cmpstr (row_of ("regone", folder)->gives, ==, "c, d:e");
  g_assert_cmpstr (row_of ("regone", folder)->takes, ==, "f");
  g_assert_cmpstr (row_of ("regtwo", folder)->summary, ==, "The second of two");
}

/* a text opens the plugins that it names, and no others */
static void
test_lazy (gpointer *fixture_data, gconstpointer data)
{
  g_autofree char *good = g_build_filename (folder, "hrgood.so", NULL);
  g_autofree char *none = g_build_filename (folder, "hrnone.so", NULL);
  void *handle;

  (void)fixture_data;
  (void)data;
  copy ("hrgood.so", "hrgood.so");
  copy ("hrgood.elements", "hrgood.elements");
  copy ("hrnone.so", "hrnone.so");
  write_file ("hrnone.elements", "regnone\tIs not there\n");
  g_assert_nonnull (row_of ("regnone", folder));
  g_assert_nonnull (hr_registry_suggest ("regnon"));
  g_assert_null (dlopen (good, RTLD_LAZY | RTLD_NOLOAD));
  g_assert_nonnull (hr_registry_find ("regone", NULL));
  handle = dlopen (good, RTLD_LAZY | RTLD_NOLOAD);
  g_assert_nonnull (handle);
  dlclose (handle);
  g_assert_null (dlopen (none, RTLD_LAZY | RTLD_NOLOAD));
}

/* without a list the plugin is opened when nothing else has the name */
static void
test_unlisted (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  const HrElementDef *def;

  (void)fixture_data;
  (void)data;
  copy ("hrgood.so", "mine.so");
  g_assert_null (row_of ("regtwo", folder));
  def = hr_registry_find ("regtwo", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (def->name, ==, "regtwo");
  g_assert_nonnull (row_of ("regone", folder));
}

static void
test_broken (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  write_file ("hrbad.so", "not a library");
  write_file ("hrbad.elements", "regbad\tDoes not load\t\t\t\n");
  g_assert_null (hr_registry_find ("regbad", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "element \"regbad\": its plugin does not load: "));
  g_assert_nonnull (strstr (error->message, "/hrbad.so: file too short"));
  g_clear_error (&error);
  /* an unlisted one is only named if nothing else has the name */
  write_file ("other.so", "not a library either");
  g_setenv ("HR_PLUGIN_PATH", "", TRUE);
  hr_registry_suggest ("x");
  g_setenv ("HR_PLUGIN_PATH", folder, TRUE);
  g_assert_null (hr_registry_find ("regnowhere", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "/other.so: "));
}

static void
test_symbol (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  copy ("hrsymbol.so", "hrsymbol.so");
  copy ("hrsymbol.elements", "hrsymbol.elements");
  g_assert_null (hr_registry_find ("regsymbol", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "hr_no_library_has_this"));
}

static void
test_abi (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  copy ("hrabi.so", "hrabi.so");
  write_file ("hrabi.elements", "regold\tMade long ago\n");
  g_assert_null (hr_registry_find ("regold", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "/hrabi.so: made for another version of Headrace"));
}

static void
test_no_plugin (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  copy ("hrnone.so", "hrnone.so");
  write_file ("hrnone.elements", "regnone\tIs not there\n");
  g_assert_null (hr_registry_find ("regnone", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "has no symbol \"hr_plugin\""));
}

static void
test_stale_list (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  copy ("hrgood.so", "hrgood.so");
  write_file ("hrgood.elements", "regthree\tIs gone\n");
  g_assert_null (hr_registry_find ("regthree", &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN);
  g_assert_nonnull (strstr (error->message, "names an element that it has not"));
}

/* the first folder of the path decides */
static void
test_order (gpointer *fixture_data, gconstpointer data)
{
  g_autofree char *second = g_dir_make_tmp ("hr-registry-XXXXXX", NULL);
  g_autofree char *path = g_strconcat (second, "::", folder, NULL);
  g_autofree char *so = g_build_filename (second, "hrx.so", NULL);
  g_autofree char *list = g_build_filename (second, "hrx.elements", NULL);

  (void)fixture_data;
  (void)data;
  g_assert_true (g_file_set_contents (so, "", 0, NULL));
  g_assert_true (g_file_set_contents (list, "regone\tAnother\n", -1, NULL));
  copy ("hrgood.so", "hrgood.so");
  copy ("hrgood.elements", "hrgood.elements");
  g_assert_cmpstr (row_of ("regone", NULL)->summary, ==, "The first of two");
  g_setenv ("HR_PLUGIN_PATH", path, TRUE);
  g_assert_cmpstr (row_of ("regone", NULL)->summary, ==, "Another");
  g_assert_cmpstr (row_of ("regtwo", NULL)->summary, ==, "The second of two");
  g_unlink (so);
  g_unlink (list);
  g_rmdir (second);
}

static void
test_unknown (gpointer *fixture_data, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  (void)fixture_data;
  (void)data;
  write_file ("hrfirst.so", "");
  write_file ("hrfirst.elements", "regzebra\tHas stripes\n");
  g_assert_null (hr_registry_find ("regzbera", &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_ELEMENT);
  g_assert_cmpstr (error->message, ==, "no element \"regzbera\"; did you mean \"regzebra\"?");
  g_clear_error (&error);
  g_assert_null (hr_registry_find ("qqqqqqqqqqqq", &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_ELEMENT);
  g_assert_cmpstr (error->message, ==, "no element \"qqqqqqqqqqqq\"");
  g_assert_cmpstr (hr_registry_suggest ("regzebr"), ==, "regzebra");
  g_assert_null (hr_registry_suggest ("qqqqqqqqqqqq"));
}

static void
test_add (gpointer *fixture_data, gconstpointer data)
{
  const HrElementInfo *row;

  (void)fixture_data;
  (void)data;
  g_assert_null (hr_registry_find ("thing", NULL));
  hr_registry_add (&hr_element_thing);
  g_assert_true (hr_registry_find ("thing", NULL) == &hr_element_thing);
  row = row_of ("thing", NULL);
  g_assert_cmpstr (row->plugin, ==, "program");
  g_assert_null (row->file);
  g_assert_cmpstr (hr_registry_suggest ("tihng"), ==, "thing");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, f) g_test_add ("/registry/" name, gpointer, NULL, set_up, f, tear_down)
  ADD ("list", test_list);
  ADD ("good", test_good);
  ADD ("lazy", test_lazy);
  ADD ("unlisted", test_unlisted);
  ADD ("broken", test_broken);
  ADD ("symbol", test_symbol);
  ADD ("abi", test_abi);
  ADD ("no-plugin", test_no_plugin);
  ADD ("stale-list", test_stale_list);
  ADD ("order", test_order);
  ADD ("unknown", test_unknown);
  ADD ("add", test_add);
#undef ADD
  return g_test_run ();
}
