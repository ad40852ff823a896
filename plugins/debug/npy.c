/* npy.c: NumPy's file format, and a buffer told in JSON
 *
 * Source of the format: NEP 1, "A simple file format for NumPy arrays", version 1.0. */
#include "npy.h"
#include "hr-json.h"

static const char *
descr (HrDType dtype)
{
  static const struct {
    const char *name, *descr;
  } rows[] = {
    { "uint8", "|u1" },    { "uint16", "<u2" },  { "uint32", "<u4" },  { "uint64", "<u8" },
    { "int8", "|i1" },     { "int16", "<i2" },   { "int32", "<i4" },   { "int64", "<i8" },
    { "bool", "|b1" },     { "float16", "<f2" }, { "float32", "<f4" }, { "float64", "<f8" },
    { "bfloat16", "<u2" }, /* NumPy has none; the JSON tells */
  };
  const char *name = hr_dtype_get_name (dtype);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].name, name))
      return rows[i].descr;
  return NULL;
}

GString *
npy_header (const HrTensor *tensor, GError **error)
{
  HrDType dtype = hr_tensor_get_dtype (tensor);
  guint n_dims = hr_tensor_get_n_dims (tensor);
  GString *header;

  if (descr (dtype) == NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "NumPy has no dtype of code %u, %u bits and %u lanes", dtype.code, dtype.bits,
                 dtype.lanes);
    return NULL;
  }
  header = g_string_new (NULL);
  g_string_append_len (header, "\x93NUMPY\x01\x00\x00\x00", 10);
  g_string_append_printf (header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          descr (dtype));
  for (guint i = 0; i < n_dims; i++)
    g_string_append_printf (header, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "",
                            hr_tensor_get_shape (tensor)[i]);
  g_string_append (header, n_dims == 1 ? ",), }" : "), }");
  /* so that the elements begin at a multiple of 64 */
  while (header->len % 64 != 63)
    g_string_append_c (header, ' ');
  g_string_append_c (header, '\n');
  header->str[8] = (char)((header->len - 10) & 0xff);
  header->str[9] = (char)((header->len - 10) >> 8);
  return header;
}

static void
add_tensor (JsonBuilder *json, const HrTensor *tensor)
{
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "dtype");
  json_builder_add_string_value (json, hr_dtype_get_name (hr_tensor_get_dtype (tensor)));
  json_builder_set_member_name (json, "shape");
  json_builder_begin_array (json);
  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++)
    json_builder_add_int_value (json, hr_tensor_get_shape (tensor)[i]);
  json_builder_end_array (json);
  json_builder_end_object (json);
}

static void
add_value (JsonBuilder *json, const char *dtype, JsonNode *value)
{
  json_builder_begin_object (json);
  json_builder_set_member_name (json, "dtype");
  json_builder_add_string_value (json, dtype);
  json_builder_set_member_name (json, "value");
  json_builder_add_value (json, value);
  json_builder_end_object (json);
}

static JsonNode *
string_node (const char *string)
{
  return json_node_init_string (json_node_alloc (), string);
}

static void
add_list (JsonBuilder *json, const HrList *list)
{
  json_builder_begin_array (json);
  for (guint k = 0; k < hr_list_get_length (list); k++) {
    if (hr_list_get_tensor (list, k) != NULL)
      add_tensor (json, hr_list_get_tensor (list, k));
    else if (hr_list_get_string (list, k) != NULL)
      add_value (json, "string", string_node (hr_list_get_string (list, k)));
    else
      add_value (json, "json", json_node_copy (hr_list_get_json (list, k)));
  }
  json_builder_end_array (json);
}

static void
add_fields (JsonBuilder *json, const HrBuffer *buffer)
{
  json_builder_set_member_name (json, "fields");
  json_builder_begin_object (json);
  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (buffer, i, &type);

    json_builder_set_member_name (json, name);
    switch (type) {
    case HR_FIELD_TENSOR:
      add_tensor (json, hr_buffer_get_tensor (buffer, name));
      break;
    case HR_FIELD_LIST:
      add_list (json, hr_buffer_get_list (buffer, name));
      break;
    case HR_FIELD_JSON:
      add_value (json, "json", json_node_copy (hr_buffer_get_json (buffer, name)));
      break;
    case HR_FIELD_STRING:
      add_value (json, "string", string_node (hr_buffer_get_string (buffer, name)));
      break;
    }
  }
  json_builder_end_object (json);
}

/* -1 is unknown */
static void
add_known (JsonBuilder *json, const char *name, gint64 value)
{
  json_builder_set_member_name (json, name);
  if (value >= 0)
    json_builder_add_int_value (json, value);
  else
    json_builder_add_null_value (json);
}

static void
add_hole (JsonBuilder *json, const GError *why)
{
  json_builder_set_member_name (json, "hole");
  json_builder_add_boolean_value (json, TRUE);
  hr_json_add_string (json, "kind",
                      why != NULL && why->domain == HR_DATA_ERROR ? hr_data_error_kind (why->code)
                                                                  : NULL);
  hr_json_add_string (json, "message", why != NULL ? why->message : NULL);
}

static void
add_buffer (JsonBuilder *json, const HrBuffer *buffer, guint64 index, gint64 step)
{
  const HrOrigin *origin = hr_buffer_get_origin (buffer);

  json_builder_begin_object (json);
  hr_json_add_int (json, "index", (gint64)index);
  hr_json_add_int (json, "epoch", buffer->epoch);
  hr_json_add_int (json, "step", step);
  add_known (json, "sample", buffer->sample);
  hr_json_add_string (json, "id", origin != NULL ? origin->id : NULL);
  hr_json_add_string (json, "uri", origin != NULL ? origin->uri : NULL);
  add_known (json, "byte", origin != NULL ? origin->byte : -1);
  add_known (json, "length", origin != NULL ? origin->length : -1);
  add_known (json, "line", origin != NULL ? origin->line : -1);
  if (buffer->flags & HR_BUFFER_HOLE)
    add_hole (json, hr_buffer_get_error (buffer));
  add_fields (json, buffer);
  json_builder_set_member_name (json, "members");
  json_builder_begin_array (json);
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    add_buffer (json, hr_buffer_get_member (buffer, i), i, step);
  json_builder_end_array (json);
  json_builder_end_object (json);
}

char *
npy_describe (const HrBuffer *buffer, guint64 index)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  add_buffer (json, buffer, index, buffer->number);
  root = json_builder_get_root (json);
  return hr_json_write (root, TRUE);
}
