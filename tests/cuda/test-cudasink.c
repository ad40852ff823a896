/* cudasink and cudaupload on the stand-in: the bytes of patchify, order between streams, lifetimes,
 * copies of pixels, numbers. The stand-in itself sees every misuse, and fails the program at its
 * end. */
#include <string.h>
#include "cuda-run.h"
#include "hr-harness.h"

static void
check_left (void)
{
  char **(*list) (void) = (char **(*)(void))cuda_run_symbol ("standin_list_left");
  g_auto (GStrv) left = list ();

  cuda_run_assert_no_misuse ();
  for (char **line = left; *line != NULL; line++)
    g_test_message ("left: %s", *line);
  g_assert_cmpuint (g_strv_length (left), ==, 0);
  hr_harness_assert_no_leaks ();
}

static GPtrArray *
digests_of (const char *settings, const char *front, const char *back, guint n, guint block)
{
  g_autofree char *elements = g_strconcat (front, " ! ", back, NULL);
  CudaRun *run = cuda_run_new (settings, elements, n, block);
  GPtrArray *digests = cuda_run_digests (run);

  cuda_run_free (run);
  return digests;
}

static void
assert_same (const char *settings, const char *front, const char *props, const char *only_here,
             guint n, guint block)
{
  g_autofree char *ours = g_strdup_printf ("cudasink %s %s", props, only_here);
  g_autofree char *transform = g_strdup_printf ("cudaupload %s %s ! appsink", props, only_here);
  g_autofree char *theirs = g_strdup_printf ("patchify %s ! appsink", props);
  g_autoptr (GPtrArray) expected = digests_of ("", front, theirs, n, block);
  const char *const backs[] = { ours, transform };

  for (guint k = 0; k < G_N_ELEMENTS (backs); k++) {
    g_autoptr (GPtrArray) got = digests_of (settings, front, backs[k], n, block);

    g_assert_cmpuint (got->len, ==, expected->len);
    for (guint i = 0; i < got->len; i++)
      g_assert_cmpstr (got->pdata[i], ==, expected->pdata[i]);
    check_left ();
  }
}

#define BATCH "batch size=3 ! prefetchqueue"

static void
test_same_bytes (void)
{
  static const char *const dtypes[] = { "float32", "bfloat16", "float16", "uint8" };

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++) {
    g_autofree char *props = g_strdup_printf ("dtype=%s", dtypes[i]);

    assert_same ("", BATCH, props, "", 13, 32);
    assert_same ("serial=true", BATCH, props, "", 13, 32);
  }
  assert_same ("", BATCH,
               "image-mean=0.48145466,0.4578275,0.40821073 "
               "image-std=0.26862954,0.26130258,0.27577711 normalize=pillow",
               "prefetch=1", 13, 32);
}

static void
test_shapes (void)
{
  assert_same ("", BATCH, "patch-size=14", "", 9, 28);
  assert_same ("", BATCH, "patch-size=8 merge-size=1 temporal-patch-size=1", "prefetch=5", 9, 8);
  assert_same ("", BATCH, "patch-size=3 merge-size=3 temporal-patch-size=3 dtype=bfloat16", "", 9,
               9);
}

/* pixels come straight from resize, by several workers */
static void
test_pinned (void)
{
  static const char *const front =
      "resize workers=3 min-pixels=4096 max-pixels=16384 ! batch size=3 ! prefetchqueue";

  assert_same ("", front, "dtype=bfloat16", "", 24, 20);
  assert_same ("memory=64KiB", front, "", "prefetch=4", 24, 20);
}

static void
test_single_samples (void)
{
  assert_same ("", "identity", "", "", 9, 32);
}

/* bad samples, and a batch of nothing else */
static void
test_holes (void)
{
  assert_same ("", "fault error-rate=0.6 seed=3 on-error=skip ! batch size=2 ! prefetchqueue", "",
               "", 30, 32);
}

static void
test_devices (void)
{
  CudaRun *run = cuda_run_new ("", BATCH " ! cudasink device=2,0", 12, 32);
  HrBuffer *batch;
  guint n = 0;

  while ((batch = hr_pipeline_pull (run->pipeline, NULL)) != NULL) {
    HrDevice device;

    for (guint i = 0; i < hr_buffer_get_n_fields (batch); i++) {
      HrTensor *tensor = hr_buffer_get_tensor (batch, hr_buffer_get_field (batch, i, NULL));

      if (tensor == NULL)
        continue;
      hr_memory_get_device (hr_tensor_get_memory (tensor), &device);
      g_assert_cmpint (device.type, ==, HR_DEVICE_CUDA);
      g_assert_cmpint (device.id, ==, n % 2 == 0 ? 2 : 0);
      g_assert_null (hr_tensor_get_data (tensor));
    }
    n++;
    hr_buffer_unref (batch);
  }
  g_assert_cmpuint (n, ==, 4);
  cuda_run_free (run);
  check_left ();
  assert_same ("", BATCH, "dtype=float16", "device=2,0,1", 20, 32);
}

