/* json-value.h: looking at the values of a line that has been checked */
#pragma once
#include <json-glib/json-glib.h>
#include "json-scan.h"

G_BEGIN_DECLS

/* Values are named by their index; 0 is the line's own, and stands for "none" in answers. */

static inline HrJsonType
hr_json_type (const HrJson *json, guint value)
{
  return json->values[value].type;
}

/* "a string", "an object", … for messages */
const char *hr_json_type_name (const HrJson *json, guint value);

/* items of an array or names of an object: the first one, and the one after @item; 0 behind the
 * last. The value of a name is the index after it. */
guint hr_json_first (const HrJson *json, guint container);
guint hr_json_next (const HrJson *json, guint container, guint item);
guint hr_json_length (const HrJson *json, guint container);
gboolean hr_json_is_empty_list (const HrJson *json, guint value);

/**
 * hr_json_member:
 * @object: an object
 * @name: ASCII
 *
 * Returns: the value of that name, of the last one if it is repeated (as Python does); 0 if there
 *   is none
 */
guint hr_json_member (const HrJson *json, guint object, const char *name);

/* the same, but a null counts as none: many writers put null for what a record does not have */
guint hr_json_get (const HrJson *json, guint object, const char *name);

/* is it a string with that content? */
gboolean hr_json_equals (const HrJson *json, guint value, const char *content);

/**
 * hr_json_dup_string:
 * @value: a string
 * @length: (out) (optional): its bytes; a \u0000 in it (HR_JSON_NUL) ends up as a NUL byte
 *
 * Returns: (transfer full): the content, UTF-8
 */
char *hr_json_dup_string (const HrJson *json, guint value, gsize *length);

/* (transfer full): the text of any value as it is written in the line; of strings the content */
char *hr_json_dup_text (const HrJson *json, guint value);

/**
 * hr_json_to_node:
 * @value: any value
 *
 * Numbers that neither gint64 nor double holds become strings, as written; none is bent.
 *
 * Returns: (transfer full) (nullable): the tree; %NULL if a string in it holds \u0000
 */
JsonNode *hr_json_to_node (const HrJson *json, guint value);

G_END_DECLS
