/* inspect.h: what hr-inspect shows, as text and as JSON */
#pragma once
#include "hr-element-private.h"
#include "hr-registry.h"

/* all elements by plugin, from the lists alone: no plugin is opened */
void inspect_list_text (void);
void inspect_list_json (JsonBuilder *json);

/* types of values, and fields: who gives and needs them; from the lists alone */
void inspect_types_text (void);
void inspect_types_json (JsonBuilder *json);

/* (transfer container) (element-type HrElementDef): in which all words stand; opens every plugin,
 * and says on stderr which one cannot be */
GPtrArray *inspect_search (char **words);
/* with those of their properties in which one of the words stands */
void inspect_found_text (GPtrArray *found, char **words);
void inspect_found_json (JsonBuilder *json, GPtrArray *found);

/* prints what may stand at the end of a pipeline text: whole words, one a line */
void inspect_complete (const char *text);

/* one element in full */
void inspect_element_text (const HrElementDef *def);
void inspect_element_json (JsonBuilder *json, const HrElementDef *def);

/* words up to 96 columns, each line behind @indent blanks; what is there already is @column wide */
void inspect_wrapped (const char *text, guint indent, guint column);
/* "from 1 to 64", "at least 0" or NULL; (transfer full) */
char *inspect_range (const HrProp *prop);
/* FALSE: a program gives it its samples or does its work, so hr-launch cannot run it */
gboolean inspect_is_launched (const HrElementDef *def);
/* "parallel, network": what the table says about how it runs, NULL if nothing; (transfer full) */
char *inspect_traits (const HrElementDef *def);
