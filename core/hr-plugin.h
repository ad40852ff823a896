/* hr-plugin.h: a .so with a table of elements */
#pragma once
#include <gmodule.h>
#include "hr-element.h"

G_BEGIN_DECLS

/**
 * HrPluginDef:
 *
 * What the symbol `hr_plugin` of a plugin's .so is. Use HR_PLUGIN.
 */
typedef struct {
  gsize abi_size;
  const char *name;
  const char *version;
  const char *summary;
  const HrElementDef *const *elements; /* NULL-terminated */
} HrPluginDef;

/**
 * HR_PLUGIN:
 * @id: its name, without quotes
 * @version_: its version
 * @summary_: half a sentence
 * @...: addresses of the tables of its elements
 *
 * Defines the symbol of a plugin: HR_PLUGIN (json, "0.1.0", "JSON lines", &hr_element_jsonlparse,
 * …)
 */
#define HR_PLUGIN(id, version_, summary_, ...)                                                     \
  G_MODULE_EXPORT extern const HrPluginDef hr_plugin;                                              \
  const HrPluginDef hr_plugin = { sizeof (HrPluginDef), #id, version_, summary_,                   \
                                  (const HrElementDef *const[]){ __VA_ARGS__, NULL } };

G_END_DECLS
