/* batch: which samples, which fields, ranges of lists, holes and the tail */
#include <string.h>
#include "hr-harness.h"

static HrTensor *
tensor_of (const char *text)
{
  return hr_tensor_new_bytes (hr_memory_new_copy (text, strlen (text)));
}

/* a sample with @n_images images, an id and a tensor */
static HrBuffer *
make_sample (guint index, guint n_images)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrList *images = hr_list_new (0);
  g_autofree char *id = g_strdup_printf ("id-%u", index);

  for (guint i = 0; i < n_images; i++) {
    g_autofree char *text = g_strdup_printf ("image %u.%u", index, i);

    hr_list_append_tensor (images, tensor_of (text));
  }
  hr_buffer_set_list (buffer, "images", images);
  hr_buffer_set_string (buffer, "id", id);
  hr_buffer_set_tensor (buffer, "bytes", tensor_of (id));
  return buffer;
}

static HrBuffer *
make_hole (void)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_make_hole (buffer, g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON, "bad"));
  return buffer;
}

static void
assert_ranges (const HrBuffer *batch, const char *name, const gint32 *expected, guint n)
{
  HrTensor *tensor = hr_buffer_get_tensor (batch, name);

  g_assert_nonnull (tensor);
  g_assert_cmpstr (hr_dtype_get_name (hr_tensor_get_dtype (tensor)), ==, "int32");
  g_assert_cmpuint (hr_tensor_get_n_dims (tensor), ==, 1);
  g_assert_cmpint (hr_tensor_get_shape (tensor)[0], ==, n);
  g_assert_cmpmem (hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor), expected,
                   n * sizeof (gint32));
}

static void
assert_image (const HrBuffer *batch, guint index, const char *text)
{
  HrTensor *tensor = hr_list_get_tensor (hr_buffer_get_list (batch, "images"), index);

  g_assert_cmpmem (hr_tensor_get_data (tensor), hr_tensor_get_n_bytes (tensor), text,
                   strlen (text));
}

static void
test_fields (void)
{
  HrHarness *harness = hr_harness_new ("batch size=3", 1);
  g_autoptr (HrBuffer) batch = NULL;
  HrTensor *image;

  hr_harness_push (harness, make_sample (0, 2));
  hr_harness_push (harness, make_sample (1, 0));
  hr_harness_push (harness, make_sample (2, 1));
  hr_harness_end (harness);
  batch = hr_harness_pull (harness);
  g_assert_null (hr_harness_pull (harness));

  g_assert_true (batch->flags & HR_BUFFER_BATCH);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 3);
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (batch, "images")), ==, 3);
  assert_image (batch, 0, "image 0.0");
  assert_image (batch, 1, "image 0.1");
  assert_image (batch, 2, "image 2.0");
  assert_ranges (batch, "image_cu", (const gint32[]){ 0, 2, 2, 3 }, 4);
  g_assert_cmpstr (hr_list_get_string (hr_buffer_get_list (batch, "id"), 1), ==, "id-1");
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (batch, "bytes")), ==, 3);
  g_assert_cmpuint (hr_buffer_get_n_fields (batch), ==, 4);
  /* nothing is copied: the member's very tensor */
  image = hr_list_get_tensor (hr_buffer_get_list (hr_buffer_get_member (batch, 2), "images"), 0);
  g_assert_true (hr_list_get_tensor (hr_buffer_get_list (batch, "images"), 2) == image);
  hr_harness_free (harness);
}

static void
test_numbers (void)
{
  HrHarness *harness = hr_harness_new ("fakesrc num-buffers=11 ! batch size=4", 1);

  for (gint64 step = 0; step < 3; step++) {
    g_autoptr (HrBuffer) batch = hr_harness_pull (harness);

    g_assert_cmpint (batch->number, ==, step);
    g_assert_cmpint (batch->sample, ==, step * 4);
    g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, step < 2 ? 4 : 3);
    for (guint i = 0; i < hr_buffer_get_n_members (batch); i++)
      g_assert_cmpint (hr_buffer_get_member (batch, i)->sample, ==, step * 4 + i);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static guint
count_batches (const char *text)
{
  HrHarness *harness = hr_harness_new (text, 1);
  guint n = 0;

  for (HrBuffer *batch; (batch = hr_harness_pull (harness)) != NULL; n++)
    hr_buffer_unref (batch);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
  return n;
}

static void
test_tail (void)
{
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=0 ! batch size=4"), ==, 0);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=1 ! batch size=4"), ==, 1);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=8 ! batch size=4"), ==, 2);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=9 ! batch size=4"), ==, 3);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=9 ! batch size=1"), ==, 9);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=9 ! batch size=4 drop-last=true"), ==, 2);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=8 ! batch size=4 drop-last=true"), ==, 2);
  g_assert_cmpuint (count_batches ("fakesrc num-buffers=3 ! batch size=4 drop-last=true"), ==, 0);
}

