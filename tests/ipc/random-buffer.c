/* random-buffer.c */
#include "random-buffer.h"
#include <math.h>
#include <string.h>
#include "hr-letter.h"

static const HrDType dtypes[] = {
  { HR_DTYPE_UINT, 8, 1 },   { HR_DTYPE_INT, 16, 1 },    { HR_DTYPE_INT, 32, 1 },
  { HR_DTYPE_INT, 64, 1 },   { HR_DTYPE_FLOAT, 16, 1 },  { HR_DTYPE_FLOAT, 32, 1 },
  { HR_DTYPE_FLOAT, 64, 1 }, { HR_DTYPE_BFLOAT, 16, 1 }, { HR_DTYPE_BOOL, 8, 1 },
};

static HrMemory *
random_memory (GRand *rand, gsize size)
{
  HrMemory *memory = hr_memory_new (size);

  for (gsize i = 0; i < size; i++)
    memory->data[i] = (guint8)g_rand_int (rand);
  return memory;
}

static HrTensor *
random_tensor (GRand *rand, HrMemory *shared)
{
  HrDType dtype = dtypes[g_rand_int_range (rand, 0, G_N_ELEMENTS (dtypes))];
  guint n_dims = (guint)g_rand_int_range (rand, 0, 4);
  gint64 shape[4] = { 1, 1, 1, 1 }, strides[4];
  gsize item = dtype.bits / 8, n = item;
  HrMemory *memory;

  for (guint i = 0; i < n_dims; i++) {
    shape[i] = g_rand_int_range (rand, 0, 12) - (g_rand_int_range (rand, 0, 10) > 0 ? 0 : 1);
    shape[i] = MAX (shape[i], 0);
    n *= (gsize)shape[i];
  }
  switch (g_rand_int_range (rand, 0, 4)) {
  case 0: /* a part of what others see, too */
    if (n <= shared->size / 2)
      return hr_tensor_new (hr_memory_ref (shared),
                            (gsize)g_rand_int_range (rand, 0, (gint)(shared->size / 4)) / 8 * 8,
                            dtype, n_dims, shape);
    break;
  case 1: /* the first two dimensions swapped, the last backwards */
    if (n_dims == 3 && n > 0) {
      memory = random_memory (rand, n + 64);
      strides[0] = shape[2];
      strides[1] = shape[0] * shape[2];
      strides[2] = -1;
      return hr_tensor_new_strided (memory, (gsize)(shape[2] - 1) * item, dtype, 3, shape, strides);
    }
    break;
  default:
    break;
  }
  memory = random_memory (rand, n + 16);
  return hr_tensor_new (memory, g_rand_boolean (rand) ? 8 : 0, dtype, n_dims, shape);
}

static char *
random_text (GRand *rand)
{
  static const char *const texts[] = { "", "a", "naïve “text”", "line\nline\ttab",
                                       "\xff\xfe no UTF-8" };
  guint i = (guint)g_rand_int_range (rand, 0, G_N_ELEMENTS (texts) + 1);

  return i < G_N_ELEMENTS (texts) ? g_strdup (texts[i])
                                  : g_strnfill ((gsize)g_rand_int_range (rand, 0, 3000), 'x');
}

static JsonNode *
random_json (GRand *rand, guint depth)
{
  static const double numbers[] = { 0.1, -0.0, 1.0, 1e300, 5e-324, 3.0000000000000004 };
  JsonNode *node = json_node_alloc ();

  switch (g_rand_int_range (rand, 0, depth > 4 ? 6 : 8)) {
  case 0:
    return json_node_init_null (node);
  case 1:
    return json_node_init_boolean (node, g_rand_boolean (rand));
  case 2:
    return json_node_init_int (node,
                               (gint64)(((guint64)g_rand_int (rand) << 32) | g_rand_int (rand)));
  case 3:
    return json_node_init_double (node,
                                  numbers[g_rand_int_range (rand, 0, G_N_ELEMENTS (numbers))]);
  case 4:
  case 5: {
    g_autofree char *text = random_text (rand);

    return json_node_init_string (node, text);
  }
  case 6: {
    g_autoptr (JsonArray) array = json_array_new ();

    for (gint n = g_rand_int_range (rand, 0, 4); n > 0; n--)
      json_array_add_element (array, random_json (rand, depth + 1));
    return json_node_init_array (node, array);
  }
  default: {
    g_autoptr (JsonObject) object = json_object_new ();

    for (gint n = g_rand_int_range (rand, 0, 4); n > 0; n--) {
      g_autofree char *name = g_strdup_printf ("member %d", n);

      json_object_set_member (object, name, random_json (rand, depth + 1));
    }
    return json_node_init_object (node, object);
  }
  }
}

