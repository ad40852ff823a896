/* test-link.c: the queue and the order of tickets, one call at a time: source ! pool ! sink, whose
 * threads are never started */
#include "hr-topology.h"
#include "small.h"
#include <poll.h>

typedef struct {
  SmallLive live;
  SmallSink sink;
  HrPipeline *pipeline;
  HrElement *source, *pool, *end;
  HrLink *in, *out;
} Rig;

static void
set_up (Rig *rig, gboolean ordered, const char *workers, const char *window)
{
  g_autoptr (GError) error = NULL;

  rig->live = small_live ();
  small_sink_init (&rig->sink);
  rig->pipeline = hr_pipeline_new ();
  rig->source = small_source (rig->pipeline, "source", 0, NULL, NULL);
  rig->pool = small_light (rig->pipeline, "pool", 0, NULL, NULL);
  rig->end = small_sink (rig->pipeline, "sink", &rig->sink);
  small_link (rig->pipeline, rig->source, rig->pool, rig->end, NULL);
  small_set (rig->pool, "ordered", ordered ? "true" : "false");
  small_set (rig->pool, "workers", workers);
  small_set (rig->pool, "window", window);
  g_assert_true (hr_topology_apply (rig->pipeline, &error));
  rig->in = rig->pool->inputs->pdata[0];
  rig->out = rig->end->inputs->pdata[0];
  for (guint i = 0; i < rig->pipeline->elements->len; i++)
    g_assert_true (
        hr_bell_init (&((HrElement *)rig->pipeline->elements->pdata[i])->run->bell, NULL));
}

static void
tear_down (Rig *rig)
{
  g_object_unref (rig->pipeline);
  small_sink_clear (&rig->sink);
  small_assert_live (rig->live);
}

static void
push (HrLink *link, gint64 value)
{
  HrBuffer *buffer = small_buffer (value);

  g_assert_true (hr_link_push (link, &buffer, 1));
}

/* the value of the next item, or -1 if there is none */
static gint64
try_pop (HrLink *link)
{
  gboolean ended;
  HrBuffer *buffer = hr_link_try_pop (link, &ended);
  gint64 value = buffer != NULL ? small_value (buffer) : -1;

  hr_buffer_unref (buffer);
  return value;
}

static gint64
pop_ticket (HrLink *link, HrBuffer **buffer)
{
  gint64 ticket = -1;

  g_assert_cmpuint (hr_link_pop (link, 0, 1, buffer, &ticket, NULL), ==, 1);
  return ticket;
}

static gboolean
is_rung (HrElement *element)
{
  struct pollfd fd = { element->run->bell.fd, POLLIN, 0 };
  gboolean rung = poll (&fd, 1, 0) == 1;

  hr_bell_hush (&element->run->bell);
  return rung;
}

static void
test_items (void)
{
  Rig rig;
  HrBuffer *buffer;

  set_up (&rig, TRUE, "1", "0");
  buffer = small_buffer (3);
  hr_link_set_bounds (rig.in, 3, G_MAXUINT64);
  for (gint64 i = 0; i < 3; i++)
    push (rig.in, i);
  g_assert_false (hr_link_try_push (rig.in, buffer));
  g_assert_true (hr_link_is_full (rig.in));
  for (gint64 i = 0; i < 3; i++)
    g_assert_cmpint (try_pop (rig.in), ==, i);
  g_assert_true (hr_link_is_empty (rig.in));
  g_assert_true (hr_link_try_push (rig.in, buffer));
  g_assert_cmpint (try_pop (rig.in), ==, 3);
  g_assert_cmpint (try_pop (rig.in), ==, -1);
  tear_down (&rig);
}

/* the ring grows, and keeps the order when it has wrapped */
static void
test_many_items (void)
{
  Rig rig;
  gint64 in = 0, out = 0;

  set_up (&rig, TRUE, "1", "0");
  hr_link_set_bounds (rig.in, 1000, G_MAXUINT64);
  for (int round = 0; round < 50; round++) {
    for (int i = 0; i < 30; i++)
      push (rig.in, in++);
    for (int i = 0; i < 17; i++)
      g_assert_cmpint (try_pop (rig.in), ==, out++);
  }
  while (out < in)
    g_assert_cmpint (try_pop (rig.in), ==, out++);
  tear_down (&rig);
}

