/* wire-json.c: JSON trees as bytes: what is read is the same tree, to the last bit of a number */
#include <string.h>
#include "hr-error.h"
#include "wire-bytes.h"

/* some more than jsonlparse lets through (HR_JSON_MAX_DEPTH); the stack is finite */
#define MAX_DEPTH 1100

typedef enum {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_INTEGER,
  JSON_NUMBER,
  JSON_TEXT,
  JSON_ITEMS,
  JSON_MEMBERS
} Kind;

static void
put_value (GByteArray *into, JsonNode *node)
{
  GType type = json_node_get_value_type (node);

  if (type == G_TYPE_STRING) {
    hr_wire_put_u8 (into, JSON_TEXT);
    hr_wire_put_text (into, json_node_get_string (node));
  } else if (type == G_TYPE_BOOLEAN) {
    hr_wire_put_u8 (into, json_node_get_boolean (node) ? JSON_TRUE : JSON_FALSE);
  } else if (type == G_TYPE_DOUBLE) {
    double value = json_node_get_double (node);
    guint64 bits;

    memcpy (&bits, &value, sizeof bits);
    hr_wire_put_u8 (into, JSON_NUMBER);
    hr_wire_put_u64 (into, bits);
  } else {
    hr_wire_put_u8 (into, JSON_INTEGER);
    hr_wire_put_i64 (into, json_node_get_int (node));
  }
}

static gboolean
put_node (GByteArray *into, JsonNode *node, guint depth)
{
  gboolean ok = depth <= MAX_DEPTH;

  if (node == NULL || JSON_NODE_HOLDS_NULL (node)) {
    hr_wire_put_u8 (into, JSON_NULL);
  } else if (JSON_NODE_HOLDS_ARRAY (node)) {
    JsonArray *array = json_node_get_array (node);
    guint n = json_array_get_length (array);

    hr_wire_put_u8 (into, JSON_ITEMS);
    hr_wire_put_u32 (into, n);
    for (guint i = 0; ok && i < n; i++)
      ok = put_node (into, json_array_get_element (array, i), depth + 1);
  } else if (JSON_NODE_HOLDS_OBJECT (node)) {
    JsonObject *object = json_node_get_object (node);
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;

    hr_wire_put_u8 (into, JSON_MEMBERS);
    hr_wire_put_u32 (into, json_object_get_size (object));
    json_object_iter_init_ordered (&iter, object);
    while (ok && json_object_iter_next_ordered (&iter, &name, &member)) {
      hr_wire_put_text (into, name);
      ok = put_node (into, member, depth + 1);
    }
  } else {
    put_value (into, node);
  }
  return ok;
}

gboolean
hr_wire_put_json (GByteArray *into, JsonNode *node, GError **error)
{
  if (put_node (into, node, 0))
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "JSON of more than %d levels does not go into a message", MAX_DEPTH);
  return FALSE;
}

static JsonNode *get_node (HrWireBytes *from, guint depth);

static JsonNode *
get_items (HrWireBytes *from, guint depth)
{
  guint n = hr_wire_get_count (from, 1, "JSON values");
  JsonArray *array = json_array_new ();
  JsonNode *node = json_node_alloc ();

  json_node_init_array (node, array);
  json_array_unref (array);
  for (guint i = 0; i < n; i++) {
    JsonNode *item = get_node (from, depth + 1);

    if (item == NULL) {
      json_node_unref (node);
      return NULL;
    }
    json_array_add_element (array, item);
  }
  return node;
}

static JsonNode *
get_members (HrWireBytes *from, guint depth)
{
  guint n = hr_wire_get_count (from, 5, "JSON members");
  JsonObject *object = json_object_new ();
  JsonNode *node = json_node_alloc ();

  json_node_init_object (node, object);
  json_object_unref (object);
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = hr_wire_get_text (from);
    JsonNode *member;

    if (name == NULL || json_object_has_member (object, name)) {
      hr_wire_fail (from, "a JSON object has a member without a name, or two of one name");
      member = NULL;
    } else {
      member = get_node (from, depth + 1);
    }
    if (member == NULL) {
      json_node_unref (node);
      return NULL;
    }
    json_object_set_member (object, name, member);
  }
  return node;
}

static JsonNode *
get_value (HrWireBytes *from, Kind kind)
{
  JsonNode *node = json_node_alloc ();

  switch (kind) {
  case JSON_NULL:
    return json_node_init_null (node);
  case JSON_FALSE:
  case JSON_TRUE:
    return json_node_init_boolean (node, kind == JSON_TRUE);
  case JSON_INTEGER:
    return json_node_init_int (node, hr_wire_get_i64 (from));
  case JSON_NUMBER: {
    guint64 bits = hr_wire_get_u64 (from);
    double value;

    memcpy (&value, &bits, sizeof value);
    return json_node_init_double (node, value);
  }
  default: {
    g_autofree char *text = hr_wire_get_text (from);

    if (text == NULL)
      hr_wire_fail (from, "a JSON text is missing");
    return json_node_init_string (node, text);
  }
  }
}

static JsonNode *
get_node (HrWireBytes *from, guint depth)
{
  guint8 kind = hr_wire_get_u8 (from);
  JsonNode *node;

  if (depth > MAX_DEPTH)
    hr_wire_fail (from, "JSON of more than %d levels", MAX_DEPTH);
  else if (kind > JSON_MEMBERS)
    hr_wire_fail (from, "%u is no kind of JSON value, expected 0 to %d", kind, JSON_MEMBERS);
  if (from->error != NULL)
    return NULL;
  if (kind == JSON_ITEMS)
    return get_items (from, depth);
  if (kind == JSON_MEMBERS)
    return get_members (from, depth);
  node = get_value (from, kind);
  if (from->error != NULL)
    g_clear_pointer (&node, json_node_unref);
  return node;
}

JsonNode *
hr_wire_get_json (HrWireBytes *from)
{
  return get_node (from, 0);
}
