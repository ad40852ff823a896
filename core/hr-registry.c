/* hr-registry.c: which elements there are. Only the lists beside the plugins are read; a plugin is
 * opened when a text names one of its elements, and never closed. */
#include "hr-registry.h"
#include "hr-element-private.h"
#include "hr-suggest.h"
#include "hr-sync.h"
#include <dlfcn.h>
#include <string.h>

typedef struct {
  char *file;
  const HrPluginDef *def; /* NULL: it cannot be used */
  char *problem;
} Plugin;

static HrMutex lock = PTHREAD_MUTEX_INITIALIZER;

/* All under the lock. Rows and tables live for ever: callers hold on to them. */
static struct {
  char *path;          /* HR_PLUGIN_PATH when it was scanned */
  GPtrArray *rows;     /* HrElementInfo, in the order of the search */
  GPtrArray *unlisted; /* char *: plugins without a list, opened when nothing else has the name */
  GPtrArray *plugins;  /* Plugin: those that were opened */
  GPtrArray *added;    /* const HrElementDef */
  GPtrArray *old;      /* rows of earlier scans */
} registry;

static const char *
text_of (const char *text)
{
  return g_intern_string (text != NULL ? text : "");
}

static HrElementInfo *
new_row (const char *name, const char *plugin, const char *file, const char *summary,
         const char *needs, const char *gives, const char *takes)
{
  HrElementInfo *row = g_new0 (HrElementInfo, 1);

  row->name = g_intern_string (name);
  row->plugin = g_intern_string (plugin);
  row->file = g_intern_string (file);
  row->summary = text_of (summary);
  row->needs = text_of (needs);
  row->gives = text_of (gives);
  row->takes = text_of (takes);
  return row;
}

/* ---- lists ---- */

/* "hrjson.so" is plugin "json" */
static char *
plugin_name (const char *file)
{
  g_autofree char *base = g_path_get_basename (file);
  char *dot = strchr (base, '.');

  if (dot != NULL)
    *dot = '\0';
  return g_strdup (g_str_has_prefix (base, "hr") ? base + 2 : base);
}

/* one element a line: name, summary, needs, gives, takes, separated by tabs */
static void
read_list (const char *list, const char *file)
{
  g_autofree char *content = NULL;
  g_autofree char *plugin = plugin_name (file);
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents (list, &content, NULL, NULL))
    return;
  lines = g_strsplit (content, "\n", -1);
  for (char **line = lines; *line != NULL; line++) {
    g_auto (GStrv) columns = g_strsplit (*line, "\t", 5);
    const char *column[5] = { 0 };

    for (guint i = 0; i < G_N_ELEMENTS (column) && columns[i] != NULL; i++)
      column[i] = columns[i];
    if (column[0] != NULL && *column[0] != '\0')
      g_ptr_array_add (registry.rows, new_row (column[0], plugin, file, column[1], column[2],
                                               column[3], column[4]));
  }
}

static gint
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static void
scan_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  if (dir == NULL)
    return;
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".so"))
      g_ptr_array_add (files, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (files, compare_strings);
  for (guint i = 0; i < files->len; i++) {
    const char *file = g_ptr_array_index (files, i);
    g_autofree char *list = g_strndup (file, strlen (file) - strlen (".so"));
    g_autofree char *list_file = g_strconcat (list, ".elements", NULL);

    if (g_file_test (list_file, G_FILE_TEST_IS_REGULAR))
      read_list (list_file, file);
    else
      g_ptr_array_add (registry.unlisted, g_strdup (file));
  }
}

/* In a build tree the plugins lie in ../plugins of the library's folder "core", and only those are
 * meant; anywhere else they lie in headrace-1.0 beside the library. */
static void
scan_own_folders (void)
{
  Dl_info info;
  g_autofree char *library = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *base = NULL;
  g_autofree char *parent = NULL;
  g_autofree char *plugins = NULL;
  g_autofree char *installed = NULL;
  g_autoptr (GDir) dir = NULL;
  const char *name;

  if (dladdr ((void *)hr_registry_find, &info) == 0 || info.dli_fname == NULL)
    return;
  library = realpath (info.dli_fname, NULL);
  if (library == NULL)
    return;
  folder = g_path_get_dirname (library);
  base = g_path_get_basename (folder);
  parent = g_path_get_dirname (folder);
  plugins = g_build_filename (parent, "plugins", NULL);
  if (!g_str_equal (base, "core") || (dir = g_dir_open (plugins, 0, NULL)) == NULL) {
    installed = g_build_filename (folder, "headrace-1.0", NULL);
    scan_folder (installed);
    return;
  }
  scan_folder (plugins);
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (plugins, name, NULL);

    if (!g_str_has_suffix (name, ".p") && g_file_test (path, G_FILE_TEST_IS_DIR))
      scan_folder (path);
  }
}

