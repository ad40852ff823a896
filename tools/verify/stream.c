/* stream.c: samples and what was left out, written for another program to read */
#include "stream.h"
#include <gio/gio.h>
#include <string.h>

gboolean
verify_write_member (GOutputStream *out, const char *name, JsonNode *value, GError **error)
{
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  JsonObject *object = json_object_new ();
  g_autofree char *text = NULL, *line = NULL;

  json_object_set_member (object, name, value);
  json_node_take_object (root, object);
  text = hr_json_write (root, FALSE);
  line = g_strconcat (text, "\n", NULL);
  return g_output_stream_write_all (out, line, strlen (line), NULL, NULL, error);
}

static void
set_string (JsonObject *object, const char *name, const char *value)
{
  if (value != NULL)
    json_object_set_string_member (object, name, value);
  else
    json_object_set_null_member (object, name);
}

static void
set_origin (JsonObject *object, const HrOrigin *origin)
{
  set_string (object, "uri", origin != NULL ? origin->uri : NULL);
  set_string (object, "id", origin != NULL ? origin->id : NULL);
  json_object_set_int_member (object, "byte", origin != NULL ? origin->byte : -1);
  json_object_set_int_member (object, "length", origin != NULL ? origin->length : -1);
  json_object_set_int_member (object, "line", origin != NULL ? origin->line : -1);
}

static JsonObject *
describe_tensor (const char *name, const HrTensor *tensor)
{
  JsonObject *object = json_object_new ();
  JsonArray *shape = json_array_new ();

  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++)
    json_array_add_int_element (shape, hr_tensor_get_dim (tensor, i));
  json_object_set_string_member (object, "name", name);
  json_object_set_string_member (object, "dtype", hr_tensor_get_dtype_name (tensor));
  json_object_set_array_member (object, "shape", shape);
  return object;
}

static JsonNode *
object_node (JsonObject *object)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, object);
  return node;
}

gboolean
verify_write_sample (GOutputStream *out, const HrBuffer *sample, GError **error)
{
  JsonObject *object = json_object_new ();
  JsonArray *tensors = json_array_new ();

  for (guint i = 0; i < hr_buffer_get_n_fields (sample); i++) {
    const char *name = hr_buffer_get_field (sample, i, NULL);
    const HrTensor *tensor = hr_buffer_get_tensor (sample, name);

    if (tensor != NULL && hr_tensor_is_contiguous (tensor))
      json_array_add_object_element (tensors, describe_tensor (name, tensor));
  }
  json_object_set_int_member (object, "number", sample->sample);
  set_origin (object, hr_buffer_get_origin (sample));
  json_object_set_array_member (object, "tensors", tensors);
  if (!verify_write_member (out, "sample", object_node (object), error))
    return FALSE;
  for (guint i = 0; i < hr_buffer_get_n_fields (sample); i++) {
    const HrTensor *tensor = hr_buffer_get_tensor (sample, hr_buffer_get_field (sample, i, NULL));

    if (tensor != NULL && hr_tensor_is_contiguous (tensor)
        && !g_output_stream_write_all (out, hr_tensor_get_data (tensor),
                                       hr_tensor_get_n_bytes (tensor), NULL, NULL, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
verify_write_left_out (GOutputStream *out, const HrMessage *message, GError **error)
{
  JsonObject *object = json_object_new ();
  const GError *why = message->error;

  set_string (object, "element", message->element);
  json_object_set_boolean_member (object, "dropped", message->type == HR_MESSAGE_DROPPED);
  set_string (object, "kind",
              why != NULL && why->domain == HR_DATA_ERROR ? hr_data_error_kind (why->code) : NULL);
  set_string (object, "message", why != NULL ? why->message : NULL);
  set_origin (object, message->origin);
  return verify_write_member (out, "left-out", object_node (object), error);
}
