/* hr-digest.c: one sha256 over all that is delivered: names, dtypes, shapes, bytes, holes; nothing
 * of time, threads or memory */
#include "hr-json.h"
#include "hr-pipeline-private.h"
#include <string.h>

static void
add (GChecksum *checksum, gconstpointer data, gsize size)
{
  const guchar *bytes = data;

  /* g_checksum_update() counts in gssize */
  while (size > 0) {
    gsize n = MIN (size, G_MAXINT32);

    g_checksum_update (checksum, bytes, (gssize)n);
    bytes += n;
    size -= n;
  }
}

static void
add_string (GChecksum *checksum, const char *string)
{
  add (checksum, string, strlen (string) + 1);
}

static void
add_strided (GChecksum *checksum, const HrTensor *tensor, guint dim, const guint8 *data)
{
  const gint64 *shape = hr_tensor_get_shape (tensor), *strides = hr_tensor_get_strides (tensor);
  gsize width = hr_tensor_get_dtype (tensor).bits / 8;

  if (dim == hr_tensor_get_n_dims (tensor)) {
    add (checksum, data, width);
    return;
  }
  for (gint64 i = 0; i < shape[dim]; i++)
    add_strided (checksum, tensor, dim + 1, data + i * strides[dim] * (gint64)width);
}

/* what is on a device is contiguous. What could not be read gives another sum than any bytes */
static void
add_from_device (GChecksum *checksum, const HrTensor *tensor)
{
  gsize size = hr_tensor_get_n_bytes (tensor);
  g_autofree guint8 *bytes = g_malloc (MAX (size, 1));
  g_autoptr (GError) error = NULL;

  if (hr_memory_read (hr_tensor_get_memory (tensor), hr_tensor_get_offset (tensor), size, bytes,
                      &error))
    add (checksum, bytes, size);
  else
    add_string (checksum, error->message);
}

static void
add_tensor (GChecksum *checksum, const HrTensor *tensor)
{
  add_string (checksum, hr_dtype_get_name (hr_tensor_get_dtype (tensor)));
  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++)
    add (checksum, &hr_tensor_get_shape (tensor)[i], sizeof (gint64));
  if (hr_tensor_get_data (tensor) == NULL)
    add_from_device (checksum, tensor);
  else if (hr_tensor_is_contiguous (tensor))
    add (checksum, hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor));
  else
    add_strided (checksum, tensor, 0, hr_tensor_get_data (tensor));
}

static void
add_json (GChecksum *checksum, JsonNode *node)
{
  g_autofree char *text = hr_json_write (node, FALSE);

  add_string (checksum, text);
}

static void
add_list (GChecksum *checksum, const HrList *list)
{
  guint n = hr_list_get_length (list);

  add (checksum, &n, sizeof n);
  for (guint i = 0; i < n; i++)
    switch (hr_list_get_item_type (list, i)) {
    case HR_FIELD_TENSOR:
      add_tensor (checksum, hr_list_get_tensor (list, i));
      break;
    case HR_FIELD_STRING:
      add_string (checksum, hr_list_get_string (list, i));
      break;
    case HR_FIELD_JSON:
      add_json (checksum, hr_list_get_json (list, i));
      break;
    case HR_FIELD_LIST:
      break; /* a list has no lists */
    }
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* fields by name: the order in which elements set them is nobody's business */
static GPtrArray *
sorted_names (const HrBuffer *buffer)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++)
    g_ptr_array_add (names, (gpointer)hr_buffer_get_field (buffer, i, NULL));
  g_ptr_array_sort (names, compare_names);
  return names;
}

void
hr_digest_update (GChecksum *checksum, const HrBuffer *buffer)
{
  g_autoptr (GPtrArray) names = sorted_names (buffer);

  add_string (checksum, buffer->flags & HR_BUFFER_HOLE ? "hole" : "buffer");
  for (guint i = 0; i < names->len; i++) {
    const char *name = names->pdata[i];
    HrTensor *tensor = hr_buffer_get_tensor (buffer, name);
    HrList *list = hr_buffer_get_list (buffer, name);
    JsonNode *json = hr_buffer_get_json (buffer, name);
    const char *string = hr_buffer_get_string (buffer, name);

    add_string (checksum, name);
    if (tensor != NULL)
      add_tensor (checksum, tensor);
    else if (list != NULL)
      add_list (checksum, list);
    else if (json != NULL)
      add_json (checksum, json);
    else if (string != NULL)
      add_string (checksum, string);
  }
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    add_string (checksum,
                hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE ? "hole" : "sample");
}

char *
hr_buffer_get_digest (const HrBuffer *buffer)
{
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);

  hr_digest_update (checksum, buffer);
  return g_strdup (g_checksum_get_string (checksum));
}