static HrList *
random_list (GRand *rand, HrMemory *shared)
{
  HrList *list = hr_list_new (0);

  for (gint n = g_rand_int_range (rand, 0, 6); n > 0; n--) {
    g_autofree char *text = random_text (rand);

    switch (g_rand_int_range (rand, 0, 3)) {
    case 0:
      hr_list_append_tensor (list, random_tensor (rand, shared));
      break;
    case 1:
      hr_list_append_string (list, text);
      break;
    default:
      hr_list_append_json (list, random_json (rand, 0));
      break;
    }
  }
  return list;
}

static void
add_fields (GRand *rand, HrBuffer *buffer, HrMemory *shared)
{
  static const char *const names[] = { "images", "input_ids", "lines", "conversation",
                                       "id",     "labels",    "grid",  "x" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *text = random_text (rand);

    switch (g_rand_int_range (rand, 0, 6)) {
    case 0:
    case 1:
      hr_buffer_set_tensor (buffer, names[i], random_tensor (rand, shared));
      break;
    case 2:
      hr_buffer_set_list (buffer, names[i], random_list (rand, shared));
      break;
    case 3:
      hr_buffer_set_json (buffer, names[i], random_json (rand, 0));
      break;
    case 4:
      hr_buffer_set_string (buffer, names[i], text);
      break;
    default:
      break;
    }
  }
}

static HrOrigin *
random_origin (GRand *rand)
{
  g_autoptr (GRefString) uri = g_ref_string_new ("s3://bucket/train/a.jsonl"),
                         root = g_ref_string_new ("s3://bucket/train/");
  HrOrigin *origin;

  if (g_rand_int_range (rand, 0, 3) == 0)
    return NULL;
  origin = hr_origin_new (uri, g_rand_boolean (rand) ? root : NULL, g_rand_int (rand),
                          g_rand_int_range (rand, -1, 9), g_rand_int_range (rand, -1, 1000));
  origin->id = g_rand_boolean (rand) ? random_text (rand) : NULL;
  return origin;
}

static GError *
random_error (GRand *rand)
{
  GError *error;

  if (g_rand_int_range (rand, 0, 4) == 0)
    return NULL;
  error = g_error_new_literal (HR_DATA_ERROR, g_rand_int_range (rand, 0, HR_N_DATA_ERRORS),
                               "imagedecode \"d0\": a.jsonl:1 b.jpg: JPEG ends early");
  if (g_rand_boolean (rand))
    hr_data_error_set_member (error, "b.jpg", (guint)g_rand_int_range (rand, 0, 5));
  if (hr_letter_of (error) != NULL) {
    hr_letter_of (error)->name = g_strdup ("d0");
    hr_letter_of (error)->what = g_strdup ("JPEG ends early");
  }
  return error;
}

static HrBuffer *
random_sample (GRand *rand, HrMemory *shared, gboolean hole)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_set_origin (buffer, random_origin (rand));
  if (hole) {
    hr_buffer_make_hole (buffer, random_error (rand));
    buffer->flags |= g_rand_boolean (rand) ? HR_BUFFER_DROPPED : 0;
  } else {
    add_fields (rand, buffer, shared);
  }
  buffer->flags |= g_rand_boolean (rand) ? HR_BUFFER_BLOCK_END : 0;
  buffer->number = g_rand_int (rand);
  buffer->sample = g_rand_int (rand);
  buffer->place = (gint64)g_rand_int (rand) - 1;
  buffer->epoch = (guint)g_rand_int_range (rand, 0, 3);
  buffer->row = g_rand_int_range (rand, -1, 100);
  return buffer;
}

