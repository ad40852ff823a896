/* batch with mode=padded and packed: fields, shapes, types, padding, holes, blocks, refusals */
#include <string.h>
#include "hr-harness.h"

/* ---- samples as tokenize makes them ---- */

typedef struct {
  guint length;
  guint images;  /* each of 4 patches; its tokens come first, one each */
  guint planes;  /* of position_ids; 0: 3 */
  gboolean slim; /* int32, not int64 */
  const char *without;
} Sample;

static HrTensor *
numbers (HrDType dtype, guint n_dims, const gint64 *shape, gint64 from, gint64 step)
{
  gsize n = 1;
  HrMemory *memory;

  for (guint i = 0; i < n_dims; i++)
    n *= (gsize)shape[i];
  memory = hr_memory_new (MAX (n * dtype.bits / 8, 1));
  for (gsize i = 0; i < n; i++)
    if (dtype.bits == 64)
      ((gint64 *)(gpointer)memory->data)[i] = from + (gint64)i * step;
    else
      ((gint32 *)(gpointer)memory->data)[i] = (gint32)(from + (gint64)i * step);
  return hr_tensor_new (memory, 0, dtype, n_dims, shape);
}

static void
set (HrBuffer *buffer, const Sample *sample, const char *name, HrTensor *tensor)
{
  if (sample->without == NULL || !g_str_equal (sample->without, name))
    hr_buffer_set_tensor (buffer, name, tensor);
  else
    hr_tensor_unref (tensor);
}

/* ids are 1000 × @index and what follows; labels their negatives but for -100s on images */
static HrBuffer *
make_sample (gint64 index, const Sample *sample)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrDType dtype = sample->slim ? HR_INT32 : HR_INT64;
  gint64 planes = sample->planes > 0 ? sample->planes : 3;
  gint64 row[] = { sample->length }, rows[] = { planes, sample->length },
         grids[] = { sample->images, 3 };
  GRefString *uri = g_ref_string_new ("mem:a.jsonl");
  HrTensor *types = numbers (HR_INT32, 1, row, 0, 0);

  for (guint i = 0; i < sample->images; i++)
    ((gint32 *)hr_tensor_get_data (types))[i] = 1;
  set (buffer, sample, "input_ids", numbers (dtype, 1, row, 1000 * index, 1));
  set (buffer, sample, "labels", numbers (dtype, 1, row, -1000 * index - 1, -1));
  set (buffer, sample, "attention_mask", numbers (dtype, 1, row, 1, 0));
  set (buffer, sample, "mm_token_type_ids", types);
  set (buffer, sample, "position_ids", numbers (dtype, 2, rows, 0, 1));
  if (sample->images > 0) {
    set (buffer, sample, "image_grid_thw", numbers (HR_INT64, 2, grids, index, 0));
    set (buffer, sample, "pixel_values",
         numbers (HR_INT32, 2, (const gint64[]){ 4 * sample->images, 2 }, index, 0));
  }
  hr_buffer_set_origin (buffer, hr_origin_new (uri, NULL, 0, 1, index + 1));
  g_ref_string_release (uri);
  return buffer;
}

static HrBuffer *
make_hole (void)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_make_hole (buffer, g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON, "bad"));
  return buffer;
}

static gint64
number_at (const HrTensor *tensor, gsize index)
{
  const void *data = hr_tensor_get_data (tensor);

  return hr_tensor_get_dtype (tensor).bits == 64 ? ((const gint64 *)data)[index]
                                                 : ((const gint32 *)data)[index];
}

static void
assert_field (const HrBuffer *batch, const char *name, const char *dtype, guint n_dims,
              const gint64 *shape)
{
  HrTensor *tensor = hr_buffer_get_tensor (batch, name);

  if (tensor == NULL)
    g_error ("there is no %s", name);
  g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (tensor)), ==, dtype);
  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, n_dims);
  for (guint i = 0; i < n_dims; i++)
    if (hr_tensor_get_dim (tensor, i) != shape[i])
      g_error ("%s: dimension %u is %d, not %d", name, i, (int)hr_tensor_get_dim (tensor, i),
               (int)shape[i]);
}

#define SHAPE(...)                                                                                 \
  G_N_ELEMENTS (((const gint64[]){ __VA_ARGS__ })), (const gint64[])                               \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }

static void
assert_numbers (const HrBuffer *batch, const char *name, const gint64 *expected, gsize n)
{
  HrTensor *tensor = hr_buffer_get_tensor (batch, name);

  g_assert_nonnull (tensor);
  g_assert_cmpuint (hr_tensor_get_n_bytes (tensor) * 8 / hr_tensor_get_dtype (tensor).bits, ==, n);
  for (gsize i = 0; i < n; i++)
    if (number_at (tensor, i) != expected[i])
      g_error ("%s[%d] is %d, not %d", name, (int)i, (int)number_at (tensor, i), (int)expected[i]);
}

#define NUMBERS(batch, name, ...)                                                                  \
  assert_numbers (batch, name, (const gint64[]){ __VA_ARGS__ },                                    \
                  G_N_ELEMENTS (((const gint64[]){ __VA_ARGS__ })))

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* the names of its tensors, in order */
static char *
name_tensors (const HrBuffer *batch)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < hr_buffer_get_n_fields (batch); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (batch, i, &type);

    if (type == HR_FIELD_TENSOR)
      g_ptr_array_add (names, (gpointer)name);
  }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" ", (char **)names->pdata);
}

static void
assert_tensors (const HrBuffer *batch, const char *expected)
{
  g_autofree char *names = name_tensors (batch);

  g_assert_cmpstr (names, ==, expected);
}

#define PADDED "attention_mask image_cu input_ids labels mm_token_type_ids position_ids"
#define PACKED                                                                                     \
  "cu_seqlens image_cu input_ids labels max_length_k max_length_q mm_token_type_ids position_ids"

/* ---- padded ---- */

static void
test_padded (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=padded size=3 pad-id=7", 1);
  g_autoptr (HrBuffer) batch = NULL;

  hr_harness_push (harness, make_sample (1, &(Sample){ .length = 2 }));
  hr_harness_push (harness, make_sample (2, &(Sample){ .length = 4, .images = 2 }));
  hr_harness_push (harness, make_sample (3, &(Sample){ .length = 1, .images = 1 }));
  batch = hr_harness_pull (harness);
  assert_field (batch, "input_ids", "int64", SHAPE (3, 4));
  assert_field (batch, "labels", "int64", SHAPE (3, 4));
  assert_field (batch, "attention_mask", "int64", SHAPE (3, 4));
  assert_field (batch, "mm_token_type_ids", "int32", SHAPE (3, 4));
  assert_field (batch, "position_ids", "int64", SHAPE (3, 3, 4));
  assert_field (batch, "image_grid_thw", "int64", SHAPE (3, 3));
  assert_field (batch, "pixel_values", "int32", SHAPE (12, 2));
  assert_field (batch, "image_cu", "int32", SHAPE (4));
  NUMBERS (batch, "input_ids", 1000, 1001, 7, 7, 2000, 2001, 2002, 2003, 3000, 7, 7, 7);
  NUMBERS (batch, "labels", -1001, -1002, -100, -100, -2001, -2002, -2003, -2004, -3001, -100, -100,
           -100);
  NUMBERS (batch, "attention_mask", 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0);
  NUMBERS (batch, "mm_token_type_ids", 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0);
  NUMBERS (batch, "position_ids", 0, 1, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, /* time */
           2, 3, 0, 0, 4, 5, 6, 7, 1, 0, 0, 0,                        /* height */
           4, 5, 0, 0, 8, 9, 10, 11, 2, 0, 0, 0);                     /* width */
  NUMBERS (batch, "image_grid_thw", 2, 2, 2, 2, 2, 2, 3, 3, 3);
  NUMBERS (batch, "image_cu", 0, 0, 2, 3);
  hr_harness_free (harness);
}

