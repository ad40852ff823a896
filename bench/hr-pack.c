/* hr-pack: how full packed rows are, for bench/pack
 *
 * usage: hr-pack lengths PIPELINE     tokens and tokens of images of each sample, a line each
 *        hr-pack fill TOKENS < LENGTHS  a line a way: name, window, rows, fill, ns of CPU a sample
 *
 * PIPELINE ends in appsink and gives what tokenize makes. TOKENS is what a row takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "headrace.h"
#include "hr-pack.h"

typedef struct {
  const HrPackSize *sizes;
  guint n;
  gint64 most; /* tokens of a row */
} Samples;

/* ---- lengths ---- */

static int
print_lengths (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  HrBuffer *sample;

  if (pipeline == NULL || !hr_pipeline_start (pipeline, &error)) {
    fprintf (stderr, "hr-pack: %s\n", error->message);
    return 1;
  }
  while ((sample = hr_pipeline_pull (pipeline, &error)) != NULL) {
    HrTensor *types = hr_buffer_get_tensor (sample, "mm_token_type_ids");
    const gint32 *type = hr_tensor_get_data (types);
    gint64 n = hr_tensor_get_dim (types, 0), images = 0;

    for (gint64 i = 0; i < n; i++)
      images += type[i] != 0;
    printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", n, images);
    hr_buffer_unref (sample);
  }
  if (error == NULL && hr_pipeline_wait (pipeline, &error))
    return 0;
  fprintf (stderr, "hr-pack: %s\n", error->message);
  return 1;
}

/* ---- ways to fill rows; each returns how many ---- */

/* ours */
static gint64
blocks (const Samples *samples, guint window)
{
  g_autofree guint *rows = g_new (guint, window);
  gint64 n_rows = 0;

  for (guint at = 0; at < samples->n; at += window)
    n_rows +=
        hr_pack_block (samples->sizes + at, MIN (window, samples->n - at), samples->most, 0, rows);
  return n_rows;
}

/* The next row takes of the @window samples that wait whatever fits, in their order; then as many
 * come up. Full rows, but who is in one depends on all that came before. */
static gint64
sliding_first_fit (const Samples *samples, guint window)
{
  g_autoptr (GArray) waiting = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint next = 0;
  gint64 n_rows = 0;

  for (;; n_rows++) {
    gint64 left = samples->most;

    for (; waiting->len < window && next < samples->n; next++)
      g_array_append_val (waiting, samples->sizes[next].tokens);
    if (waiting->len == 0)
      return n_rows;
    for (guint i = 0; i < waiting->len;) {
      gint64 tokens = g_array_index (waiting, gint64, i);

      if (tokens > left) {
        i++;
        continue;
      }
      left -= tokens;
      g_array_remove_index (waiting, i);
    }
  }
}

/* a row ends when the next sample does not fit: what is done without packing */
static gint64
cut_at_overflow (const Samples *samples, guint window G_GNUC_UNUSED)
{
  gint64 n_rows = samples->n > 0, left = samples->most;

  for (guint i = 0; i < samples->n; i++) {
    if (samples->sizes[i].tokens > left) {
      n_rows++;
      left = samples->most;
    }
    left -= samples->sizes[i].tokens;
  }
  return n_rows;
}

static gint64
cpu_time (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (gint64)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
measure (const Samples *samples, const char *name, gint64 (*way) (const Samples *, guint),
         guint window)
{
  gint64 begin = cpu_time (), n_rows = way (samples, window), end = cpu_time ();
  gint64 tokens = 0;

  for (guint i = 0; i < samples->n; i++)
    tokens += samples->sizes[i].tokens;
  printf ("%s %u %" G_GINT64_FORMAT " %.6f %.1f\n", name, window, n_rows,
          (double)tokens / ((double)n_rows * (double)samples->most),
          (double)(end - begin) / samples->n);
}

/* samples that no row can take are left out, as batch drops them */
static int
fill (gint64 most)
{
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (HrPackSize));
  HrPackSize size;
  Samples samples;

  while (scanf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &size.tokens, &size.image_tokens) == 2)
    if (size.tokens <= most)
      g_array_append_val (sizes, size);
  if (sizes->len == 0) {
    fprintf (stderr, "hr-pack: no sample fits into %" G_GINT64_FORMAT " tokens\n", most);
    return 1;
  }
  samples = (Samples){ (const HrPackSize *)(gpointer)sizes->data, sizes->len, most };
  for (guint window = 256; window <= 1024; window *= 2)
    measure (&samples, "blocks", blocks, window);
  measure (&samples, "one-window", blocks, samples.n);
  measure (&samples, "sliding-first-fit", sliding_first_fit, 512);
  measure (&samples, "cut-at-overflow", cut_at_overflow, 1);
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "lengths") == 0)
    return print_lengths (argv[2]);
  if (argc == 3 && strcmp (argv[1], "fill") == 0)
    return fill (g_ascii_strtoll (argv[2], NULL, 10));
  fprintf (stderr, "usage: hr-pack lengths PIPELINE | fill TOKENS\n");
  return 2;
}