static void
scan (void)
{
  const char *path = g_getenv ("HR_PLUGIN_PATH");

  if (registry.rows != NULL && g_strcmp0 (path, registry.path) == 0)
    return;
  if (registry.rows == NULL) {
    registry.rows = g_ptr_array_new ();
    registry.old = g_ptr_array_new ();
    registry.unlisted = g_ptr_array_new_with_free_func (g_free);
    registry.plugins = g_ptr_array_new ();
  }
  g_ptr_array_extend (registry.old, registry.rows, NULL, NULL);
  g_ptr_array_set_size (registry.rows, 0);
  g_ptr_array_set_size (registry.unlisted, 0);
  g_free (registry.path);
  registry.path = g_strdup (path);
  if (path != NULL) {
    g_auto (GStrv) folders = g_strsplit (path, ":", -1);

    for (char **folder = folders; *folder != NULL; folder++)
      if (**folder != '\0')
        scan_folder (*folder);
  }
  scan_own_folders ();
}

/* ---- plugins ---- */

static char *
check_plugin (const HrPluginDef *def)
{
  if (def->abi_size != sizeof (HrPluginDef))
    return g_strdup_printf ("made for another version of Headrace; compile it again");
  for (guint i = 0; def->elements[i] != NULL; i++) {
    g_autoptr (GError) error = NULL;

    if (!hr_element_def_check (def->elements[i], &error))
      return g_strdup (error->message);
  }
  return NULL;
}

static Plugin *
open_plugin (const char *file)
{
  Plugin *plugin;
  GModule *module;
  gpointer symbol;

  for (guint i = 0; i < registry.plugins->len; i++) {
    plugin = g_ptr_array_index (registry.plugins, i);
    if (g_str_equal (plugin->file, file))
      return plugin;
  }
  plugin = g_new0 (Plugin, 1);
  plugin->file = g_strdup (file);
  g_ptr_array_add (registry.plugins, plugin);
  /* not lazily: a missing function is found here, and not in the middle of a run */
  module = g_module_open (file, G_MODULE_BIND_LOCAL);
  if (module == NULL) {
    plugin->problem = g_strdup (g_module_error ());
    return plugin;
  }
  g_module_make_resident (module);
  if (!g_module_symbol (module, "hr_plugin", &symbol)) {
    plugin->problem = g_strdup_printf ("%s has no symbol \"hr_plugin\": it is no plugin", file);
    return plugin;
  }
  plugin->problem = check_plugin (symbol);
  if (plugin->problem == NULL)
    plugin->def = symbol;
  return plugin;
}

static const HrElementDef *
find_in_plugin (const Plugin *plugin, const char *name)
{
  for (guint i = 0; plugin->def != NULL && plugin->def->elements[i] != NULL; i++)
    if (g_str_equal (plugin->def->elements[i]->name, name))
      return plugin->def->elements[i];
  return NULL;
}

/* dlerror() puts the file first most of the time */
static void
set_load_error (GError **error, const char *name, const Plugin *plugin, const char *problem)
{
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_PLUGIN,
               "element \"%s\": its plugin does not load: %s%s%s", name,
               strstr (problem, plugin->file) != NULL ? "" : plugin->file,
               strstr (problem, plugin->file) != NULL ? "" : ": ", problem);
}

static const HrElementDef *
find_listed (const char *name, gboolean *listed, GError **error)
{
  for (guint i = 0; i < registry.rows->len; i++) {
    const HrElementInfo *row = g_ptr_array_index (registry.rows, i);
    const HrElementDef *def;
    Plugin *plugin;

    if (row->file == NULL || !g_str_equal (row->name, name))
      continue;
    *listed = TRUE;
    plugin = open_plugin (row->file);
    def = find_in_plugin (plugin, name);
    if (def == NULL)
      set_load_error (error, name, plugin,
                      plugin->problem != NULL
                          ? plugin->problem
                          : "the list beside it names an element that it has not");
    return def;
  }
  *listed = FALSE;
  return NULL;
}

/* opens plugins that have no list, one after the other; @broken: the first that cannot be used */
static const HrElementDef *
find_unlisted (const char *name, const Plugin **broken)
{
  *broken = NULL;
  for (guint i = 0; i < registry.unlisted->len; i++) {
    guint before = registry.plugins->len;
    Plugin *plugin = open_plugin (g_ptr_array_index (registry.unlisted, i));
    const HrElementDef *def = find_in_plugin (plugin, name);

    if (plugin->def == NULL && *broken == NULL)
      *broken = plugin;
    /* from now on its elements are known */
    for (guint k = 0;
         registry.plugins->len > before && plugin->def != NULL && plugin->def->elements[k] != NULL;
         k++) {
      const HrElementDef *other = plugin->def->elements[k];

      g_ptr_array_add (registry.rows,
                       new_row (other->name, plugin->def->name, plugin->file, other->summary,
                                other->needs, other->gives, other->takes));
    }
    if (def != NULL)
      return def;
  }
  return NULL;
}