/* a batch of holes, even the first, has the fields, types and rows of any other */
static void
test_all_holes (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=padded size=2", 1);

  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_sample (1, &(Sample){ .length = 3 }));
  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_hole ());
  hr_harness_end (harness);
  for (guint b = 0; b < 3; b++) {
    g_autoptr (HrBuffer) batch = hr_harness_pull (harness);
    gint64 length = b == 1 ? 3 : 1;

    assert_tensors (batch, PADDED);
    assert_field (batch, "input_ids", "int64", SHAPE (2, length));
    assert_field (batch, "labels", "int64", SHAPE (2, length));
    assert_field (batch, "attention_mask", "int64", SHAPE (2, length));
    assert_field (batch, "mm_token_type_ids", "int32", SHAPE (2, length));
    assert_field (batch, "position_ids", "int64", SHAPE (3, 2, length));
    NUMBERS (batch, "image_cu", 0, 0, 0);
    if (b == 1)
      continue;
    NUMBERS (batch, "input_ids", 151643, 151643);
    NUMBERS (batch, "labels", -100, -100);
    NUMBERS (batch, "attention_mask", 0, 0);
    NUMBERS (batch, "mm_token_type_ids", 0, 0);
    NUMBERS (batch, "position_ids", 0, 0, 0, 0, 0, 0);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* … also int32 ones with four rows of positions, once there has been a sample */
static void
test_form (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=padded size=1", 1);
  const Sample slim = { .length = 2, .planes = 4, .slim = TRUE, .without = "attention_mask" };

  hr_harness_push (harness, make_sample (1, &slim));
  hr_harness_push (harness, make_hole ());
  hr_harness_end (harness);
  for (gint64 length = 2; length > 0; length--) {
    g_autoptr (HrBuffer) batch = hr_harness_pull (harness);

    assert_tensors (batch, "image_cu input_ids labels mm_token_type_ids position_ids");
    assert_field (batch, "input_ids", "int32", SHAPE (1, length));
    assert_field (batch, "labels", "int32", SHAPE (1, length));
    assert_field (batch, "position_ids", "int32", SHAPE (4, 1, length));
    if (length == 1)
      NUMBERS (batch, "labels", -100);
  }
  hr_harness_free (harness);
}

static void
test_multiple (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=padded size=1 pad-to-multiple=8", 1);
  static const struct {
    guint tokens;
    gint64 length;
  } rows[] = { { 1, 8 }, { 8, 8 }, { 9, 16 }, { 0, 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    hr_harness_push (harness, rows[i].tokens > 0
                                  ? make_sample (1, &(Sample){ .length = rows[i].tokens })
                                  : make_hole ());
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (HrBuffer) batch = hr_harness_pull (harness);
    HrTensor *mask = hr_buffer_get_tensor (batch, "attention_mask");
    gint64 n = 0;

    assert_field (batch, "input_ids", "int64", SHAPE (1, rows[i].length));
    assert_field (batch, "position_ids", "int64", SHAPE (3, 1, rows[i].length));
    for (gint64 k = 0; k < rows[i].length; k++)
      n += number_at (mask, (gsize)k);
    g_assert_cmpint (n, ==, rows[i].tokens);
  }
  hr_harness_free (harness);
}

/* the last batch has rows of padding, or is left out */
static void
test_tail (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=padded size=3", 1);
  HrBuffer *batch;

  hr_harness_push (harness, make_sample (1, &(Sample){ .length = 2 }));
  hr_harness_end (harness);
  batch = hr_harness_pull (harness);
  assert_field (batch, "input_ids", "int64", SHAPE (3, 2));
  NUMBERS (batch, "attention_mask", 1, 1, 0, 0, 0, 0);
  NUMBERS (batch, "image_cu", 0, 0, 0, 0);
  hr_buffer_unref (batch);
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);

  harness = hr_harness_new ("batch mode=padded size=3 drop-last=true", 1);
  hr_harness_push (harness, make_sample (1, &(Sample){ .length = 2 }));
  hr_harness_end (harness);
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* ---- packed ---- */

static void
test_packed (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=packed max-tokens=6", 1);
  g_autoptr (HrBuffer) one = NULL, two = NULL;

  hr_harness_push (harness, make_sample (1, &(Sample){ .length = 2, .planes = 4 }));
  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_sample (2, &(Sample){ .length = 5, .images = 2, .planes = 4 }));
  hr_harness_push (harness, make_sample (3, &(Sample){ .length = 3, .planes = 4 }));
  hr_harness_end (harness);
  one = hr_harness_pull (harness);
  two = hr_harness_pull (harness);
  g_assert_null (hr_harness_pull (harness));

  /* text alone: neither pixels nor grids */
  assert_tensors (one, PACKED);
  assert_field (one, "input_ids", "int64", SHAPE (1, 5));
  assert_field (one, "labels", "int64", SHAPE (1, 5));
  assert_field (one, "mm_token_type_ids", "int32", SHAPE (1, 5));
  assert_field (one, "position_ids", "int64", SHAPE (4, 1, 5));
  assert_field (one, "cu_seqlens", "int32", SHAPE (3));
  assert_field (one, "max_length_q", "int32", 0, NULL);
  assert_field (one, "max_length_k", "int32", 0, NULL);
  NUMBERS (one, "input_ids", 1000, 1001, 3000, 3001, 3002);
  NUMBERS (one, "labels", -1001, -1002, -3001, -3002, -3003);
  NUMBERS (one, "cu_seqlens", 0, 2, 5);
  NUMBERS (one, "max_length_q", 3);
  NUMBERS (one, "max_length_k", 3);
  NUMBERS (one, "image_cu", 0, 0, 0);
  NUMBERS (one, "position_ids", 0, 1, 0, 1, 2, 2, 3, 3, 4, 5, 4, 5, 6, 7, 8, 6, 7, 9, 10, 11);
  g_assert_cmpint (one->sample, ==, 0);
  g_assert_cmpint (one->number, ==, 0);
  g_assert_cmpuint (hr_buffer_get_n_members (one), ==, 2);

  assert_tensors (two, "cu_seqlens image_cu image_grid_thw input_ids labels max_length_k "
                       "max_length_q mm_token_type_ids pixel_values position_ids");
  NUMBERS (two, "cu_seqlens", 0, 5);
  NUMBERS (two, "image_cu", 0, 2);
  NUMBERS (two, "mm_token_type_ids", 1, 1, 0, 0, 0);
  assert_field (two, "image_grid_thw", "int64", SHAPE (2, 3));
  g_assert_cmpint (two->sample, ==, 2);
  g_assert_cmpint (two->number, ==, 1);
  hr_harness_free (harness);
}

static void
expect_dropped (HrPipeline *pipeline, const char *pattern)
{
  HrMessage *message;
  gboolean found = FALSE;

  while ((message = hr_pipeline_pop_message (pipeline, 0)) != NULL) {
    if (message->type == HR_MESSAGE_DROPPED) {
      g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG);
      if (!g_pattern_match_simple (pattern, message->error->message))
        g_error ("\"%s\" is not like \"%s\"", message->error->message, pattern);
      g_assert_false (found);
      found = TRUE;
    }
    hr_message_unref (message);
  }
  g_assert_true (found);
}

