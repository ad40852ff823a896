/* cuda-run.c: pipelines on the stand-in, fed with images of our own */
#include "cuda-run.h"
#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>

static void *standin;

/* a fatbin as nvcc writes it, without code in it: the stand-in runs the kernel's body as C */
static char *
write_kernel (void)
{
  struct {
    guint32 magic;
    guint16 version, header_size;
    guint64 size;
    struct {
      guint16 kind, version;
      guint32 header_size;
      guint64 size;
      guint32 reserved[3];
      guint32 capability;
      guint64 rest[4];
    } entry;
  } file = {
    0xBA55ED50u, 1, 16, sizeof (file.entry), { .kind = 2, .version = 1, .capability = 90 }
  };
  char *path = NULL;
  int fd = g_file_open_tmp ("hr-kernel-XXXXXX", &path, NULL);

  file.entry.header_size = sizeof (file.entry);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, &file, sizeof file), ==, sizeof file);
  close (fd);
  return path;
}

static char *kernel_file;

static void
remove_kernel (void)
{
  g_unlink (kernel_file);
}

void
cuda_run_init (void)
{
  g_setenv ("HR_CUDART", HR_STANDIN, TRUE);
  kernel_file = write_kernel ();
  g_setenv ("HR_CUDA_KERNEL", kernel_file, TRUE);
  atexit (remove_kernel);
  standin = dlopen (HR_STANDIN, RTLD_NOW);
  g_assert_nonnull (standin);
}

void *
cuda_run_symbol (const char *name)
{
  void *symbol = dlsym (standin, name);

  g_assert_nonnull (symbol);
  return symbol;
}

void
cuda_run_assert_no_misuse (void)
{
  char **(*take) (void) = (char **(*)(void))cuda_run_symbol ("standin_take_misuses");
  g_auto (GStrv) misuses = take ();

  for (char **line = misuses; *line != NULL; line++)
    g_test_message ("%s", *line);
  g_assert_cmpuint (g_strv_length (misuses), ==, 0);
}

/* ---- samples ---- */

static HrTensor *
image_new (guint seed, guint block)
{
  static const guint sides[][2] = { { 1, 1 }, { 2, 3 }, { 10, 1 }, { 1, 7 }, { 4, 4 }, { 3, 5 } };
  const guint *side = sides[seed % G_N_ELEMENTS (sides)];
  gint64 shape[3] = { side[0] * block, side[1] * block, 3 };
  gsize size = (gsize)(shape[0] * shape[1] * shape[2]);
  HrMemory *memory = hr_memory_new (size);
  guint32 state = seed * 2654435761u + 1;

  for (gsize i = 0; i < size; i++) {
    state = state * 1664525u + 1013904223u;
    memory->data[i] = state >> 24;
  }
  return hr_tensor_new (memory, 0, HR_UINT8, 3, shape);
}

static HrBuffer *
sample_new (guint i, guint block)
{
  HrBuffer *sample = hr_buffer_new ();
  HrList *images = hr_list_new (i % 4);
  gint64 n = 3 + i % 5;
  HrMemory *ids = hr_memory_new ((gsize)n * sizeof (gint32));

  for (guint k = 0; k < i % 4; k++)
    hr_list_append_tensor (images, image_new (i * 7 + k, block));
  for (gint64 k = 0; k < n; k++)
    ((gint32 *)(gpointer)ids->data)[k] = (gint32)(i * 100 + k);
  if (i % 4 > 0)
    hr_buffer_set_list (sample, "images", images);
  else
    hr_list_unref (images);
  hr_buffer_set_tensor (sample, "input_ids", hr_tensor_new (ids, 0, HR_INT32, 1, &n));
  hr_buffer_set_string (sample, "name", "somebody");
  return sample;
}

/* ---- a run ---- */

static void *
feed (void *data)
{
  CudaRun *run = data;

  for (guint i = 0; i < run->n; i++)
    if (!hr_pipeline_push (run->pipeline, "in", sample_new (i, run->block), NULL))
      break;
  hr_pipeline_end (run->pipeline, "in");
  return NULL;
}

CudaRun *
cuda_run_new (const char *settings, const char *elements, guint n, guint block)
{
  g_autofree char *text = g_strdup_printf ("%s appsrc name=in ! %s", settings, elements);
  g_autoptr (GError) error = NULL;
  CudaRun *run = g_new0 (CudaRun, 1);

  run->pipeline = hr_parse_launch (text, &error);
  g_assert_no_error (error);
  run->n = n;
  run->block = block;
  hr_pipeline_start (run->pipeline, &error);
  g_assert_no_error (error);
  g_assert_cmpint (pthread_create (&run->feeder, NULL, feed, run), ==, 0);
  return run;
}

void
cuda_run_free (CudaRun *run)
{
  hr_pipeline_stop (run->pipeline);
  pthread_join (run->feeder, NULL);
  hr_pipeline_wait (run->pipeline, NULL);
  g_object_unref (run->pipeline);
  g_free (run);
}

GPtrArray *
cuda_run_digests (CudaRun *run)
{
  GPtrArray *digests = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  HrBuffer *batch;

  while ((batch = hr_pipeline_pull (run->pipeline, &error)) != NULL) {
    g_ptr_array_add (digests, hr_buffer_get_digest (batch));
    hr_buffer_unref (batch);
  }
  g_assert_no_error (error);
  return digests;
}