/* a skipped sample makes its batch shorter; no later sample moves up */
static void
test_holes (void)
{
  HrHarness *harness = hr_harness_new ("batch size=2", 1);
  HrBuffer *batch;

  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_sample (1, 1));
  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_hole ());
  hr_harness_push (harness, make_sample (4, 1));
  hr_harness_end (harness);

  batch = hr_harness_pull (harness);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 2);
  g_assert_error (hr_buffer_get_error (hr_buffer_get_member (batch, 0)), HR_DATA_ERROR,
                  HR_DATA_ERROR_BAD_JSON);
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (batch, "id")), ==, 1);
  g_assert_cmpstr (hr_list_get_string (hr_buffer_get_list (batch, "id"), 0), ==, "id-1");
  assert_ranges (batch, "image_cu", (const gint32[]){ 0, 1 }, 2);
  hr_buffer_unref (batch);

  /* a batch of holes is delivered and counts */
  batch = hr_harness_pull (harness);
  g_assert_cmpint (batch->number, ==, 1);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 2);
  g_assert_cmpuint (hr_buffer_get_n_fields (batch), ==, 0);
  hr_buffer_unref (batch);

  batch = hr_harness_pull (harness);
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 1);
  g_assert_cmpstr (hr_list_get_string (hr_buffer_get_list (batch, "id"), 0), ==, "id-4");
  hr_buffer_unref (batch);
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* samples that differ in their fields: item i stays sample i's */
static void
test_uneven_fields (void)
{
  HrHarness *harness = hr_harness_new ("batch size=3", 1);
  g_autoptr (HrBuffer) batch = NULL;
  HrBuffer *sample;
  HrList *list;

  sample = make_sample (0, 1);
  list = hr_list_new (0);
  hr_list_append_string (list, "a");
  hr_list_append_string (list, "b");
  hr_buffer_set_list (sample, "words", list);
  hr_harness_push (harness, sample);
  sample = make_sample (1, 1);
  hr_buffer_remove (sample, "id");
  hr_buffer_set_json (sample, "source", json_from_string ("[7]", NULL));
  hr_harness_push (harness, sample);
  sample = make_sample (2, 2);
  hr_buffer_remove (sample, "images");
  hr_harness_push (harness, sample);
  hr_harness_end (harness);
  batch = hr_harness_pull (harness);

  list = hr_buffer_get_list (batch, "id");
  g_assert_cmpuint (hr_list_get_length (list), ==, 3);
  g_assert_true (JSON_NODE_HOLDS_NULL (hr_list_get_json (list, 1)));
  g_assert_cmpstr (hr_list_get_string (list, 2), ==, "id-2");
  list = hr_buffer_get_list (batch, "source");
  g_assert_cmpuint (hr_list_get_length (list), ==, 3);
  g_assert_true (JSON_NODE_HOLDS_NULL (hr_list_get_json (list, 0)));
  g_assert_true (JSON_NODE_HOLDS_ARRAY (hr_list_get_json (list, 1)));
  assert_ranges (batch, "image_cu", (const gint32[]){ 0, 1, 2, 2 }, 4);
  /* words are not one an image */
  assert_ranges (batch, "words_cu", (const gint32[]){ 0, 2, 2, 2 }, 4);
  g_assert_null (hr_buffer_get_tensor (batch, "images_cu"));
  hr_harness_free (harness);
}

/* a batch that is half full when everything stops */
static void
test_stop (void)
{
  HrHarness *harness = hr_harness_new ("batch size=100", 1);

  for (guint i = 0; i < 10; i++)
    hr_harness_push (harness, make_sample (i, 1));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_nothing_copied (void)
{
  HrHarness *harness = hr_harness_new ("fakesrc num-buffers=12 size=1KiB ! batch size=4", 1);
  g_autofree char *stats = NULL;

  hr_harness_wait (harness);
  stats = hr_pipeline_get_stats (hr_harness_get_pipeline (harness));
  g_assert_nonnull (strstr (stats, "\"bytes_copied\":0"));
  g_assert_null (g_strrstr (stats, "\"bytes_copied\":1"));
  hr_harness_free (harness);
}

static void
test_same_bytes (void)
{
  g_free (hr_harness_run ("on-error=skip fakesrc num-buffers=101 ! identity error-every=9 ! batch "
                          "size=8 ! prefetchqueue max-batches=3 ! fakesink"));
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/batch/fields", test_fields);
  g_test_add_func ("/batch/numbers", test_numbers);
  g_test_add_func ("/batch/tail", test_tail);
  g_test_add_func ("/batch/holes", test_holes);
  g_test_add_func ("/batch/uneven-fields", test_uneven_fields);
  g_test_add_func ("/batch/stop", test_stop);
  g_test_add_func ("/batch/nothing-copied", test_nothing_copied);
  g_test_add_func ("/batch/same-bytes", test_same_bytes);
  return g_test_run ();
}
