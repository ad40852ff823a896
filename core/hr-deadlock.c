/* hr-deadlock.c: who waits for whom
 *
 * An element stands still when all its workers wait for a link or for the release of samples. Then
 * it can only go on when the element at the other end of that link, or the sink that must ask, does
 * something. Following that, we come to somebody who moves, or back to where we were. */
#include "hr-deadlock.h"

typedef struct {
  HrElement *element; /* that it waits for; NULL: it does not stand still */
  const char *why;    /* "waits for room in front of", … */
  gboolean filling;   /* there is something for it, which a warm-up keeps back */
  guint64 count;      /* sum of its workers' wait counts: unchanged, it has not moved */
} Stand;

struct _HrDeadlock {
  HrPipeline *pipeline;
  guint64 *suspects; /* by element: its count when it last stood in a circle, or 0 */
};

HrDeadlock *
hr_deadlock_new (HrPipeline *pipeline)
{
  HrDeadlock *finder = g_new0 (HrDeadlock, 1);

  finder->pipeline = pipeline;
  finder->suspects = g_new0 (guint64, pipeline->elements->len);
  return finder;
}

void
hr_deadlock_free (HrDeadlock *finder)
{
  g_free (finder->suspects);
  g_free (finder);
}

static HrElement *
sink_of (HrPipeline *pipeline, guint index)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (element->outputs->len == 0 && element->run->sink == index)
      return element;
  }
  return NULL;
}

typedef enum { MOVES, IDLE, WAITS_INPUT, STUCK } Motion;

/* What one worker waits for. Its word alone is not enough: it may have been woken and not have run
 * yet. So we look whether it would have to sleep again. */
static Motion
look_at_worker (HrElement *element, HrWorker *worker, Stand *stand)
{
  HrWait wait = __atomic_load_n (&worker->wait, __ATOMIC_ACQUIRE);
  HrLink *link = __atomic_load_n (&worker->wait_for, __ATOMIC_RELAXED);
  guint sink = 0;

  switch (wait) {
  case HR_WAIT_OUTPUT:
    if (link == NULL) /* it waits for something else by now */
      return MOVES;
    stand->element = link->to;
    stand->why = "waits for room in front of";
    return hr_link_is_full (link) ? STUCK : MOVES;
  case HR_WAIT_INPUT:
    if (link == NULL) /* for any of several */
      return MOVES;
    stand->element = link->from;
    stand->why = "waits for the output of";
    stand->filling = hr_link_is_filling (link);
    if (stand->filling)
      return WAITS_INPUT;
    return hr_link_is_empty (link) ? WAITS_INPUT : hr_link_is_shut (link) ? IDLE : MOVES;
  case HR_WAIT_RELEASE:
    if (link == NULL
        || __atomic_load_n (&link->next_number, __ATOMIC_RELAXED)
               < hr_steps_get_released (element->pipeline->steps, &sink))
      return MOVES;
    stand->element = sink_of (element->pipeline, sink);
    stand->why = "waits until the next step is asked for by";
    return STUCK;
  default:
    return MOVES;
  }
}

/* Of a pool, the worker that is stuck handing on decides: the others will soon wait for it. */
static Stand
stand_of (HrElement *element)
{
  HrRun *run = element->run;
  Stand stand = { 0 };
  Motion worst = IDLE;

  hr_mutex_lock (&run->lock);
  for (guint i = 0; i < run->n_workers; i++) {
    Stand one = { 0 };
    Motion motion = look_at_worker (element, run->workers[i], &one);

    stand.count += hr_counter_get (&run->workers[i]->wait_count);
    if (motion == MOVES && i < hr_run_get_n_workers (run)) {
      worst = MOVES;
      break;
    }
    if (motion > worst) {
      worst = motion;
      stand.element = one.element;
      stand.why = one.why;
      stand.filling = one.filling;
    }
  }
  /* somebody who has left, or whose end is in the program's hands, is not waited for here */
  if (worst < WAITS_INPUT || run->n_alive == 0)
    stand.element = NULL;
  hr_mutex_unlock (&run->lock);
  return stand;
}

static char *
describe (GPtrArray *circle, Stand *stands)
{
  GString *text = g_string_new ("deadlock: ");

  for (guint i = 0; i < circle->len; i++) {
    HrElement *element = circle->pdata[i];
    HrElement *next = circle->pdata[(i + 1) % circle->len];

    g_string_append_printf (text, "%s\"%s\" %s \"%s\"", i > 0 ? ", " : "",
                            hr_element_get_name (element), stands[element->index].why,
                            hr_element_get_name (next));
  }
  g_string_append (text, "; a branch that must hold more than its queue can take needs a larger "
                         "queue-items or queue-bytes, or the join another mode");
  return g_string_free (text, FALSE);
}

/* the circle that @start leads into, or NULL */
static GPtrArray *
follow (HrElement *start, Stand *stands, guint n)
{
  HrElement *slow = start, *fast = start;
  GPtrArray *circle;

  for (guint i = 0; i <= n; i++) { /* after n steps we are inside it */
    fast = stands[fast->index].element;
    if (fast == NULL)
      return NULL;
  }
  circle = g_ptr_array_new ();
  slow = fast;
  do {
    g_ptr_array_add (circle, slow);
    slow = stands[slow->index].element;
  } while (slow != fast);
  return circle;
}

static gboolean
stood_before (HrDeadlock *finder, GPtrArray *circle, Stand *stands)
{
  gboolean all = TRUE;

  for (guint i = 0; i < circle->len; i++) {
    guint index = ((HrElement *)circle->pdata[i])->index;

    all = all && finder->suspects[index] == stands[index].count;
    finder->suspects[index] = stands[index].count;
  }
  return all;
}

static gboolean
is_warming_up (GPtrArray *circle, Stand *stands)
{
  gboolean any = FALSE;

  for (guint i = 0; i < circle->len; i++)
    any = any || stands[((HrElement *)circle->pdata[i])->index].filling;
  return any;
}

void
hr_deadlock_look (HrDeadlock *finder)
{
  HrPipeline *pipeline = finder->pipeline;
  guint n = pipeline->elements->len;
  g_autofree Stand *stands = g_new0 (Stand, n);

  for (guint i = 0; i < n; i++)
    stands[i] = stand_of (pipeline->elements->pdata[i]);
  for (guint i = 0; i < n; i++) {
    g_autoptr (GPtrArray) circle = follow (pipeline->elements->pdata[i], stands, n);

    if (circle == NULL || circle->len < 2)
      continue;
    if (!stood_before (finder, circle, stands))
      return; /* one is enough, and it is looked at again */
    if (is_warming_up (circle, stands)) {
      hr_pipeline_end_warm_up (pipeline); /* it cannot get any warmer */
    } else {
      g_autofree char *text = describe (circle, stands);

      hr_pipeline_fail (pipeline, NULL,
                        g_error_new_literal (HR_CORE_ERROR, HR_CORE_ERROR_DEADLOCK, text));
    }
    return;
  }
}