/* 8 bytes each: one that is larger than the bound is admitted into an empty queue, and only there
 */
static void
test_bytes (void)
{
  Rig rig;
  HrBuffer *buffer;

  set_up (&rig, TRUE, "1", "0");
  buffer = small_buffer (1);
  hr_link_set_bounds (rig.in, 100, 1);
  push (rig.in, 0);
  g_assert_false (hr_link_try_push (rig.in, buffer));
  hr_link_set_bounds (rig.in, 100, 16);
  g_assert_true (hr_link_try_push (rig.in, buffer));
  buffer = small_buffer (2);
  g_assert_false (hr_link_try_push (rig.in, buffer));
  hr_buffer_unref (buffer);
  g_assert_cmpuint (rig.in->peak_bytes, ==, 16);
  tear_down (&rig); /* what is left in it is dropped */
}

static void
test_bells (void)
{
  Rig rig;
  HrBuffer *buffer;

  set_up (&rig, TRUE, "1", "0");
  buffer = small_buffer (9);
  hr_link_set_bounds (rig.in, 4, G_MAXUINT64);
  g_assert_cmpint (try_pop (rig.in), ==, -1); /* the consumer wants to hear of the next */
  g_assert_false (is_rung (rig.pool));
  push (rig.in, 0);
  g_assert_true (is_rung (rig.pool));
  push (rig.in, 1);
  g_assert_false (is_rung (rig.pool)); /* it knows already */
  push (rig.in, 2);
  push (rig.in, 3);
  g_assert_false (hr_link_try_push (rig.in, buffer));
  g_assert_cmpint (try_pop (rig.in), ==, 0);
  g_assert_false (is_rung (rig.source)); /* not at each item */
  g_assert_cmpint (try_pop (rig.in), ==, 1);
  g_assert_true (is_rung (rig.source)); /* half empty */
  /* a larger bound makes room as well */
  push (rig.in, 4);
  push (rig.in, 5);
  g_assert_false (hr_link_try_push (rig.in, buffer));
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  g_assert_true (is_rung (rig.source));
  g_assert_true (hr_link_try_push (rig.in, buffer));
  /* the end is heard too */
  while (try_pop (rig.in) >= 0)
    ;
  is_rung (rig.pool);
  hr_link_end (rig.in);
  g_assert_true (is_rung (rig.pool));
  tear_down (&rig);
}

static void
test_end (void)
{
  Rig rig;
  HrBuffer *buffer;
  gint64 ticket;
  gboolean ended;

  set_up (&rig, TRUE, "1", "0");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  push (rig.in, 0);
  push (rig.in, 1);
  hr_link_end (rig.in);
  /* seen after the queued items */
  g_assert_cmpuint (hr_link_pop (rig.in, 0, 1, &buffer, &ticket, NULL), ==, 1);
  hr_buffer_unref (buffer);
  buffer = hr_link_try_pop (rig.in, &ended);
  g_assert_nonnull (buffer);
  hr_buffer_unref (buffer);
  g_assert_null (hr_link_try_pop (rig.in, &ended));
  g_assert_true (ended);
  g_assert_cmpuint (hr_link_pop (rig.in, 0, 1, &buffer, &ticket, NULL), ==, 0);
  /* nothing more is taken */
  buffer = small_buffer (2);
  g_assert_false (hr_link_push (rig.in, &buffer, 1));
  tear_down (&rig);
}

