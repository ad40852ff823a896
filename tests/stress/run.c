/* run.c: one configuration: serial, then as configured, then everything compared and counted */
#include "stress.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static Run *current; /* for the watchdog's picture */

/* ---- helpers beside the run ---- */

static void *
push_samples (void *data)
{
  Run *run = data;
  Node *node = run->pushed;

  for (gint64 id = 0; id < node->n; id++) {
    g_atomic_int_inc (&stress_progress);
    if (!hr_pipeline_push (run->pipeline, hr_element_get_name (node->element),
                           stress_sample (node, id), NULL))
      break;
  }
  hr_pipeline_end (run->pipeline, hr_element_get_name (node->element));
  return NULL;
}

static void *
stop_it (void *data)
{
  Run *run = data;

  if (run->config->stop_us > 0)
    g_usleep ((gulong)run->config->stop_us);
  hr_pipeline_stop (run->pipeline);
  return NULL;
}

static void
change (GRand *rand, HrElement *element, const char *property, gint low, gint high)
{
  g_autofree char *text = g_strdup_printf ("%d", g_rand_int_range (rand, low, high + 1));

  if (!hr_element_set_from_string (element, property, text, NULL))
    stress_die ("%s=%s is refused while running", property, text);
}

static void
change_something (Run *run, GRand *rand)
{
  const Config *config = run->config;
  Node *node = &run->nodes[g_rand_int_range (rand, 0, run->n_nodes)];
  g_autofree char *text = NULL;

  switch (g_rand_int_range (rand, 0, 8)) {
  case 0:
    text = g_strdup_printf ("%" G_GINT64_FORMAT,
                            1 + (gint64)(g_rand_double (rand) * 2 * (double)config->memory));
    hr_pipeline_set_from_string (run->pipeline, "memory", text, NULL);
    break;
  case 1:
    text = g_strdup_printf ("%d", g_rand_int_range (rand, 1, 5));
    hr_pipeline_set_from_string (run->pipeline, "cpus", text, NULL);
    break;
  case 2:
    text = hr_pipeline_get_stats (run->pipeline);
    break;
  case 3:
    change (rand, node->element, "queue-bytes", 1, 4000);
    break;
  case 4:
    change (rand, node->element, "window", 1, 20);
    break;
  case 5:
    change (rand, node->element, "queue-items", 1, 8);
    break;
  default:
    if (strchr ("PEX", node->kind) != NULL)
      change (rand, node->element, "workers", 1, 8);
    if (node->kind == 'Q') { /* how far it works ahead; any live change makes the core look */
      __atomic_store_n (&node->arg, g_rand_int_range (rand, 1, 7), __ATOMIC_RELAXED);
      change (rand, node->element, "queue-items", 1, 8);
    }
  }
}

static void *
change_things (void *data)
{
  Run *run = data;
  GRand *rand = g_rand_new_with_seed ((guint32)run->config->seed);

  /* some changes, and then none: another one would wake whoever the last should have woken */
  for (int n = g_rand_int_range (rand, 1, 60); n > 0 && !g_atomic_int_get (&run->over); n--) {
    change_something (run, rand);
    g_usleep ((gulong)g_rand_int_range (rand, 0, 400));
  }
  g_rand_free (rand);
  return NULL;
}

typedef struct {
  pthread_t threads[8];
  guint n;
} Helpers;

static void
help (Helpers *helpers, void *(*function) (void *), Run *run)
{
  if (pthread_create (&helpers->threads[helpers->n++], NULL, function, run) != 0)
    stress_die ("no thread");
}

/* ---- one run ---- */

static gboolean
pull_all (Run *run, GError **error)
{
  const Config *config = run->config;
  guint64 few = config->seed % 6;
  HrBuffer *buffer;

  for (guint64 i = 0; run->serial || config->stop != STOP_PULLING || i < few; i++) {
    buffer = hr_pipeline_pull (run->pipeline, error);
    if (buffer == NULL)
      return *error == NULL;
    stress_record (run->pulled, buffer);
    if (config->train > 0 && !run->serial)
      g_usleep ((gulong)config->train);
  }
  return TRUE;
}

