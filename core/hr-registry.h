/* hr-registry.h: which elements there are, and which plugin has them */
#pragma once
#include "hr-plugin.h"

G_BEGIN_DECLS

/**
 * HrElementInfo:
 *
 * A row of a NAME.elements list: known without opening the plugin.
 */
typedef struct {
  const char *name;
  const char *plugin; /* "json" */
  const char *file;   /* the .so, NULL for elements of the program */
  const char *summary;
  const char *needs, *gives, *takes; /* "" if none */
} HrElementInfo;

/**
 * hr_registry_find:
 * @name: "resize"
 * @error: return location: #HR_CORE_ERROR_PLUGIN with dlerror's text, or
 *   #HR_PARSE_ERROR_UNKNOWN_ELEMENT with what is similar
 *
 * Finds an element, and opens its plugin. Searched are, in this order: what hr_registry_add() was
 * given, the folders of HR_PLUGIN_PATH (colons), then the build tree if the library runs from one,
 * else the folder headrace-1.0 beside the library. The first that lists the name decides. A plugin
 * in these folders that has no list is opened when no list has the name.
 *
 * Returns: (transfer none): its table, which lives for ever; %NULL with an error
 */
const HrElementDef *hr_registry_find (const char *name, GError **error);

/**
 * hr_registry_list: (skip)
 *
 * Lists what hr_registry_find() would find.
 *
 * Returns: (transfer container): all known elements, #HrElementInfo, by plugin and name, without
 *   opening any; those of hr_registry_add() are of plugin "program". The rows live for ever.
 */
GPtrArray *hr_registry_list (void);

/**
 * hr_registry_get_names:
 *
 * Names what hr_registry_find() would find, without opening any plugin.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names of all known elements, sorted
 */
char **hr_registry_get_names (void);

/**
 * hr_registry_suggest:
 * @name: a name that there is not
 *
 * Guesses what was meant.
 *
 * Returns: (transfer none) (nullable): the nearest name of an element
 */
const char *hr_registry_suggest (const char *name);

/**
 * hr_registry_add:
 * @def: (transfer none): a table, which must live for ever
 *
 * Adds elements of a program's own, or of the test at hand.
 */
void hr_registry_add (const HrElementDef *def);

/**
 * hr_registry_get_plugin:
 * @def: an element's table
 * @file: (out) (optional) (nullable): its .so
 *
 * Tells which plugin an element has come from.
 *
 * Returns: (transfer none) (nullable): the plugin that has been opened for @def; %NULL for elements
 *   of the program
 */
const HrPluginDef *hr_registry_get_plugin (const HrElementDef *def, const char **file);

G_END_DECLS
