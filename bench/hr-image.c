/* hr-image: JPEG bytes to pixels and to resized pixels, in threads, for bench/image
 *
 * usage: hr-image WHAT THREADS MIN_PIXELS MAX_PIXELS < LIST
 *
 * LIST has one JPEG file a line; all are read first. WHAT is
 *   floor   libjpeg-turbo alone, the way its manual says, into one buffer a thread
 *   decode  hr_decode() into recycled memory
 *   resize  hr_decode() and hr_resampler_resize(), both into recycled memory
 *   fresh   the same into fresh memory from malloc()
 * Then, for each line "run" on standard input, everything once: it prints the CPU milliseconds an
 * image, user and system. For "check" it prints one sha256 over the results in order. */
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "decode.h"
#include "headrace.h"
#include "resample.h"
#include "smart-resize.h"

typedef enum { FLOOR, DECODE, RESIZE, FRESH } What;

static What what;
static HrSmartResize rule = { HR_SMART_RESIZE_HF, 32, 0, 0 };
static GPtrArray *files; /* GBytes */
static HrAllocator *pool;
static gint next;
static char **sums; /* of the results, in a check */

typedef struct {
  HrDecoder decoder;
  HrResampler *resampler;
  guint8 *buffer;
  gsize size;
} Thread;

static void
fail (const GError *error)
{
  fprintf (stderr, "hr-image: %s\n", error->message);
  exit (1);
}

static HrMemory *
take (gsize size)
{
  g_autoptr (GError) error = NULL;
  HrMemory *memory =
      hr_memory_new_from_allocator (what == FRESH ? hr_allocator_heap () : pool, size, &error);
  if (memory == NULL)
    fail (error);
  return memory;
}

static void
decode_alone (Thread *thread, GBytes *file)
{
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  info.err = jpeg_std_error (&errors);
  jpeg_create_decompress (&info);
  jpeg_mem_src (&info, data, size);
  jpeg_read_header (&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress (&info);
  gsize stride = (gsize)info.output_width * 3, needed = stride * info.output_height;
  if (thread->size < needed) {
    thread->buffer = g_realloc (thread->buffer, needed);
    thread->size = needed;
  }
  while (info.output_scanline < info.output_height) {
    JSAMPROW rows[8];
    guint n = MIN (8, info.output_height - info.output_scanline);
    for (guint i = 0; i < n; i++)
      rows[i] = thread->buffer + (info.output_scanline + i) * stride;
    jpeg_read_scanlines (&info, rows, n);
  }
  jpeg_finish_decompress (&info);
  jpeg_destroy_decompress (&info);
}

static void
keep_sum (guint index, const guint8 *data, gsize size)
{
  if (sums != NULL)
    sums[index] = g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, size);
}

static void
work (Thread *thread, guint index)
{
  static const HrDecodeOptions options = { .exif = TRUE, .white = TRUE };
  GBytes *file = files->pdata[index];
  g_autoptr (GError) error = NULL;
  HrImageHeader header;
  guint32 height, width;
  gint32 out_height, out_width;
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);
  if (what == FLOOR) {
    decode_alone (thread, file);
    return;
  }
  if (!hr_image_header_read (data, size, HR_IMAGE_PIXEL_LIMIT, &header, &error))
    fail (error);
  hr_decode_get_size (&header, &options, &height, &width);
  g_autoptr (HrMemory) pixels = take ((gsize)height * width * 3);
  if (!hr_decode (&thread->decoder, data, size, &header, &options, pixels->data, &error))
    fail (error);
  if (what == DECODE) {
    keep_sum (index, pixels->data, pixels->size);
    return;
  }
  if (!hr_smart_resize (&rule, height, width, &out_height, &out_width, &error))
    fail (error);
  g_autoptr (HrMemory) resized = take ((gsize)out_height * out_width * 3);
  hr_resampler_resize (thread->resampler, pixels->data, height, width, (gsize)width * 3,
                       resized->data, out_height, out_width);
  keep_sum (index, resized->data, resized->size);
}

static gpointer
run_thread (gpointer data)
{
  Thread thread = { .resampler = hr_resampler_new (HR_REFERENCE_PILLOW, hr_kernels ()) };
  guint index;
  (void)data;
  while ((index = g_atomic_int_add (&next, 1)) < files->len)
    work (&thread, index);
  hr_resampler_free (thread.resampler);
  hr_decoder_clear (&thread.decoder);
  g_free (thread.buffer);
  return NULL;
}

static double
milliseconds (struct timeval time)
{
  return time.tv_sec * 1e3 + time.tv_usec / 1e3;
}

static void
run (guint n_threads)
{
  struct rusage before, after;
  GThread *threads[64];
  next = 0;
  getrusage (RUSAGE_SELF, &before);
  for (guint i = 0; i < n_threads; i++)
    threads[i] = g_thread_new (NULL, run_thread, NULL);
  for (guint i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  getrusage (RUSAGE_SELF, &after);
  if (sums == NULL)
    printf ("%.4f %.4f\n",
            (milliseconds (after.ru_utime) - milliseconds (before.ru_utime)) / files->len,
            (milliseconds (after.ru_stime) - milliseconds (before.ru_stime)) / files->len);
}

int
main (int argc, char **argv)
{
  static const char *const names[] = { "floor", "decode", "resize", "fresh", NULL };
  char line[4096];
  if (argc != 5 || !g_strv_contains (names, argv[1])) {
    fprintf (stderr, "usage: hr-image floor|decode|resize|fresh THREADS MIN_PIXELS MAX_PIXELS\n");
    return 2;
  }
  while (!g_str_equal (names[what], argv[1]))
    what++;
  guint n_threads = CLAMP (atoi (argv[2]), 1, 64);
  rule.min_pixels = g_ascii_strtoull (argv[3], NULL, 10);
  rule.max_pixels = g_ascii_strtoull (argv[4], NULL, 10);
  files = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  pool = hr_allocator_pool_new (256 << 20);
  while (fgets (line, sizeof line, stdin) != NULL) {
    g_autoptr (GError) error = NULL;
    char *content;
    gsize size;
    g_strchomp (line);
    if (g_str_equal (line, "run")) {
      run (n_threads);
    } else if (g_str_equal (line, "check")) {
      g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
      sums = g_new0 (char *, files->len + 1);
      run (n_threads);
      for (guint i = 0; i < files->len && sums[i] != NULL; i++)
        g_checksum_update (sum, (const guchar *)sums[i], -1);
      printf ("%s\n", g_checksum_get_string (sum));
      for (guint i = 0; i < files->len; i++)
        g_free (sums[i]);
      g_clear_pointer (&sums, g_free);
    } else {
      if (!g_file_get_contents (line, &content, &size, &error))
        fail (error);
      g_ptr_array_add (files, g_bytes_new_take (content, size));
    }
    fflush (stdout);
  }
  g_ptr_array_unref (files);
  hr_allocator_unref (pool);
  return 0;
}