/* ---- the trainer's stream ---- */

typedef struct {
  HrCudaStream stream;
  void *copy;    /* on the device */
  void *fetched; /* in pinned memory */
  gsize size;
  guint8 *expected;
} Consumer;

static int (*stream_create) (HrCudaStream *, unsigned int);
static int (*stream_destroy) (HrCudaStream);
static int (*stream_synchronize) (HrCudaStream);
static int (*copy_async) (void *, const void *, size_t, int, HrCudaStream);
static int (*device_malloc) (void **, size_t);
static int (*device_free) (void *);
static int (*host_alloc) (void **, size_t, unsigned int);
static int (*host_free) (void *);

static void
find_functions (void)
{
  *(void **)&stream_create = cuda_run_symbol ("cudaStreamCreateWithFlags");
  *(void **)&stream_destroy = cuda_run_symbol ("cudaStreamDestroy");
  *(void **)&stream_synchronize = cuda_run_symbol ("cudaStreamSynchronize");
  *(void **)&copy_async = cuda_run_symbol ("cudaMemcpyAsync");
  *(void **)&device_malloc = cuda_run_symbol ("cudaMalloc");
  *(void **)&device_free = cuda_run_symbol ("cudaFree");
  *(void **)&host_alloc = cuda_run_symbol ("cudaHostAlloc");
  *(void **)&host_free = cuda_run_symbol ("cudaFreeHost");
}

/* reads a tensor in a stream of its own, and lets go of it before that has happened */
static void
consume (Consumer *consumer, HrBuffer *batch, const char *field)
{
  HrTensor *tensor = hr_buffer_get_tensor (batch, field);
  g_autoptr (GError) error = NULL;
  HrDevice device;

  g_assert_nonnull (tensor);
  consumer->size = hr_tensor_get_n_bytes (tensor);
  hr_memory_get_device (hr_tensor_get_memory (tensor), &device);
  g_assert_cmpint (stream_create (&consumer->stream, 1), ==, 0);
  g_assert_cmpint (device_malloc (&consumer->copy, consumer->size), ==, 0);
  g_assert_cmpint (host_alloc (&consumer->fetched, consumer->size, 1), ==, 0);
  g_assert_true (
      hr_memory_lend (hr_tensor_get_memory (tensor), (guintptr)consumer->stream, &error));
  g_assert_no_error (error);
  g_assert_cmpint (copy_async (consumer->copy,
                               (guint8 *)device.address + hr_tensor_get_offset (tensor),
                               consumer->size, 3, consumer->stream),
                   ==, 0);
  hr_buffer_unref (batch);
}

static void
finish (Consumer *consumer, const guint8 *expected)
{
  g_assert_cmpint (
      copy_async (consumer->fetched, consumer->copy, consumer->size, 2, consumer->stream), ==, 0);
  g_assert_cmpint (stream_synchronize (consumer->stream), ==, 0);
  g_assert_cmpmem (consumer->fetched, consumer->size, expected, consumer->size);
  g_assert_cmpint (device_free (consumer->copy), ==, 0);
  g_assert_cmpint (host_free (consumer->fetched), ==, 0);
  g_assert_cmpint (stream_destroy (consumer->stream), ==, 0);
}

#define N_STEPS 8

/* many batches under way in the trainer's streams, whose memory is used again meanwhile */
static void
test_streams (void)
{
  CudaRun *run = cuda_run_new ("", BATCH " ! cudasink prefetch=1", N_STEPS * 3, 32);
  CudaRun *reference = cuda_run_new ("", BATCH " ! patchify ! appsink", N_STEPS * 3, 32);
  Consumer consumers[N_STEPS] = { 0 };

  for (guint i = 0; i < N_STEPS; i++)
    consume (&consumers[i], hr_pipeline_pull (run->pipeline, NULL), "pixel_values");
  cuda_run_free (run); /* the streams have done nothing yet */
  for (guint i = 0; i < N_STEPS; i++) {
    g_autoptr (HrBuffer) batch = hr_pipeline_pull (reference->pipeline, NULL);

    finish (&consumers[i], hr_tensor_get_data (hr_buffer_get_tensor (batch, "pixel_values")));
  }
  cuda_run_free (reference);
  check_left ();
}

static void *
unref_batch (void *batch)
{
  hr_buffer_unref (batch);
  return NULL;
}

