/* hr-json.h: JSON trees as text */
#pragma once
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

char *hr_json_write (JsonNode *node, gboolean pretty);

/* a member of the object that is open; @value (nullable): then null */
void hr_json_add_string (JsonBuilder *builder, const char *name, const char *value);
void hr_json_add_int (JsonBuilder *builder, const char *name, gint64 value);
/* what is no number is written as null */
void hr_json_add_double (JsonBuilder *builder, const char *name, gdouble value);
void hr_json_add_bool (JsonBuilder *builder, const char *name, gboolean value);

G_END_DECLS