/* ---- what callers see ---- */

static gint
compare_rows (gconstpointer a, gconstpointer b)
{
  const HrElementInfo *x = *(HrElementInfo *const *)a;
  const HrElementInfo *y = *(HrElementInfo *const *)b;
  gint order = strcmp (x->plugin, y->plugin);

  return order != 0 ? order : strcmp (x->name, y->name);
}

/* the first of each name, as find does it */
static GPtrArray *
list_locked (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *list = g_ptr_array_new ();

  scan ();
  for (guint i = 0; i < registry.rows->len; i++) {
    HrElementInfo *row = g_ptr_array_index (registry.rows, i);

    if (g_hash_table_add (seen, (gpointer)row->name))
      g_ptr_array_add (list, row);
  }
  g_ptr_array_sort (list, compare_rows);
  return list;
}

static const char *
suggest_locked (const char *name)
{
  g_autoptr (GPtrArray) list = list_locked ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < list->len; i++)
    g_ptr_array_add (names, (gpointer)((HrElementInfo *)g_ptr_array_index (list, i))->name);
  for (guint i = 0; registry.added != NULL && i < registry.added->len; i++)
    g_ptr_array_add (names,
                     (gpointer)((const HrElementDef *)g_ptr_array_index (registry.added, i))->name);
  return hr_suggest (name, (const char *const *)names->pdata, names->len);
}

static const HrElementDef *
find_locked (const char *name, GError **error)
{
  const HrElementDef *def = NULL;
  const Plugin *broken;
  gboolean listed;
  const char *near;

  /* the latest first, so that a test may put another in its place */
  for (guint i = registry.added != NULL ? registry.added->len : 0; i > 0; i--) {
    def = g_ptr_array_index (registry.added, i - 1);
    if (g_str_equal (def->name, name))
      return def;
  }
  scan ();
  def = find_listed (name, &listed, error);
  if (listed)
    return def;
  def = find_unlisted (name, &broken);
  if (def != NULL)
    return def;
  if (broken != NULL) {
    set_load_error (error, name, broken, broken->problem);
    return NULL;
  }
  near = suggest_locked (name);
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_ELEMENT,
               near != NULL ? "no element \"%s\"; did you mean \"%s\"?" : "no element \"%s\"", name,
               near);
  return NULL;
}

const HrElementDef *
hr_registry_find (const char *name, GError **error)
{
  const HrElementDef *def;

  hr_mutex_lock (&lock);
  def = find_locked (name, error);
  hr_mutex_unlock (&lock);
  return def;
}

GPtrArray *
hr_registry_list (void)
{
  GPtrArray *list;

  hr_mutex_lock (&lock);
  list = list_locked ();
  for (guint i = 0; registry.added != NULL && i < registry.added->len; i++) {
    const HrElementDef *def = g_ptr_array_index (registry.added, i);
    HrElementInfo *row =
        new_row (def->name, "program", NULL, def->summary, def->needs, def->gives, def->takes);

    for (guint k = 0; k < list->len; k++)
      if (((HrElementInfo *)g_ptr_array_index (list, k))->name == row->name)
        g_ptr_array_remove_index (list, k--);
    g_ptr_array_add (list, row);
    g_ptr_array_add (registry.old, row);
  }
  g_ptr_array_sort (list, compare_rows);
  hr_mutex_unlock (&lock);
  return list;
}

char **
hr_registry_get_names (void)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < rows->len; i++)
    g_ptr_array_add (names, g_strdup (((const HrElementInfo *)rows->pdata[i])->name));
  g_ptr_array_sort (names, compare_strings);
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

const char *
hr_registry_suggest (const char *name)
{
  const char *near;

  hr_mutex_lock (&lock);
  near = suggest_locked (name);
  hr_mutex_unlock (&lock);
  return near;
}

void
hr_registry_add (const HrElementDef *def)
{
  g_autoptr (GError) error = NULL;

  if (!hr_element_def_check (def, &error)) {
    g_critical ("hr_registry_add: %s", error->message);
    return;
  }
  hr_mutex_lock (&lock);
  if (registry.added == NULL)
    registry.added = g_ptr_array_new ();
  g_ptr_array_add (registry.added, (gpointer)def);
  hr_mutex_unlock (&lock);
}

const HrPluginDef *
hr_registry_get_plugin (const HrElementDef *def, const char **file)
{
  const HrPluginDef *found = NULL;

  hr_mutex_lock (&lock);
  for (guint i = 0; registry.plugins != NULL && i < registry.plugins->len && found == NULL; i++) {
    const Plugin *plugin = g_ptr_array_index (registry.plugins, i);

    if (find_in_plugin (plugin, def->name) == def) {
      found = plugin->def;
      if (file != NULL)
        *file = plugin->file;
    }
  }
  hr_mutex_unlock (&lock);
  return found;
}