/* tensors stay what they are when the pipeline is gone; the last is let go by another thread */
static void
test_outlive (void)
{
  CudaRun *run = cuda_run_new ("", BATCH " ! cudasink prefetch=3", 12, 32);
  g_autoptr (GPtrArray) expected = digests_of ("", BATCH, "patchify ! appsink", 12, 32);
  HrBuffer *held[4];

  for (guint i = 0; i < G_N_ELEMENTS (held); i++)
    g_assert_nonnull (held[i] = hr_pipeline_pull (run->pipeline, NULL));
  cuda_run_free (run);
  for (guint i = 0; i < G_N_ELEMENTS (held); i++) {
    g_autofree char *digest = hr_buffer_get_digest (held[i]);
    pthread_t thread;

    g_assert_cmpstr (digest, ==, expected->pdata[i]);
    g_assert_true (
        hr_memory_lend (hr_tensor_get_memory (hr_buffer_get_tensor (held[i], "pixel_values")),
                        i % 2 == 0 ? HR_STREAM_NONE : HR_STREAM_LEGACY, NULL));
    pthread_create (&thread, NULL, unref_batch, held[i]);
    pthread_join (thread, NULL);
  }
  check_left ();
}

/* stopped at any moment: what is being copied from stays until it has been */
static void
test_stop (void)
{
  for (guint n = 0; n < 6; n++) {
    CudaRun *run = cuda_run_new (
        "", "resize min-pixels=4096 max-pixels=65536 ! " BATCH " ! cudasink prefetch=4", 60, 32);

    for (guint i = 0; i < n; i++)
      hr_buffer_unref (hr_pipeline_pull (run->pipeline, NULL));
    cuda_run_free (run);
    check_left ();
  }
}

/* ---- numbers ---- */

static JsonObject *
stats_of (HrPipeline *pipeline, JsonNode **root)
{
  g_autofree char *text = hr_pipeline_get_stats (pipeline);

  *root = json_from_string (text, NULL);
  g_assert_nonnull (*root);
  return json_node_get_object (*root);
}

static JsonObject *
element_of (JsonObject *stats, const char *factory)
{
  JsonArray *elements = json_object_get_array_member (stats, "elements");

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    if (g_str_equal (json_object_get_string_member (element, "factory"), factory))
      return element;
  }
  g_assert_not_reached ();
}

/* pixels are written by resize into page-locked memory, and copied from there: by no CPU */
static void
test_no_copies (void)
{
  CudaRun *run = cuda_run_new (
      "", "resize min-pixels=65536 max-pixels=131072 ! batch size=3 ! prefetchqueue ! cudasink", 12,
      32);
  g_autoptr (JsonNode) root = NULL;
  JsonObject *stats, *sink;
  gint64 copied, uploaded;
  guint n = 0;

  for (HrBuffer *batch; (batch = hr_pipeline_pull (run->pipeline, NULL)) != NULL; n++)
    hr_buffer_unref (batch);
  stats = stats_of (run->pipeline, &root);
  sink = element_of (stats, "cudasink");
  g_assert_cmpstr (
      json_object_get_string_member (
          json_object_get_object_member (element_of (stats, "resize"), "allocators"), "images"),
      ==, "pinned");
  copied = json_object_get_int_member (sink, "bytes_copied");
  uploaded = json_object_get_int_member (sink, "uploaded_bytes");
  g_assert_cmpint (n, ==, 4);
  g_assert_cmpint (json_object_get_int_member (sink, "uploads"), ==, 4);
  g_assert_cmpint (uploaded, >, 18 * 65536 * 3);
  g_assert_cmpint (copied, <, 16384); /* ids, grids and lists of images */
  g_assert_cmpint (copied, >, 0);
  g_assert_cmpint (json_object_get_int_member (stats, "images"), ==, 18);
  g_assert_cmpint (json_object_get_int_member (stats, "samples"), ==, 12);
  g_assert_cmpint (json_object_get_int_member (stats, "steps"), ==, 4);
  g_assert_cmpfloat (json_object_get_double_member (stats, "transfer_s"), >, 0);
  cuda_run_free (run);
  check_left ();
}

static void
let_go (Consumer *consumers)
{
  for (guint i = 0; i < N_STEPS; i++) {
    g_assert_cmpint (stream_synchronize (consumers[i].stream), ==, 0);
    g_assert_cmpint (device_free (consumers[i].copy), ==, 0);
    g_assert_cmpint (host_free (consumers[i].fetched), ==, 0);
    g_assert_cmpint (stream_destroy (consumers[i].stream), ==, 0);
  }
}

