/* hr-image: runs pipelines, and libjpeg-turbo alone, in one process, for bench/image
 *
 * usage: hr-image THREADS, with commands on standard input, each answered on standard output:
 *   floor LIST    libjpeg-turbo alone, the way its manual says, on the JPEG files that LIST has,
 * one a line: user and system milliseconds of the decoding, number of images run TEXT      a
 * pipeline from parsing to its last thread: the whole process's user and system milliseconds,
 * number of images check TEXT    a pipeline that ends with appsink: per image a line with the
 * number of bytes, and these bytes, of its rows of pixel_values or its pixels; then "end" resize
 * LIST MIN_PIXELS MAX_PIXELS the resizer alone on decoded images, in one thread: as floor peak the
 * process's largest resident size so far, in bytes */
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "decode.h"
#include "headrace.h"
#include "resample.h"
#include "smart-resize.h"

typedef struct {
  double user;
  double system; /* milliseconds */
} Cost;

static void
fail (const GError *error)
{
  fprintf (stderr, "hr-image: %s\n", error->message);
  exit (1);
}

static Cost
get_cost (int who)
{
  struct rusage usage;

  getrusage (who, &usage);
  return (Cost){ usage.ru_utime.tv_sec * 1e3 + usage.ru_utime.tv_usec / 1e3,
                 usage.ru_stime.tv_sec * 1e3 + usage.ru_stime.tv_usec / 1e3 };
}

static void
add_since (Cost *sum, Cost before, int who)
{
  Cost now = get_cost (who);

  sum->user += now.user - before.user;
  sum->system += now.system - before.system;
}

static void
answer (Cost cost, gint64 images)
{
  printf ("%.3f %.3f %" G_GINT64_FORMAT "\n", cost.user, cost.system, images);
}

static GStrv
read_list (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, &error))
    fail (error);
  return g_strsplit (g_strstrip (text), "\n", -1);
}

static GBytes *
read_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  char *content;
  gsize size;

  if (!g_file_get_contents (path, &content, &size, &error))
    fail (error);
  return g_bytes_new_take (content, size);
}

/* ---- libjpeg-turbo alone ---- */

typedef struct {
  GStrv files;
  gint *next;
  Cost cost;
} Floor;

static void
decode_alone (GBytes *file, GByteArray *into)
{
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  gsize size, stride;
  const guint8 *data = g_bytes_get_data (file, &size);

  info.err = jpeg_std_error (&errors);
  jpeg_create_decompress (&info);
  jpeg_mem_src (&info, data, size);
  jpeg_read_header (&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress (&info);
  stride = (gsize)info.output_width * 3;
  if (into->len < stride * info.output_height)
    g_byte_array_set_size (into, (guint)(stride * info.output_height));
  while (info.output_scanline < info.output_height) {
    JSAMPROW rows[8];
    guint n = MIN (8, info.output_height - info.output_scanline);

    for (guint i = 0; i < n; i++)
      rows[i] = into->data + (info.output_scanline + i) * stride;
    jpeg_read_scanlines (&info, rows, n);
  }
  jpeg_finish_decompress (&info);
  jpeg_destroy_decompress (&info);
}

static gpointer
floor_thread (gpointer data)
{
  Floor *self = data;
  g_autoptr (GByteArray) pixels = g_byte_array_new ();
  guint n = g_strv_length (self->files), index;

  while ((index = (guint)g_atomic_int_add (self->next, 1)) < n) {
    g_autoptr (GBytes) file = read_file (self->files[index]);
    Cost before = get_cost (RUSAGE_THREAD);

    decode_alone (file, pixels);
    add_since (&self->cost, before, RUSAGE_THREAD);
  }
  return NULL;
}

static void
run_floor (const char *list, guint n_threads)
{
  g_auto (GStrv) files = read_list (list);
  g_autofree Floor *floors = g_new0 (Floor, n_threads);
  g_autofree GThread **threads = g_new (GThread *, n_threads);
  gint next = 0;
  Cost cost = { 0, 0 };

  for (guint i = 0; i < n_threads; i++) {
    floors[i] = (Floor){ .files = files, .next = &next };
    threads[i] = g_thread_new ("floor", floor_thread, &floors[i]);
  }
  for (guint i = 0; i < n_threads; i++) {
    g_thread_join (threads[i]);
    cost.user += floors[i].cost.user;
    cost.system += floors[i].cost.system;
  }
  answer (cost, g_strv_length (files));
}

/* ---- pipelines ---- */

static gint64
count_images (HrPipeline *pipeline)
{
  g_autofree char *stats = hr_pipeline_get_stats (pipeline);
  const char *at = strstr (stats, "\"images\":");

  return at != NULL ? g_ascii_strtoll (at + strlen ("\"images\":"), NULL, 10) : -1;
}

static void
run_pipeline (const char *text)
{
  g_autoptr (GError) error = NULL;
  Cost before = get_cost (RUSAGE_SELF), cost = { 0, 0 };
  HrPipeline *pipeline = hr_parse_launch (text, &error);
  gint64 images;

  if (pipeline == NULL || !hr_pipeline_start (pipeline, &error)
      || !hr_pipeline_wait (pipeline, &error))
    fail (error);
  images = count_images (pipeline);
  g_object_unref (pipeline);
  add_since (&cost, before, RUSAGE_SELF);
  answer (cost, images);
}

static void
put_image (const void *data, gsize size)
{
  printf ("%" G_GSIZE_FORMAT "\n", size);
  fwrite (data, 1, size, stdout);
}

static void
put_batch (const HrBuffer *batch)
{
  HrTensor *rows = hr_buffer_get_tensor (batch, "pixel_values");
  HrTensor *grids = hr_buffer_get_tensor (batch, "image_grid_thw");
  HrList *images = hr_buffer_get_list (batch, "images");

  for (guint i = 0; images != NULL && i < hr_list_get_length (images); i++) {
    HrTensor *image = hr_list_get_tensor (images, i);

    put_image (hr_tensor_get_data (image), hr_tensor_get_n_bytes (image));
  }
  if (rows != NULL) {
    const gint64 *grid = hr_tensor_get_data (grids);
    const guint8 *at = hr_tensor_get_data (rows);
    gsize row = hr_tensor_get_n_bytes (rows) / (gsize)hr_tensor_get_dim (rows, 0);

    for (gint64 i = 0; i < hr_tensor_get_dim (grids, 0); i++, grid += 3) {
      gsize size = (gsize)(grid[1] * grid[2]) * row;

      put_image (at, size);
      at += size;
    }
  }
}

static void
check_pipeline (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  HrBuffer *batch;

  if (pipeline == NULL || !hr_pipeline_start (pipeline, &error))
    fail (error);
  while ((batch = hr_pipeline_pull (pipeline, &error)) != NULL) {
    put_batch (batch);
    hr_buffer_unref (batch);
  }
  if (error != NULL)
    fail (error);
  printf ("end\n");
}

/* ---- the resizer alone ---- */

typedef struct {
  guint32 height, width;
  guint8 *pixels;
} Image;

static void
image_clear (gpointer data)
{
  g_free (((Image *)data)->pixels);
}

static GArray *
decode_all (GStrv files)
{
  static const HrDecodeOptions options = { .exif = TRUE, .white = TRUE };
  GArray *images = g_array_new (FALSE, TRUE, sizeof (Image));
  HrDecoder decoder = { NULL, 0 };

  g_array_set_clear_func (images, image_clear);
  for (guint i = 0; files[i] != NULL; i++) {
    g_autoptr (GBytes) file = read_file (files[i]);
    g_autoptr (GError) error = NULL;
    HrImageHeader header;
    Image image;
    gsize size;
    const guint8 *data = g_bytes_get_data (file, &size);

    if (!hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &header, &error))
      fail (error);
    hr_decode_get_size (&header, &options, &image.height, &image.width);
    image.pixels = g_malloc ((gsize)image.height * image.width * 3);
    if (!hr_decode (&decoder, data, size, &header, &options, image.pixels, &error))
      fail (error);
    g_array_append_val (images, image);
  }
  hr_decoder_clear (&decoder);
  return images;
}