/* travels upstream at once, to the elements, and drops what is queued */
static void
test_close (void)
{
  Rig rig;
  HrBuffer *buffer;

  set_up (&rig, TRUE, "1", "0");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  push (rig.in, 0);
  push (rig.out, 1);
  g_assert_false (hr_run_is_closed (rig.pool->run));
  hr_link_close (rig.out);
  g_assert_true (hr_run_is_closed (rig.pool->run));
  g_assert_true (hr_run_is_closed (rig.source->run));
  g_assert_false (hr_run_is_closed (rig.end->run));
  g_assert_cmpuint (rig.in->count + rig.out->count, ==, 0);
  buffer = small_buffer (2);
  g_assert_false (hr_link_push (rig.in, &buffer, 1));
  buffer = small_buffer (3);
  g_assert_true (hr_link_try_push (rig.out, buffer)); /* swallowed */
  g_assert_cmpint (try_pop (rig.out), ==, -1);
  hr_link_close (rig.out); /* twice does no harm */
  tear_down (&rig);
}

static void
test_numbers (void)
{
  Rig rig;
  HrBuffer *buffer;

  set_up (&rig, TRUE, "1", "0");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  for (gint64 i = 0; i < 5; i++) {
    push (rig.in, 100 + i);
    pop_ticket (rig.in, &buffer);
    g_assert_cmpint (buffer->number, ==, i);
    g_assert_cmpint (buffer->sample, ==, i);
    hr_buffer_unref (buffer);
    hr_link_settle (rig.in, 1);
  }
  g_assert_cmpint (hr_run_get_next (rig.source->run), ==, 5);
  tear_down (&rig);
}

/* ---- tickets ---- */

static void
deposit (Rig *rig, gint64 ticket, HrBuffer *buffer)
{
  hr_link_deposit (rig->in, ticket, 1, &buffer, 1);
}

/* whoever finishes first, the order of the tickets is the order of the output */
static void
test_order (void)
{
  const gint64 finished[] = { 2, 1, 0, 5, 3, 7, 6, 4 };
  const guint there[] = { 0, 0, 3, 3, 4, 4, 4, 8 };
  HrBuffer *buffers[8];
  Rig rig;

  set_up (&rig, TRUE, "4", "8");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  hr_link_set_bounds (rig.out, 8, G_MAXUINT64);
  for (gint64 i = 0; i < 8; i++)
    push (rig.in, i);
  for (gint64 i = 0; i < 8; i++)
    g_assert_cmpint (pop_ticket (rig.in, &buffers[i]), ==, i);
  for (guint i = 0; i < 8; i++) {
    deposit (&rig, finished[i], buffers[finished[i]]);
    g_assert_cmpuint (rig.out->count, ==, there[i]);
  }
  for (gint64 i = 0; i < 8; i++)
    g_assert_cmpint (try_pop (rig.out), ==, i);
  tear_down (&rig);
}

static void
test_unordered (void)
{
  HrBuffer *buffers[4], *buffer;
  Rig rig;

  set_up (&rig, FALSE, "4", "8");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  hr_link_set_bounds (rig.out, 8, G_MAXUINT64);
  for (gint64 i = 0; i < 4; i++)
    push (rig.in, i);
  for (gint64 i = 0; i < 4; i++)
    pop_ticket (rig.in, &buffers[i]);
  for (gint64 i = 3; i >= 0; i--)
    deposit (&rig, i, buffers[i]);
  for (gint64 i = 0; i < 4; i++) {
    pop_ticket (rig.out, &buffer);
    g_assert_cmpint (small_value (buffer), ==, 3 - i);
    g_assert_cmpint (buffer->sample, ==, i); /* new numbers */
    hr_buffer_unref (buffer);
    hr_link_settle (rig.out, 1);
  }
  tear_down (&rig);
}