static gboolean
drive (Run *run, GError **error)
{
  const Config *config = run->config;
  gint64 stop = run->serial ? STOP_NEVER : config->stop;
  Helpers helpers = { .n = 0 };
  gboolean ok;

  if (stop == STOP_EARLY)
    help (&helpers, stop_it, run);
  if (!hr_pipeline_start (run->pipeline, error))
    return FALSE;
  if (run->pushed != NULL)
    help (&helpers, push_samples, run);
  if (config->live != 0 && !run->serial)
    help (&helpers, change_things, run);
  if (stop == STOP_OUTSIDE || stop == STOP_TWICE)
    help (&helpers, stop_it, run);
  if (stop == STOP_TWICE)
    help (&helpers, stop_it, run);
  ok = run->pulled == NULL || pull_all (run, error);
  if (stop == STOP_PULLING)
    stop_it (run);
  if (ok)
    ok = hr_pipeline_wait (run->pipeline, error);
  g_atomic_int_set (&run->over, 1);
  for (guint i = 0; i < helpers.n; i++)
    pthread_join (helpers.threads[i], NULL);
  return ok;
}

static void
run_clear (Run *run)
{
  g_clear_object (&run->pipeline);
  for (int i = 0; i < run->n_nodes; i++)
    g_clear_pointer (&run->nodes[i].row_bytes, g_hash_table_unref);
  for (int i = 0; i < MAX_SINKS; i++) {
    g_array_unref (run->outcomes[i].digests);
    g_array_unref (run->outcomes[i].samples);
    g_ptr_array_unref (run->held[i]);
  }
  g_hash_table_unref (run->sample_bytes);
  hr_mutex_clear (&run->lock);
}

/* ---- what must hold afterwards ---- */

static gint64
largest_step (const Run *serial)
{
  gint64 largest = 0;

  for (int i = 0; i < serial->n_sinks; i++) {
    g_autoptr (GHashTable) steps = g_hash_table_new (NULL, NULL);
    GHashTableIter iter;
    gpointer id, bytes;

    g_hash_table_iter_init (&iter, serial->sample_bytes);
    while (g_hash_table_iter_next (&iter, &id, &bytes)) {
      gint64 of = serial->marked != NULL ? stress_row_of (serial, *(gint64 *)id)
                                         : *(gint64 *)id / serial->groups[i];
      gpointer step = GSIZE_TO_POINTER ((gsize)of);
      gint64 sum = GPOINTER_TO_SIZE (g_hash_table_lookup (steps, step)) + *(gint64 *)bytes;

      g_hash_table_insert (steps, step, GSIZE_TO_POINTER ((gsize)sum));
      largest = MAX (largest, sum);
    }
  }
  return largest;
}

/* behind each packer, the bytes of one row may come on top */
static gint64
largest_rows (const Run *serial)
{
  gint64 sum = 0;

  for (int i = 0; i < serial->n_nodes; i++) {
    GHashTableIter iter;
    gpointer bytes;
    gint64 largest = 0;

    if (serial->nodes[i].row_bytes == NULL)
      continue;
    g_hash_table_iter_init (&iter, serial->nodes[i].row_bytes);
    while (g_hash_table_iter_next (&iter, NULL, &bytes))
      largest = MAX (largest, *(gint64 *)bytes);
    sum += largest;
  }
  return sum;
}

static void
check_gates (Run *run, const Run *serial)
{
  const Config *config = run->config;
  HrGateStats memory, cpus;

  hr_gate_get_stats (run->pipeline->memory, &memory);
  hr_gate_get_stats (run->pipeline->cpus, &cpus);
  if (memory.used != 0 || cpus.used != 0)
    stress_die ("%" G_GUINT64_FORMAT " bytes and %" G_GUINT64_FORMAT " permits are left behind",
                memory.used, cpus.used);
  if (memory.n_waiting != 0 || cpus.n_waiting != 0)
    stress_die ("somebody still waits at a gate");
  if (config->forced >= 0 && memory.n_forced > (guint64)config->forced)
    stress_die ("%" G_GUINT64_FORMAT " grants were forced", memory.n_forced);
  if (config->live != 0)
    return;
  if (cpus.max_used > (guint64)config->cpus)
    stress_die ("more permits than processors");
  if (serial != NULL && !run->any_order && !run->many_sources && !run->raw_reserves) {
    gint64 most = config->memory + largest_step (serial) + largest_rows (serial);

    if (memory.max_used > (guint64)most)
      stress_die ("%" G_GUINT64_FORMAT
                  " bytes were reserved; budget and largest step are %" G_GINT64_FORMAT,
                  memory.max_used, most);
  }
}