/* what fits into no row is told with its place, and counted */
static void
test_too_long (void)
{
  static const struct {
    const char *element, *pattern;
    Sample sample;
  } rows[] = {
    { "batch mode=packed max-tokens=6",
      "*mem:a.jsonl:3: 7 tokens, and a row has max-tokens=6; tokenize max-length=6*",
      { .length = 7 } },
    { "batch mode=packed max-tokens=9 max-image-tokens=2",
      "*mem:a.jsonl:3: 3 tokens of images, and a row has max-image-tokens=2*",
      { .length = 6, .images = 3 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    HrHarness *harness = hr_harness_new (rows[i].element, 1);
    g_autoptr (HrBuffer) row = NULL;
    g_autofree char *stats = NULL;

    hr_harness_push (harness, make_sample (1, &(Sample){ .length = 3 }));
    hr_harness_push (harness, make_sample (2, &rows[i].sample));
    hr_harness_push (harness, make_sample (3, &(Sample){ .length = 3, .images = 2 }));
    hr_harness_end (harness);
    row = hr_harness_pull (harness);
    NUMBERS (row, "cu_seqlens", 0, 3, 6);
    g_assert_null (hr_harness_pull (harness));
    expect_dropped (hr_harness_get_pipeline (harness), rows[i].pattern);
    stats = hr_pipeline_get_stats (hr_harness_get_pipeline (harness));
    g_assert_nonnull (strstr (stats, "\"dropped\":{\"overlong\":1}"));
    hr_harness_free (harness);
  }
  hr_harness_assert_no_leaks ();
}

/* images in a row are bounded apart: 2 + 2 tokens of images would fit by their length */
static void
test_image_budget (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=packed max-tokens=100 max-image-tokens=3", 1);

  for (gint64 i = 0; i < 3; i++)
    hr_harness_push (harness, make_sample (i, &(Sample){ .length = 4, .images = i < 2 ? 2 : 1 }));
  hr_harness_end (harness);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (HrBuffer) row = hr_harness_pull (harness);

    g_assert_nonnull (row);
    g_assert_cmpint (hr_buffer_get_member (row, 0)->sample, ==, i);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
}

/* blocks of which nothing is left make no row, and the run goes on behind them */
static void
test_empty_blocks (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=packed pack-window=2 max-tokens=5", 1);

  for (gint64 i = 0; i < 9; i++)
    hr_harness_push (harness, i == 5   ? make_sample (i, &(Sample){ .length = 3 })
                              : i == 2 ? make_sample (i, &(Sample){ .length = 6 })
                                       : make_hole ());
  hr_harness_end (harness);
  {
    g_autoptr (HrBuffer) row = hr_harness_pull (harness);

    NUMBERS (row, "input_ids", 5000, 5001, 5002);
    g_assert_cmpint (row->number, ==, 0);
    g_assert_cmpint (row->sample, ==, 5);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* half a block when everything stops */
static void
test_stop (void)
{
  HrHarness *harness = hr_harness_new ("batch mode=packed", 1);

  for (gint64 i = 0; i < 10; i++)
    hr_harness_push (harness, make_sample (i, &(Sample){ .length = 3, .images = 1 }));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* ---- what is wrong ---- */

static void
test_bad_samples (void)
{
  static const struct {
    Sample sample;
    const char *pattern;
  } rows[] = {
    { { .length = 2, .without = "input_ids" }, "*no \"input_ids\"*put tokenize before*" },
    { { .length = 0 }, "*no \"input_ids\" of one or more*" },
    { { .length = 2, .without = "labels" }, "*no \"labels\", unlike those before it*" },
    { { .length = 2, .without = "mm_token_type_ids" }, "*no \"mm_token_type_ids\"*" },
    { { .length = 2, .slim = TRUE }, "*\"input_ids\" is not the int64 ?length?*2 input_ids*" },
    { { .length = 2, .planes = 4 }, "*\"position_ids\" is not the int64 ?rows, length?*" },
  };
  static const char *const elements[] = { "batch mode=padded size=2",
                                          "batch mode=packed pack-window=2", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (guint k = 0; elements[k] != NULL; k++) {
      HrHarness *harness = hr_harness_new (elements[k], 1);

      hr_harness_push (harness, make_sample (1, &(Sample){ .length = 3 }));
      hr_harness_push (harness, make_sample (2, &rows[i].sample));
      hr_harness_expect_error (harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, rows[i].pattern);
      hr_harness_free (harness);
    }
  hr_harness_assert_no_leaks ();
}

/* a field that is shorter than the ids, and images of other widths */
static void
test_uneven (void)
{
  static const char *const patterns[] = { "*\"labels\" is not the int64*each of its 3 input_ids*",
                                          "*\"pixel_values\" do not go together*", NULL };

  for (guint i = 0; patterns[i] != NULL; i++) {
    HrHarness *harness = hr_harness_new ("batch mode=packed pack-window=2", 1);
    HrBuffer *sample = make_sample (2, &(Sample){ .length = 3, .images = 1 });

    hr_harness_push (harness, make_sample (1, &(Sample){ .length = 3, .images = 1 }));
    if (i == 0)
      hr_buffer_set_tensor (sample, "labels", numbers (HR_INT64, SHAPE (2), 0, 0));
    else
      hr_buffer_set_tensor (sample, "pixel_values", numbers (HR_INT32, SHAPE (4, 3), 0, 0));
    hr_harness_push (harness, sample);
    hr_harness_expect_error (harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, patterns[i]);
    hr_harness_free (harness);
  }
}

/* a row's bytes are known before they are taken: two rows of 1000 tokens, of five fields */
static void
test_max_bytes (void)
{
  const gint64 bytes = 2 * 1000 * (8 + 8 + 8 + 4 + 3 * 8);
  g_autofree char *fits =
      g_strdup_printf ("batch mode=padded size=2 max-bytes=%" G_GINT64_FORMAT, bytes);
  g_autofree char *not =
      g_strdup_printf ("batch mode=padded size=2 max-bytes=%" G_GINT64_FORMAT, bytes - 1);
  HrHarness *harness = hr_harness_new (fits, 1);

  hr_harness_push (harness, make_sample (0, &(Sample){ .length = 1000 }));
  hr_harness_push (harness, make_sample (0, &(Sample){ .length = 1 }));
  hr_harness_wait (harness);
  hr_harness_free (harness);
  harness = hr_harness_new (not, 1);
  hr_harness_push (harness, make_sample (0, &(Sample){ .length = 1000 }));
  hr_harness_push (harness, make_sample (0, &(Sample){ .length = 1 }));
  hr_harness_expect_error (
      harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
      "*a padded batch of 2 rows of 1000 tokens takes *, and max-bytes is*max-length*");
  hr_harness_free (harness);
  /* a million rows: what they would take is never asked for */
  harness = hr_harness_new ("batch mode=padded size=1048576", 1);
  hr_harness_push (harness, make_sample (0, &(Sample){ .length = 400 }));
  hr_harness_expect_error (harness, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                           "*1048576 rows of 400 tokens takes 20*GiB, and max-bytes is 1.0*GiB*");
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* ---- what is refused before the run ---- */

static void
test_refused (void)
{
  static const char *const rows[][2] = {
    { "appsrc ! batch mode=packed size=4 ! fakesink", "*size does nothing in mode=packed*" },
    { "appsrc ! batch size=32 mode=packed ! fakesink", "*size does nothing in mode=packed*" },
    { "appsrc ! batch mode=packed drop-last=true ! fakesink",
      "*drop-last does nothing in mode=packed*the last block, however short, is packed*" },
    { "appsrc ! batch mode=packed pad-id=0 ! fakesink", "*pad-id does nothing in mode=packed*" },
    { "appsrc ! batch mode=packed pad-to-multiple=8 ! fakesink", "*pad-to-multiple does nothing*" },
    { "appsrc ! batch pad-id=0 ! fakesink", "*pad-id does nothing in mode=list*" },
    { "appsrc ! batch max-bytes=7 ! fakesink", "*max-bytes does nothing in mode=list*" },
    { "appsrc ! batch mode=packed max-bytes=7 ! fakesink", "*max-bytes does nothing*" },
    { "appsrc ! batch name=a ! identity ! batch name=b ! fakesink",
      "*\"b\": it would put the batches of \"a\" into batches*keep one of them*" },
    { "appsrc ! batch name=a ! batch mode=packed name=b ! fakesink", "*the batches of \"a\"*" },
    { "appsrc ! tee name=t ! batch name=a ! join name=j ! batch name=b ! fakesink t. ! j.",
      "*\"b\": it would put the batches of \"a\" into batches*" },
    { "appsrc ! batch max-tokens=7 ! fakesink", "*max-tokens does nothing in mode=list*" },
    { "appsrc ! batch mode=padded max-tokens=7 ! fakesink",
      "*max-tokens does nothing in mode=padded*tokenize max-length*" },
    { "appsrc ! batch mode=padded max-image-tokens=7 ! fakesink",
      "*max-image-tokens does nothing*" },
    { "appsrc ! batch mode=padded pack-window=7 ! fakesink", "*pack-window does nothing*" },
    { "fakesrc ! batch mode=padded ! fakesink", "*\"batch\" needs input_ids*tokenize*" },
    { "fakesrc ! batch mode=packed ! fakesink", "*\"batch\" needs input_ids*tokenize*" },
    { "appsrc ! batch mode=packed name=p ! batch name=b ! fakesink",
      "*\"b\": it would put the batches of \"p\" into batches*" },
    { "appsrc ! batch mode=packed ! identity ordered=false ! fakesink",
      "*\"identity\" with ordered=false behind the packed rows of \"batch\"*" },
    { "appsrc ! batch mode=packed ! tee name=t ! identity name=i ! join name=j ! fakesink t. ! j.",
      "*\"join\" cannot stand behind the packed rows*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (rows[i][0], &error);

    g_assert_null (pipeline);
    g_assert_cmpuint (error->domain, ==, HR_PARSE_ERROR);
    if (!g_pattern_match_simple (rows[i][1], error->message))
      g_error ("\"%s\" is not like \"%s\"", error->message, rows[i][1]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/batch-tokens/padded", test_padded);
  g_test_add_func ("/batch-tokens/all-holes", test_all_holes);
  g_test_add_func ("/batch-tokens/form", test_form);
  g_test_add_func ("/batch-tokens/multiple", test_multiple);
  g_test_add_func ("/batch-tokens/tail", test_tail);
  g_test_add_func ("/batch-tokens/packed", test_packed);
  g_test_add_func ("/batch-tokens/too-long", test_too_long);
  g_test_add_func ("/batch-tokens/image-budget", test_image_budget);
  g_test_add_func ("/batch-tokens/empty-blocks", test_empty_blocks);
  g_test_add_func ("/batch-tokens/stop", test_stop);
  g_test_add_func ("/batch-tokens/bad-samples", test_bad_samples);
  g_test_add_func ("/batch-tokens/uneven", test_uneven);
  g_test_add_func ("/batch-tokens/max-bytes", test_max_bytes);
  g_test_add_func ("/batch-tokens/refused", test_refused);
  return g_test_run ();
}