HrBuffer *
random_buffer_new (guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (HrMemory) shared = random_memory (rand, 4096);
  gboolean batch = g_rand_boolean (rand);
  HrBuffer *buffer = random_sample (rand, shared, !batch && g_rand_int_range (rand, 0, 5) == 0);

  if (!batch)
    return buffer;
  for (gint n = g_rand_int_range (rand, 1, 6); n > 0; n--) {
    HrBuffer *member = random_sample (rand, shared, g_rand_int_range (rand, 0, 4) == 0);

    if (!(member->flags & HR_BUFFER_HOLE) && g_rand_boolean (rand))
      hr_buffer_copy_fields (member, buffer); /* what the batch has of it */
    hr_buffer_add_member (buffer, member);
  }
  if (g_rand_boolean (rand)) {
    buffer->left_out = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
    g_ptr_array_add (buffer->left_out, random_sample (rand, shared, TRUE));
  }
  return buffer;
}

/* ---- the same ---- */

static void
assert_same_origin (const HrOrigin *a, const HrOrigin *b)
{
  g_assert_true ((a == NULL) == (b == NULL));
  if (a == NULL)
    return;
  g_assert_cmpstr (a->uri, ==, b->uri);
  g_assert_cmpstr (a->root, ==, b->root);
  g_assert_cmpstr (a->id, ==, b->id);
  g_assert_cmpint (a->byte, ==, b->byte);
  g_assert_cmpint (a->length, ==, b->length);
  g_assert_cmpint (a->line, ==, b->line);
}

static void
assert_same_error (const GError *a, const GError *b)
{
  const HrLetter *x = a != NULL ? hr_letter_of (a) : NULL, *y = b != NULL ? hr_letter_of (b) : NULL;

  g_assert_true ((a == NULL) == (b == NULL) && (x == NULL) == (y == NULL));
  if (a == NULL)
    return;
  g_assert_cmpuint (a->domain, ==, b->domain);
  g_assert_cmpint (a->code, ==, b->code);
  g_assert_cmpstr (a->message, ==, b->message);
  if (x == NULL)
    return;
  g_assert_cmpstr (x->name, ==, y->name);
  g_assert_cmpstr (x->what, ==, y->what);
  g_assert_cmpstr (x->image, ==, y->image);
  g_assert_cmpint (x->index, ==, y->index);
}

static void
assert_same_names (const HrBuffer *a, const HrBuffer *b)
{
  g_assert_cmpuint (hr_buffer_get_n_fields (a), ==, hr_buffer_get_n_fields (b));
  for (guint i = 0; i < hr_buffer_get_n_fields (a); i++) {
    HrFieldType x, y;

    g_assert_cmpstr (hr_buffer_get_field (a, i, &x), ==, hr_buffer_get_field (b, i, &y));
    g_assert_cmpint (x, ==, y);
  }
}

void
random_buffer_assert_equal (const HrBuffer *a, const HrBuffer *b)
{
  g_autofree char *x = hr_buffer_get_digest (a), *y = hr_buffer_get_digest (b);

  assert_same_names (a, b);
  g_assert_cmpstr (x, ==, y);
  g_assert_cmpint (a->number, ==, b->number);
  g_assert_cmpint (a->sample, ==, b->sample);
  g_assert_cmpint (a->place, ==, b->place);
  g_assert_cmpuint (a->epoch, ==, b->epoch);
  g_assert_cmpuint (a->flags, ==, b->flags);
  g_assert_cmpint (a->row, ==, b->row);
  assert_same_origin (hr_buffer_get_origin (a), hr_buffer_get_origin (b));
  assert_same_error (hr_buffer_get_error (a), hr_buffer_get_error (b));
  g_assert_cmpuint (hr_buffer_get_n_members (a), ==, hr_buffer_get_n_members (b));
  for (guint i = 0; i < hr_buffer_get_n_members (a); i++)
    random_buffer_assert_equal (hr_buffer_get_member (a, i), hr_buffer_get_member (b, i));
  g_assert_true ((a->left_out == NULL) == (b->left_out == NULL));
  for (guint i = 0; a->left_out != NULL && i < a->left_out->len; i++)
    random_buffer_assert_equal (a->left_out->pdata[i], b->left_out->pdata[i]);
}