/* what the trainer's streams stood still for is waiting, though the program went on */
static void
test_wait_ratio (void)
{
  CudaRun *run = cuda_run_new ("", BATCH " ! cudasink prefetch=1", N_STEPS * 3, 32);
  Consumer consumers[N_STEPS] = { 0 };
  g_autoptr (JsonNode) root = NULL;
  JsonObject *stats;
  double wait, prepare, train, transfer;

  for (guint i = 0; i < N_STEPS; i++)
    consume (&consumers[i], hr_pipeline_pull (run->pipeline, NULL), "pixel_values");
  g_assert_null (hr_pipeline_pull (run->pipeline, NULL));
  let_go (consumers);
  stats = stats_of (run->pipeline, &root);
  prepare = json_object_get_double_member (stats, "prepare_s");
  train = json_object_get_double_member (stats, "train_s");
  transfer = json_object_get_double_member (stats, "transfer_wait_s");
  wait = json_object_get_double_member (stats, "wait_ratio");
  g_assert_cmpfloat (transfer, >, 0);
  g_assert_cmpfloat_with_epsilon (wait, (prepare + MIN (transfer, train)) / (prepare + train),
                                  1e-6);
  cuda_run_free (run);
  check_left ();
}

/* copies that take longer than all else are what the trainer waits for; others are not */
static void
test_verdict (void)
{
  gboolean slow = g_getenv ("HR_STANDIN_COPY_RATE") != NULL;
  /* a sanitizer makes the stand-in's copies slow, too */
  CudaRun *run =
      cuda_run_new ("",
                    slow ? "identity name=sleeps sleep=2ms ! " BATCH " ! cudasink name=gpu"
                         : "identity name=sleeps sleep=20ms ! " BATCH " ! cudasink name=gpu",
                    N_STEPS * 3, 32);
  Consumer consumers[N_STEPS] = { 0 };
  g_autoptr (JsonNode) root = NULL;
  JsonObject *stats, *bottleneck;
  const char *advice;

  for (guint i = 0; i < N_STEPS; i++)
    consume (&consumers[i], hr_pipeline_pull (run->pipeline, NULL), "pixel_values");
  g_assert_null (hr_pipeline_pull (run->pipeline, NULL));
  let_go (consumers);
  stats = stats_of (run->pipeline, &root);
  bottleneck = json_object_get_object_member (stats, "bottleneck");
  advice = json_object_get_string_member (json_object_get_object_member (stats, "advice"), "text");
  g_assert_cmpstr (json_object_get_string_member (bottleneck, "element"), ==,
                   slow ? "gpu" : "sleeps");
  g_assert_cmpstr (json_object_get_string_member (bottleneck, "kind"), ==,
                   slow ? "transfer" : "cpu");
  g_assert_true (slow
                 == g_str_has_prefix (advice, "gpu is copying to its device 100 % of the time"));
  cuda_run_free (run);
  check_left ();
}

/* the text is what was written, and the graph what is in it: nothing of the end that is pulled */
static void
test_text (void)
{
  CudaRun *run = cuda_run_new ("", BATCH " ! cudasink name=gpu", 3, 32);
  g_autofree char *text = hr_pipeline_to_string (run->pipeline);
  g_autofree char *dot = hr_pipeline_to_dot (run->pipeline);
  g_autoptr (HrPipeline) again = hr_parse_launch (text, NULL);
  g_autofree char *text_again = NULL;

  g_assert_nonnull (again);
  text_again = hr_pipeline_to_string (again);
  g_assert_cmpstr (text, ==, text_again);
  g_assert_true (g_str_has_suffix (text, "cudasink name=gpu"));
  g_assert_null (strstr (dot, "handout"));
  g_assert_cmpuint (hr_pipeline_get_n_elements (run->pipeline), ==, 4);
  g_assert_true (hr_pipeline_get_element (run->pipeline, "gpu")
                 == hr_pipeline_get_nth_element (run->pipeline, 3));
  cuda_run_free (run);
  check_left ();
}

int
main (int argc, char **argv)
{
  cuda_run_init ();
  find_functions ();
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/same-bytes", test_same_bytes);
  g_test_add_func ("/cuda/shapes", test_shapes);
  g_test_add_func ("/cuda/pinned", test_pinned);
  g_test_add_func ("/cuda/single-samples", test_single_samples);
  g_test_add_func ("/cuda/holes", test_holes);
  g_test_add_func ("/cuda/devices", test_devices);
  g_test_add_func ("/cuda/streams", test_streams);
  g_test_add_func ("/cuda/outlive", test_outlive);
  g_test_add_func ("/cuda/stop", test_stop);
  g_test_add_func ("/cuda/no-copies", test_no_copies);
  g_test_add_func ("/cuda/wait-ratio", test_wait_ratio);
  g_test_add_func ("/cuda/verdict", test_verdict);
  g_test_add_func ("/cuda/text", test_text);
  return g_test_run ();
}
