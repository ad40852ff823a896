/* hr-json.h: JSON trees as text */
#pragma once
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

char *hr_json_write (JsonNode *node, gboolean pretty);

G_END_DECLS
