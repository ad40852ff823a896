/* hr-watchdog.c
 *
 * What has moved is the sum of all that was begun, handed on, read and taken. When it has stayed
 * the same for a quarter of the time, and for half of it, those that wait for something outside are
 * asked what that is, and how much of it has come so far; each answers in its own thread, the only
 * one that may look. If at the end of the time that has not changed either, all is told, once; and
 * once more when it moves again. */
#include "hr-watchdog.h"
#include "hr-headspace.h"
#include "hr-log.h"

struct _HrWatchdog {
  HrPipeline *pipeline;
  guint64 moved;    /* the sum when it last changed … */
  gint64 since;     /* … and when that was */
  guint asked;      /* how often since then */
  guint64 progress; /* what had come from outside by then */
  gboolean told;
};

HrWatchdog *
hr_watchdog_new (HrPipeline *pipeline)
{
  HrWatchdog *watchdog = g_new0 (HrWatchdog, 1);

  watchdog->pipeline = pipeline;
  watchdog->since = hr_now ();
  return watchdog;
}

void
hr_watchdog_free (HrWatchdog *watchdog)
{
  g_free (watchdog);
}

/* ---- asking ---- */

void
hr_worker_answer (HrWorker *worker)
{
  HrRun *run = worker->run;
  GString *text;
  guint64 progress;

  if (!__atomic_load_n (&worker->asked, __ATOMIC_ACQUIRE))
    return;
  text = g_string_new (NULL);
  progress = run->def->waits_for != NULL ? run->def->waits_for (run->self, worker->state, text) : 0;
  hr_mutex_lock (&run->lock);
  g_free (worker->word);
  worker->word = g_string_free (text, FALSE);
  worker->progress = progress;
  hr_mutex_unlock (&run->lock);
  __atomic_store_n (&worker->asked, FALSE, __ATOMIC_RELEASE);
}

static void
ask (HrWatchdog *watchdog)
{
  for (guint i = 0; i < watchdog->pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)watchdog->pipeline->elements->pdata[i])->run;

    if (run->def->waits_for == NULL)
      continue;
    hr_mutex_lock (&run->lock);
    for (guint k = 0; k < run->n_workers; k++)
      __atomic_store_n (&run->workers[k]->asked, TRUE, __ATOMIC_RELEASE);
    hr_mutex_unlock (&run->lock);
    if (run->bell.fd >= 0)
      hr_bell_ring (&run->bell);
  }
}

/* of all that has come from outside */
static guint64
sum_progress (HrPipeline *pipeline)
{
  guint64 sum = 0;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    hr_mutex_lock (&run->lock);
    for (guint k = 0; k < run->n_workers; k++)
      sum += run->workers[k]->progress;
    hr_mutex_unlock (&run->lock);
  }
  return sum;
}

static guint64 sum_moved (HrPipeline *pipeline);

/* the run that finds out lengths meanwhile; with the lock it stays */
static guint64
sum_inner (HrPipeline *pipeline)
{
  guint64 sum = 0;

  hr_mutex_lock (&pipeline->lock);
  if (pipeline->inner != NULL && hr_pipeline_get_state (pipeline->inner) == HR_STATE_RUNNING)
    sum = sum_moved (pipeline->inner);
  hr_mutex_unlock (&pipeline->lock);
  return sum;
}

static guint64
sum_moved (HrPipeline *pipeline)
{
  guint64 sum = sum_inner (pipeline);

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;

    sum += (guint64)hr_counter_get (&run->step);
    hr_mutex_lock (&run->lock);
    for (guint k = 0; k < run->n_workers; k++)
      sum += hr_counter_get (&run->workers[k]->items) + hr_counter_get (&run->workers[k]->read);
    sum += run->n_alive; /* one that has left has moved */
    hr_mutex_unlock (&run->lock);
  }
  for (guint i = 0; i < pipeline->links->len; i++)
    sum += (guint64)hr_counter_get (&((HrLink *)pipeline->links->pdata[i])->next_number);
  return sum;
}

/* ---- telling ---- */