/* no more tickets than the window; several, nothing or a hole may come of one */
static void
test_window (void)
{
  HrBuffer *buffers[3], *several[2];
  Rig rig;

  set_up (&rig, TRUE, "4", "3");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  hr_link_set_bounds (rig.out, 8, G_MAXUINT64);
  for (gint64 i = 0; i < 5; i++)
    push (rig.in, i);
  for (gint64 i = 0; i < 3; i++)
    pop_ticket (rig.in, &buffers[i]);
  g_assert_true (hr_link_is_shut (rig.in));
  deposit (&rig, 2, buffers[2]);
  g_assert_true (hr_link_is_shut (rig.in)); /* it waits for the head */
  hr_buffer_unref (buffers[0]);
  hr_link_deposit (rig.in, 0, 1, NULL, 0);
  g_assert_false (hr_link_is_shut (rig.in));
  g_assert_cmpuint (rig.out->count, ==, 0);
  several[0] = buffers[1];
  several[1] = small_buffer (77);
  hr_link_deposit (rig.in, 1, 1, several, 2);
  g_assert_cmpint (try_pop (rig.out), ==, 1);
  g_assert_cmpint (try_pop (rig.out), ==, 77);
  g_assert_cmpint (try_pop (rig.out), ==, 2);
  g_assert_cmpint (rig.in->popped - rig.in->emitted, ==, 0);
  tear_down (&rig);
}

/* bytes that wait for the head close the window too, but never the head's own turn */
static void
test_window_bytes (void)
{
  HrBuffer *buffers[3];
  Rig rig;

  set_up (&rig, TRUE, "4", "100");
  hr_link_set_bounds (rig.out, 8, G_MAXUINT64);
  hr_link_set_bounds (rig.in, 8, 9);
  push (rig.in, 0);
  pop_ticket (rig.in, &buffers[0]);
  push (rig.in, 1);
  pop_ticket (rig.in, &buffers[1]);
  push (rig.in, 2);
  pop_ticket (rig.in, &buffers[2]);
  push (rig.in, 3);
  g_assert_false (hr_link_is_shut (rig.in));
  deposit (&rig, 1, buffers[1]);
  g_assert_false (hr_link_is_shut (rig.in)); /* 8 of 9 bytes */
  deposit (&rig, 2, buffers[2]);
  g_assert_true (hr_link_is_shut (rig.in)); /* 16 of 9 */
  deposit (&rig, 0, buffers[0]);
  g_assert_false (hr_link_is_shut (rig.in));
  tear_down (&rig);
}

/* a worker that is alone takes and hands on several at once, also in parts */
static void
test_runs (void)
{
  HrBuffer *items[8];
  gint64 ticket;
  Rig rig;

  set_up (&rig, TRUE, "1", "100");
  hr_link_set_bounds (rig.in, 8, G_MAXUINT64);
  hr_link_set_bounds (rig.out, 8, G_MAXUINT64);
  for (gint64 i = 0; i < 6; i++)
    push (rig.in, i);
  g_assert_cmpuint (hr_link_pop (rig.in, 0, 4, items, &ticket, NULL), ==, 4);
  g_assert_cmpint (ticket, ==, 0);
  g_assert_cmpuint (hr_link_pop (rig.in, 0, 8, items + 4, &ticket, NULL), ==, 2);
  g_assert_cmpint (ticket, ==, 4);
  hr_link_deposit (rig.in, 4, 2, items + 4, 2); /* too early: stored */
  g_assert_cmpuint (rig.out->count, ==, 0);
  hr_link_deposit (rig.in, 0, 3, items, 3);
  g_assert_cmpuint (rig.out->count, ==, 3);
  hr_link_deposit (rig.in, 3, 1, items + 3, 1);
  for (gint64 i = 0; i < 6; i++)
    g_assert_cmpint (try_pop (rig.out), ==, i);
  tear_down (&rig);
}

/* more tickets than slots: a window raised while they are out */
static void
test_many_tickets (void)
{
  HrBuffer *buffers[300];
  Rig rig;

  set_up (&rig, TRUE, "4", "300");
  hr_link_set_bounds (rig.in, 1000, G_MAXUINT64);
  hr_link_set_bounds (rig.out, 1000, G_MAXUINT64);
  for (gint64 i = 0; i < 300; i++) {
    push (rig.in, i);
    g_assert_cmpint (pop_ticket (rig.in, &buffers[i]), ==, i);
  }
  for (gint64 i = 299; i >= 0; i--)
    deposit (&rig, i, buffers[i]);
  for (gint64 i = 0; i < 300; i++)
    g_assert_cmpint (try_pop (rig.out), ==, i);
  tear_down (&rig);
}

