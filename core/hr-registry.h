/* hr-registry.h: which elements there are, and which plugin has them */
#pragma once
#include "hr-plugin.h"

G_BEGIN_DECLS

/**
 * HrElementInfo: a row of a NAME.elements list: known without opening the plugin.
 */
typedef struct {
  const char *name;
  const char *plugin; /* "json" */
  const char *file;   /* the .so, NULL for elements of the core */
  const char *summary;
  const char *needs, *gives, *takes; /* "" if none */
} HrElementInfo;

/* Searches, in this order: HR_PLUGIN_PATH (colons), the build tree when the library runs from one,
 * the installed folder. (transfer none): lives for ever. Opens the plugin if need be. On failure
 * the error says dlerror's text, or what is similar. */
const HrElementDef *hr_registry_find (const char *name, GError **error);
/* all known elements by plugin and name, without opening any; (transfer container) */
GPtrArray *hr_registry_list (void);
/* (transfer none) (nullable): the nearest element name */
const char *hr_registry_suggest (const char *name);
/* adds elements of a program's own, or of the test at hand; the table must live for ever */
void hr_registry_add (const HrElementDef *def);
/* (transfer none) (nullable): the plugin that has been opened for @def */
const HrPluginDef *hr_registry_get_plugin (const HrElementDef *def, const char **file);

G_END_DECLS