static const char *
name_of (const HrElement *element)
{
  return element->common.name;
}

static void
add_budget (GString *text, HrGate *gate, const char *what, const char *property)
{
  HrGateStats stats;

  hr_gate_get_stats (gate, &stats);
  g_string_append_printf (
      text, "waits for %s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " are taken (%s=)", what,
      stats.used, hr_gate_get_capacity (gate), property);
}

static const char *
find_trainer (HrPipeline *pipeline, guint *sink)
{
  hr_steps_get_released (pipeline->steps, sink);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len == 0 && element->run->sink == *sink)
      return name_of (element);
  }
  return "the sink";
}

static gboolean
has_word (const HrWorker *worker)
{
  return worker->word != NULL && *worker->word != '\0';
}

static void
add_room (GString *text, const HrLink *link)
{
  guint64 items, bytes;

  if (link == NULL) {
    g_string_append (text, "waits for room in front of the next element");
    return;
  }
  hr_run_get_bounds (link->to->run, &items, &bytes);
  g_string_append_printf (text,
                          "waits for room in front of \"%s\", whose queue is full (%" //
                          G_GUINT64_FORMAT " buffers, or %" G_GUINT64_FORMAT " bytes)",
                          name_of (link->to), items, bytes);
}

/* with its lock: what the worker does; nothing if it has left, or never came */
static void
add_worker (GString *text, HrRun *run, const HrWorker *worker)
{
  HrPipeline *pipeline = run->pipeline;
  HrLink *link = __atomic_load_n (&worker->wait_for, __ATOMIC_RELAXED);
  guint sink = 0;

  switch (__atomic_load_n (&worker->wait, __ATOMIC_ACQUIRE)) {
  case HR_WAIT_INPUT:
    if (link != NULL)
      g_string_append_printf (text, "waits for the output of \"%s\"", name_of (link->from));
    else
      g_string_append (text, "waits for any of its inputs");
    return;
  case HR_WAIT_OUTPUT:
    add_room (text, link);
    return;
  case HR_WAIT_RELEASE:
    g_string_append_printf (text, "waits until \"%s\" asks for the next step",
                            find_trainer (pipeline, &sink));
    return;
  case HR_WAIT_BUDGET:
    add_budget (text, pipeline->memory, "bytes of the budget", "memory");
    return;
  case HR_WAIT_PERMIT:
    add_budget (text, pipeline->cpus, "a processor", "cpus");
    return;
  case HR_WAIT_OUTSIDE:
    g_string_append (text, has_word (worker)   ? worker->word
                           : run->def->network ? "waits for the network"
                                               : "sleeps, or waits for something outside");
    return;
  default:
    g_string_append (text, has_word (worker)   ? worker->word
                           : run->def->network ? "waits for the network, or works"
                           : run->def->waits   ? "waits for something outside, or works"
                                               : "is at work on one buffer");
  }
}

/* the program pulls: it has no thread here */
static void
add_program (GString *text, HrRun *run)
{
  HrLink *link = run->element->inputs->len > 0 ? run->element->inputs->pdata[0] : NULL;

  if (link != NULL && hr_link_is_empty (link))
    g_string_append_printf (text, "waits for the output of \"%s\"", name_of (link->from));
  else
    g_string_append (text, "waits for the program to pull");
}

