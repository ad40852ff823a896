/* hr-json.h: JSON trees as text */
#pragma once
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

char *hr_json_write (JsonNode *node, gboolean pretty);

/**
 * hr_json_append_string: (skip)
 * @text: what has been written so far
 * @string: any bytes
 *
 * Appends @string in quotes; what is not UTF-8 in it is replaced.
 */
void hr_json_append_string (GString *text, const char *string);

/**
 * hr_json_add_string:
 * @builder: inside an object
 * @name: the member's name
 * @value: (nullable): its value; %NULL is null
 *
 * Adds a member to the object that is open.
 */
void hr_json_add_string (JsonBuilder *builder, const char *name, const char *value);

/**
 * hr_json_add_int:
 * @builder: inside an object
 * @name: the member's name
 * @value: its value
 *
 * Adds a member to the object that is open.
 */
void hr_json_add_int (JsonBuilder *builder, const char *name, gint64 value);

/**
 * hr_json_add_double:
 * @builder: inside an object
 * @name: the member's name
 * @value: its value
 *
 * Adds a member to the object that is open. What is no number is written as null.
 */
void hr_json_add_double (JsonBuilder *builder, const char *name, gdouble value);

/**
 * hr_json_add_bool:
 * @builder: inside an object
 * @name: the member's name
 * @value: its value
 *
 * Adds a member to the object that is open.
 */
void hr_json_add_bool (JsonBuilder *builder, const char *name, gboolean value);

G_END_DECLS
