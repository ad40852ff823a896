/* hr-fetch.c: objects from S3 into memory, as many at once as there is to be measured
 *
 * usage: hr-fetch CONCURRENCY auto|none BUCKET [IO-THREADS] < keys
 *
 * Endpoint and credentials come from the environment. Prints what it took as one JSON object. */
#include "hr-error.h"
#include "hr-sync.h"
#include "s3-request.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
  HrHttp *http;
  HrAllocator *pool;
  GArray *times; /* milliseconds */
  guint64 bytes;
  guint n_done;
  GError *error;
} Run;

typedef struct {
  Run *run;
  gint64 begun;
} Fetch;

static HrHttpRoom
make_room (HrHttpRequest *request, gsize bytes, GError **error)
{
  Fetch *fetch = request->user_data;

  request->body = hr_memory_new_from_allocator (fetch->run->pool, bytes, error);
  return request->body ? HR_HTTP_READY : HR_HTTP_REFUSE;
}

static void
note_done (HrHttpRequest *request, GError *error)
{
  Fetch *fetch = request->user_data;
  Run *run = fetch->run;
  gdouble time = (hr_now () - fetch->begun) / 1e6;

  g_array_append_val (run->times, time);
  run->bytes += request->received;
  run->n_done++;
  if (error && !run->error)
    run->error = error;
  else
    g_clear_error (&error);
  g_free (fetch);
}

static void
submit (Run *run, HrS3Config *config, const char *bucket, const char *key)
{
  HrHttpRequest *request = hr_s3_get (config, bucket, key);
  Fetch *fetch = g_new (Fetch, 1);

  *fetch = (Fetch){ run, hr_now () };
  request->room = make_room;
  request->done = note_done;
  request->user_data = fetch;
  hr_http_submit (run->http, request);
}

static gdouble
cpu_seconds (void)
{
  struct rusage usage;

  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
         + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static gint
compare (gconstpointer a, gconstpointer b)
{
  gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

  return (x > y) - (x < y);
}

static GPtrArray *
read_keys (void)
{
  GPtrArray *keys = g_ptr_array_new_with_free_func (g_free);
  char line[4096];

  while (fgets (line, sizeof line, stdin))
    g_ptr_array_add (keys, g_strdup (g_strchomp (line)));
  return keys;
}

static void
report (Run *run, gdouble cpu, gdouble wall)
{
  const HrHttpCounts *counts = hr_http_get_counts (run->http);
  const gdouble *times = (const gdouble *)run->times->data;

  g_array_sort (run->times, compare);
  printf ("{\"objects\": %u, \"bytes\": %" G_GUINT64_FORMAT ", \"cpu_s\": %.4f, \"wall_s\": %.4f, "
          "\"p50_ms\": %.2f, \"p99_ms\": %.2f, \"retries\": %" G_GUINT64_FORMAT
          ", \"hedged\": %" G_GUINT64_FORMAT ", \"verified\": %" G_GUINT64_FORMAT "}\n",
          run->n_done, run->bytes, cpu, wall, times[run->n_done / 2], times[run->n_done * 99 / 100],
          counts->retries, counts->hedged, counts->verified);
}

int
main (int argc, char **argv)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  HrS3Settings settings = { 0 };
  Run run = { 0 };
  g_autoptr (GPtrArray) keys = NULL;
  g_autoptr (HrS3Config) config = NULL;
  gdouble cpu = cpu_seconds ();
  gint64 begin = hr_now ();
  guint next = 0;

  if (argc < 4) {
    fputs ("usage: hr-fetch CONCURRENCY auto|none BUCKET [IO-THREADS] < keys\n", stderr);
    return 2;
  }
  options.max_transfers = (guint)g_ascii_strtoull (argv[1], NULL, 10);
  if (argc > 4)
    options.io_threads = (guint)g_ascii_strtoull (argv[4], NULL, 10);
  options.verify = strcmp (argv[2], "none") == 0 ? HR_VERIFY_NONE : HR_VERIFY_AUTO;
  keys = read_keys ();
  run.pool = hr_allocator_pool_new (64 * 1024 * 1024);
  run.times = g_array_new (FALSE, FALSE, sizeof (gdouble));
  config = hr_s3_config_new (&settings, &run.error);
  run.http = hr_http_new (&options, &run.error);
  while (!run.error && run.n_done < keys->len) {
    while (next < keys->len && hr_http_get_n_requests (run.http) < options.max_transfers)
      submit (&run, config, argv[3], keys->pdata[next++]);
    hr_http_poll (run.http, -1, -1, &run.error);
  }
  if (run.error) {
    fprintf (stderr, "hr-fetch: %s\n", run.error->message);
    return 1;
  }
  report (&run, cpu_seconds () - cpu, (hr_now () - begin) / 1e9);
  hr_http_free (run.http);
  hr_allocator_unref (run.pool);
  g_array_unref (run.times);
  return 0;
}