/* what is behind a prefetchqueue must not empty it at once */
static void
check_queues (const Run *run)
{
  if (run->config->live != 0 || run->config->items >= 0)
    return;
  for (int i = 0; i < run->n_nodes; i++) {
    const Node *node = &run->nodes[i];
    const HrLink *link = node->element->inputs->len > 0 ? node->element->inputs->pdata[0] : NULL;

    if (node->behind && node->items == 0 && link->from->def->lookahead == NULL
        && link->max_count > 1)
      stress_die ("%u buffers were in a queue behind the prefetchqueue", link->max_count);
  }
}

static gint
compare_hashes (gconstpointer a, gconstpointer b)
{
  guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

  return x < y ? -1 : x > y;
}

/* buffers have been compared as they came; here: are they all there */
static gboolean
has_packer (const Run *run)
{
  for (int i = 0; i < run->n_nodes; i++)
    if (run->nodes[i].kind == 'G')
      return TRUE;
  return FALSE;
}

static void
check_complete (Run *run, const Run *serial)
{
  /* then other samples are in a block, and it may make more rows or fewer */
  gboolean other_rows = run->any_order && has_packer (run);

  for (int i = 0; i < run->n_sinks; i++) {
    Outcome *outcome = &run->outcomes[i];
    const Outcome *right = &serial->outcomes[i];

    if (outcome->steps != right->steps && !other_rows)
      stress_die ("sink %d: %" G_GINT64_FORMAT " steps, the serial run has %" G_GINT64_FORMAT, i,
                  outcome->steps, right->steps);
    if (!run->any_order && outcome->digests->len != right->digests->len)
      stress_die ("sink %d: %u buffers, the serial run has %u", i, outcome->digests->len,
                  right->digests->len);
    if (!run->any_order || run->config->limit > 0)
      continue;
    g_array_sort (outcome->samples, compare_hashes);
    g_array_sort (right->samples, compare_hashes);
    if (outcome->samples->len != right->samples->len
        || (right->samples->len > 0
            && memcmp (outcome->samples->data, right->samples->data,
                       right->samples->len * sizeof (guint64))
                   != 0))
      stress_die ("sink %d: not the samples of the serial run (%u, %u)", i, outcome->samples->len,
                  right->samples->len);
  }
}

static void
note_steps (Run *run)
{
  for (int i = 0; i < run->n_nodes; i++)
    if (strchr ("KL", run->nodes[i].kind) != NULL)
      run->outcomes[run->nodes[i].sink].steps = run->nodes[i].element->run->step;
}

static void
check_messages (Run *run)
{
  HrMessage *message;
  guint n_done = 0;
  gboolean last = FALSE;

  while ((message = hr_pipeline_pop_message (run->pipeline, 0)) != NULL) {
    last = message->type == HR_MESSAGE_DONE;
    n_done += last;
    hr_message_unref (message);
  }
  if (n_done != 1 || !last)
    stress_die ("%u messages say that it is done", n_done);
}

static guint
count_threads (void)
{
  DIR *dir = opendir ("/proc/self/task");
  guint n = 0;

  for (struct dirent *entry; (entry = readdir (dir)) != NULL;)
    n += entry->d_name[0] != '.';
  closedir (dir);
  return n;
}

static void
check_threads (guint before)
{
  /* one that was joined may still be listed for a moment */
  for (int i = 0; i < 5000; i++) {
    if (count_threads () <= before)
      return;
    g_usleep (1000);
  }
  stress_die ("%u threads, there were %u", count_threads (), before);
}

static void
check_outcome (Run *run, const Run *serial, gboolean ok, const GError *error)
{
  const Config *config = run->config;

  note_steps (run);
  if (!ok && config->fatal != 0 && error->domain == HR_RESOURCE_ERROR)
    ok = TRUE;
  else if (!ok)
    stress_die ("failed: %s", error->message);
  else if (config->stop == STOP_NEVER && serial != NULL)
    check_complete (run, serial);
}