/* one line an element; workers that do the same are counted */
static void
add_element (GString *text, HrElement *element)
{
  HrRun *run = element->run;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter each;
  gpointer what, n;

  hr_mutex_lock (&run->lock);
  for (guint i = 0; i < run->n_workers; i++) {
    GString *one;

    /* one thread for all elements: most of them are not at work, but not waiting either */
    if (run->pipeline->settings.serial && !has_word (run->workers[i])
        && __atomic_load_n (&run->workers[i]->wait, __ATOMIC_ACQUIRE) == HR_WAIT_NONE)
      continue;
    one = g_string_new (NULL);
    add_worker (one, run, run->workers[i]);
    n = g_hash_table_lookup (seen, one->str);
    g_hash_table_replace (seen, g_string_free (one, FALSE),
                          GUINT_TO_POINTER (GPOINTER_TO_UINT (n) + 1));
  }
  if (run->n_alive == 0 && !run->pipeline->settings.serial)
    g_hash_table_remove_all (seen); /* it has done its part, or has no thread */
  hr_mutex_unlock (&run->lock);
  if (hr_element_def_is_pulled (run->def)) {
    GString *one = g_string_new (NULL);

    add_program (one, run);
    g_hash_table_replace (seen, g_string_free (one, FALSE), GUINT_TO_POINTER (1));
  }
  g_hash_table_iter_init (&each, seen);
  while (g_hash_table_iter_next (&each, &what, &n)) {
    g_string_append_printf (text, "\n  \"%s\" %s", name_of (element), (const char *)what);
    if (GPOINTER_TO_UINT (n) > 1)
      g_string_append_printf (text, " (%u workers)", GPOINTER_TO_UINT (n));
  }
}

static void
append_seconds (GString *text, gint64 nanoseconds)
{
  g_string_append_printf (text, "%" G_GINT64_FORMAT " s", nanoseconds / 1000000000);
}

/* A trainer may stand still as long as it likes: it validates, or writes its weights. */
static gboolean
is_the_trainers (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (hr_element_def_is_pulled (element->def) && !hr_link_is_empty (element->inputs->pdata[0]))
      return TRUE;
  }
  return FALSE;
}

static void
tell (HrWatchdog *watchdog, gint64 quiet)
{
  HrPipeline *pipeline = watchdog->pipeline;
  GString *text = g_string_new ("nothing has moved for ");

  append_seconds (text, quiet);
  g_string_append_c (text, ':');
  for (guint i = 0; i < pipeline->elements->len; i++)
    add_element (text, pipeline->elements->pdata[i]);
  watchdog->told = TRUE;
  hr_log ("core", HR_LOG_WARNING, -1, "%s", text->str);
  if (pipeline->settings.on_stall == HR_ON_STALL_FAIL && !is_the_trainers (pipeline))
    hr_pipeline_fail (pipeline, NULL,
                      g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_STALLED, "%s", text->str));
  hr_pipeline_post_text (pipeline, HR_MESSAGE_STALL, g_string_free (text, FALSE));
}

static void
tell_end (HrWatchdog *watchdog, gint64 quiet)
{
  GString *text = g_string_new ("moves again, after ");

  append_seconds (text, quiet);
  watchdog->told = FALSE;
  hr_log ("core", HR_LOG_WARNING, -1, "%s", text->str);
  hr_pipeline_post_text (watchdog->pipeline, HR_MESSAGE_STALL, g_string_free (text, FALSE));
}

/* ---- looking ---- */

static void
start_anew (HrWatchdog *watchdog, gint64 now)
{
  if (watchdog->told)
    tell_end (watchdog, now - watchdog->since);
  watchdog->since = now;
  watchdog->asked = 0;
}

void
hr_watchdog_look (HrWatchdog *watchdog)
{
  HrPipeline *pipeline = watchdog->pipeline;
  gint64 timeout = pipeline->settings.stall_timeout, now = hr_now ();
  guint64 moved = sum_moved (pipeline);

  if (timeout == 0 || g_atomic_int_get (&pipeline->stopping)
      || hr_headspace_replays (pipeline)) /* all that is left is the trainer */
    return;
  if (moved != watchdog->moved) {
    watchdog->moved = moved;
    start_anew (watchdog, now);
  } else if (watchdog->asked < 2 && now - watchdog->since >= timeout / 4 * (watchdog->asked + 1)) {
    watchdog->asked++;
    watchdog->progress = sum_progress (pipeline);
    ask (watchdog);
  } else if (now - watchdog->since >= timeout) {
    guint64 progress = sum_progress (pipeline);

    if (progress != watchdog->progress)
      start_anew (watchdog, now); /* one that takes long, but comes */
    else if (!watchdog->told)
      tell (watchdog, now - watchdog->since);
    watchdog->progress = progress;
    ask (watchdog);
  }
}