static void
run_resize (const char *list, guint64 min_pixels, guint64 max_pixels)
{
  g_auto (GStrv) files = read_list (list);
  g_autoptr (GArray) images = decode_all (files);
  g_autoptr (HrAllocator) pool = hr_allocator_pool_new (256 << 20);
  HrSmartResize rule = { HR_SMART_RESIZE_HF, 32, min_pixels, max_pixels };
  HrResampler *resampler = hr_resampler_new (HR_REFERENCE_PILLOW, hr_kernels ());
  Cost cost = { 0, 0 }, before = get_cost (RUSAGE_THREAD);

  for (guint i = 0; i < images->len; i++) {
    const Image *image = &g_array_index (images, Image, i);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrMemory) resized = NULL;
    gint32 height, width;

    if (!hr_smart_resize (&rule, image->height, image->width, &height, &width, &error))
      fail (error);
    resized = hr_memory_new_from_allocator (pool, (gsize)height * width * 3, &error);
    if (resized == NULL)
      fail (error);
    hr_resampler_resize (resampler, image->pixels, image->height, image->width,
                         (gsize)image->width * 3, resized->data, height, width);
  }
  add_since (&cost, before, RUSAGE_THREAD);
  hr_resampler_free (resampler);
  answer (cost, images->len);
}

/* ---- commands ---- */

static void
obey (const char *line, guint n_threads)
{
  g_auto (GStrv) words = g_strsplit (line, " ", 2);
  g_auto (GStrv) more = g_strsplit (words[0] != NULL && words[1] != NULL ? words[1] : "", " ", 3);

  if (g_strcmp0 (words[0], "floor") == 0 && words[1] != NULL)
    run_floor (words[1], n_threads);
  else if (g_strcmp0 (words[0], "run") == 0 && words[1] != NULL)
    run_pipeline (words[1]);
  else if (g_strcmp0 (words[0], "check") == 0 && words[1] != NULL)
    check_pipeline (words[1]);
  else if (g_strcmp0 (words[0], "resize") == 0 && g_strv_length (more) == 3)
    run_resize (more[0], g_ascii_strtoull (more[1], NULL, 10),
                g_ascii_strtoull (more[2], NULL, 10));
  else if (g_strcmp0 (words[0], "peak") == 0) {
    struct rusage usage;

    getrusage (RUSAGE_SELF, &usage);
    printf ("%ld\n", usage.ru_maxrss * 1024);
  } else {
    fprintf (stderr, "hr-image: unknown command: %s\n", line);
    exit (2);
  }
}

int
main (int argc, char **argv)
{
  guint64 n_threads;
  char line[8192];

  if (argc != 2 || !g_ascii_string_to_unsigned (argv[1], 10, 1, 64, &n_threads, NULL)) {
    fprintf (stderr, "usage: hr-image THREADS < COMMANDS\n");
    return 2;
  }
  while (fgets (line, sizeof (line), stdin) != NULL) {
    obey (g_strchomp (line), (guint)n_threads);
    fflush (stdout);
  }
  return 0;
}