/* a warm-up keeps items back until there are enough, the queue is full, or the input has ended */
static void
test_warm_up (void)
{
  HrBuffer *buffer;
  Rig rig;

  set_up (&rig, TRUE, "1", "0");
  hr_link_set_bounds (rig.in, 3, G_MAXUINT64);
  rig.in->min_fill = 2;
  push (rig.in, 0);
  g_assert_true (hr_link_is_filling (rig.in));
  g_assert_cmpint (try_pop (rig.in), ==, -1);
  push (rig.in, 1);
  g_assert_cmpint (try_pop (rig.in), ==, 0);
  g_assert_cmpint (try_pop (rig.in), ==, 1); /* only once */

  rig.in->min_fill = 5;
  push (rig.in, 2);
  push (rig.in, 3);
  push (rig.in, 4);
  buffer = small_buffer (5);
  g_assert_false (hr_link_try_push (rig.in, buffer)); /* it cannot get any fuller */
  hr_buffer_unref (buffer);
  g_assert_cmpint (try_pop (rig.in), ==, 2);

  rig.in->min_fill = 3;
  g_assert_cmpint (try_pop (rig.in), ==, -1);
  hr_link_end_warm_up (rig.in);
  g_assert_cmpint (try_pop (rig.in), ==, 3);

  rig.in->min_fill = 3;
  g_assert_cmpint (try_pop (rig.in), ==, -1);
  hr_link_end (rig.in);
  g_assert_cmpint (try_pop (rig.in), ==, 4);
  tear_down (&rig);
}

static gpointer
push_one (gpointer link)
{
  push (link, 9);
  return NULL;
}

/* Two items of eight bytes are all that it holds, so it never fills to four: whoever puts in the
 * third must tell who sleeps on its bell, in each of the ways of putting in. */
static void
test_warm_up_bells (void)
{
  for (guint way = 0; way < 3; way++) {
    gboolean wanted;
    GThread *thread = NULL;
    HrBuffer *third;
    Rig rig;

    set_up (&rig, TRUE, "1", "0");
    third = small_buffer (9);
    hr_link_set_bounds (rig.in, 8, 16);
    rig.in->min_fill = 4;
    push (rig.in, 0);
    push (rig.in, 1);
    g_assert_cmpint (try_pop (rig.in), ==, -1);
    is_rung (rig.pool);
    if (way == 0)
      g_assert_false (hr_link_try_push (rig.in, third));
    else if (way == 1)
      g_assert_false (hr_link_push_until (rig.in, third, hr_now (), &wanted));
    else
      thread = g_thread_new ("pusher", push_one, rig.in);
    while (!is_rung (rig.pool)) {
      g_assert_cmpuint (way, ==, 2); /* the thread comes to it */
      g_usleep (1000);
    }
    g_assert_cmpint (try_pop (rig.in), ==, 0);
    if (thread != NULL)
      g_thread_join (thread);
    hr_buffer_unref (third);
    tear_down (&rig);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/link/items", test_items);
  g_test_add_func ("/link/many-items", test_many_items);
  g_test_add_func ("/link/bytes", test_bytes);
  g_test_add_func ("/link/bells", test_bells);
  g_test_add_func ("/link/end", test_end);
  g_test_add_func ("/link/close", test_close);
  g_test_add_func ("/link/numbers", test_numbers);
  g_test_add_func ("/link/warm-up", test_warm_up);
  g_test_add_func ("/link/warm-up-bells", test_warm_up_bells);
  g_test_add_func ("/order/order", test_order);
  g_test_add_func ("/order/unordered", test_unordered);
  g_test_add_func ("/order/window", test_window);
  g_test_add_func ("/order/window-bytes", test_window_bytes);
  g_test_add_func ("/order/runs", test_runs);
  g_test_add_func ("/order/many-tickets", test_many_tickets);
  return g_test_run ();
}