void
stress_run (const Config *config)
{
  gint buffers = hr_buffer_live (), memories = hr_memory_live (), tensors = hr_tensor_live ();
  guint threads = count_threads ();
  Run *serial = config->check ? g_new0 (Run, 1) : NULL, *run = g_new0 (Run, 1);
  g_autoptr (GError) error = NULL;
  gboolean ok;

  hr_stall_per_mille = 0;
  current = serial;
  if (serial != NULL) {
    if (!stress_build (serial, config, TRUE))
      stress_die ("not a graph: %s", config->top);
    if (!drive (serial, &error))
      stress_die ("serial run failed: %s", error->message);
    note_steps (serial);
  }
  hr_stall_per_mille = (gint)config->stall;
  if (!stress_build (run, config, FALSE))
    stress_die ("not a graph: %s", config->top);
  run->reference = serial;
  current = run;
  ok = drive (run, &error);
  check_outcome (run, serial, ok, error);
  for (int i = 0; i < MAX_SINKS; i++)
    g_ptr_array_set_size (run->held[i], 0);
  check_gates (run, serial);
  check_queues (run);
  check_messages (run);
  current = NULL;
  run_clear (run);
  g_free (run);
  if (serial != NULL)
    run_clear (serial);
  g_free (serial);
  check_threads (threads);
  if (hr_buffer_live () != buffers || hr_memory_live () != memories || hr_tensor_live () != tensors)
    stress_die ("left behind: %d buffers, %d blocks, %d tensors", hr_buffer_live () - buffers,
                hr_memory_live () - memories, hr_tensor_live () - tensors);
}

/* ---- a picture of a run that hangs ---- */

static const char *const waits[] = { "works",  "input",  "output", "release",
                                     "budget", "permit", "outside" };

static void
dump_element (FILE *file, const HrElement *element)
{
  const HrRun *run = element->run;

  fprintf (file, "  %-5s", element->common.name);
  for (guint i = 0; i < run->n_workers; i++)
    fprintf (file, " %s@%" G_GINT64_FORMAT, waits[run->workers[i]->wait],
             run->workers[i]->out != NULL ? run->workers[i]->out->sample : -1);
  for (guint i = 0; i < element->inputs->len; i++) {
    const HrLink *link = element->inputs->pdata[i];

    fprintf (file,
             "  in: %u/%" G_GUINT64_FORMAT " items %" G_GSIZE_FORMAT
             " bytes fill=%u popped=%" G_GINT64_FORMAT " emitted=%" G_GINT64_FORMAT
             " popping=%u pushing=%u%s%s",
             link->count, link->max_items, link->bytes, link->min_fill, link->popped, link->emitted,
             link->n_popping, link->n_pushing, link->ended ? " ended" : "",
             link->closed ? " closed" : "");
  }
  fprintf (file, "%s alive=%u\n", g_atomic_int_get (&run->closed) ? " closed" : "", run->n_alive);
}

/* without locks: nobody moves */
void
stress_dump (FILE *file)
{
  Run *run = current;

  if (run == NULL || run->pipeline == NULL)
    return;
  fprintf (file, "  %s%s\n", run->serial ? "serial" : "parallel",
           run->pipeline->stopping ? ", stopping" : "");
  if (run->pipeline->memory != NULL && run->pipeline->cpus != NULL) {
    HrGateStats memory, cpus;
    guint sink = 0;

    hr_gate_get_stats (run->pipeline->memory, &memory);
    hr_gate_get_stats (run->pipeline->cpus, &cpus);
    fprintf (file,
             "  memory %" G_GUINT64_FORMAT " used, %u wait; permits %" G_GUINT64_FORMAT
             " used, %u wait, released below %" G_GINT64_FORMAT "\n",
             memory.used, memory.n_waiting, cpus.used, cpus.n_waiting,
             hr_steps_get_released (run->pipeline->steps, &sink));
  }
  for (guint i = 0; i < run->pipeline->elements->len; i++) {
    const HrElement *element = run->pipeline->elements->pdata[i];

    if (element->run != NULL)
      dump_element (file, element);
  }
}
