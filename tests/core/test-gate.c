/* test-gate.c: capacity, order, what is forced, and ways out of a wait */
#include "hr-gate.h"
#include <poll.h>

static gint64 in_hand; /* numbers below it are forced */

static gboolean
forced (gpointer data, gint64 number, guint segment G_GNUC_UNUSED)
{
  g_assert_true (data == &in_hand);
  return number < in_hand;
}

/* in segment 0 nothing is, in segment 1 everything */
static gboolean
forced_behind (gpointer data G_GNUC_UNUSED, gint64 number G_GNUC_UNUSED, guint segment)
{
  return segment == 1;
}

static guint64
used (HrGate *gate)
{
  HrGateStats stats;

  hr_gate_get_stats (gate, &stats);
  return stats.used;
}

static HrGateWaiter
ask (gint64 number, guint64 amount)
{
  return (HrGateWaiter){ .number = number, .amount = amount };
}

static void
test_capacity (void)
{
  HrGate *gate = hr_gate_new (10, NULL, NULL);
  HrGateWaiter a = ask (0, 6), b = ask (1, 5), c = ask (2, 4);
  HrGateStats stats;

  g_assert_true (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_request (gate, &b));
  /* it would fit, but b is earlier */
  g_assert_false (hr_gate_request (gate, &c));
  hr_gate_give (gate, 1);
  g_assert_true (hr_gate_is_granted (gate, &b));
  g_assert_false (hr_gate_is_granted (gate, &c));
  hr_gate_give (gate, 10);
  g_assert_true (hr_gate_is_granted (gate, &c));
  hr_gate_give (gate, 4);
  hr_gate_get_stats (gate, &stats);
  g_assert_cmpuint (stats.used, ==, 0);
  g_assert_cmpuint (stats.max_used, ==, 10);
  g_assert_cmpuint (stats.max_over, ==, 0);
  g_assert_cmpuint (stats.n_forced, ==, 0);
  g_assert_cmpuint (stats.n_waiting, ==, 0);
  hr_gate_unref (gate);
}

/* whoever comes when, the lowest number is served first; equal ones as they came */
static void
test_order (void)
{
  const gint64 numbers[] = { 5, 3, 9, 3, 1, 7 };
  const guint order[] = { 4, 1, 3, 0, 5, 2 };
  HrGateWaiter waiters[G_N_ELEMENTS (numbers)], first = ask (0, 1);
  HrGate *gate = hr_gate_new (1, NULL, NULL);

  g_assert_true (hr_gate_request (gate, &first));
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    waiters[i] = ask (numbers[i], 1);
    g_assert_false (hr_gate_request (gate, &waiters[i]));
  }
  for (guint i = 0; i < G_N_ELEMENTS (order); i++) {
    guint n = 0;

    hr_gate_give (gate, 1);
    for (guint k = 0; k < G_N_ELEMENTS (numbers); k++)
      n += hr_gate_is_granted (gate, &waiters[k]);
    g_assert_cmpuint (n, ==, i + 1);
    g_assert_true (hr_gate_is_granted (gate, &waiters[order[i]]));
  }
  hr_gate_unref (gate);
}

/* permits: the lowest step, in it the costliest, then the lowest number */
static void
test_costs (void)
{
  const struct {
    gint64 number, step;
    guint64 cost;
  } asked[] = {
    { 7, 8, 90 }, { 0, 4, 10 }, { 3, 4, 50 }, { 2, 4, 10 }, { 1, 4, 50 }, { 4, 8, 91 }
  };
  const guint order[] = { 4, 2, 1, 3, 5, 0 };
  HrGateWaiter waiters[G_N_ELEMENTS (asked)], first = ask (0, 1);
  HrGate *gate = hr_gate_new (1, NULL, NULL);

  g_assert_true (hr_gate_request (gate, &first));
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++) {
    waiters[i] = ask (asked[i].number, 1);
    waiters[i].step = asked[i].step;
    waiters[i].cost = asked[i].cost;
    g_assert_false (hr_gate_request (gate, &waiters[i]));
  }
  for (guint i = 0; i < G_N_ELEMENTS (order); i++) {
    g_assert_false (hr_gate_is_granted (gate, &waiters[order[i]]));
    hr_gate_give (gate, 1);
    g_assert_true (hr_gate_is_granted (gate, &waiters[order[i]]));
  }
  hr_gate_give (gate, 1);
  hr_gate_unref (gate);
}

static void
test_forced (void)
{
  HrGate *gate = hr_gate_new (10, forced, &in_hand);
  HrGateWaiter a = ask (0, 100), b = ask (1, 50), c = ask (2, 1);
  HrGateStats stats;

  in_hand = 1;
  g_assert_true (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_request (gate, &b));
  g_assert_false (hr_gate_request (gate, &c));
  in_hand = 2;
  g_assert_false (hr_gate_is_granted (gate, &b)); /* nobody has said so yet */
  hr_gate_pump (gate);
  g_assert_true (hr_gate_is_granted (gate, &b));
  g_assert_false (hr_gate_is_granted (gate, &c));
  hr_gate_give (gate, 100);
  g_assert_false (hr_gate_is_granted (gate, &c)); /* 50 of 10 */
  hr_gate_give (gate, 50);
  g_assert_true (hr_gate_is_granted (gate, &c));
  hr_gate_get_stats (gate, &stats);
  g_assert_cmpuint (stats.n_forced, ==, 2);
  g_assert_cmpuint (stats.max_used, ==, 150);
  g_assert_cmpuint (stats.max_over, ==, 140);
  hr_gate_give (gate, 1);
  hr_gate_unref (gate);
}

/* a forced request is granted wherever it stands: one of an earlier segment behind many of later
 * ones, and later segments come first */
static void
test_segments (void)
{
  HrGate *gate = hr_gate_new (1, forced_behind, NULL);
  HrGateWaiter first = ask (0, 1), early = ask (0, 1), late = ask (90, 1), later = ask (80, 1);

  g_assert_true (hr_gate_request (gate, &first));
  early.segment = 0;
  g_assert_false (hr_gate_request (gate, &early));
  late.segment = 1;
  g_assert_true (hr_gate_request (gate, &late)); /* over the capacity, and past `early` */
  later.segment = 2;
  g_assert_false (hr_gate_request (gate, &later));
  hr_gate_give (gate, 2);
  g_assert_true (hr_gate_is_granted (gate, &later));
  g_assert_false (hr_gate_is_granted (gate, &early));
  hr_gate_give (gate, 1);
  g_assert_true (hr_gate_is_granted (gate, &early));
  hr_gate_give (gate, 1);
  hr_gate_unref (gate);
}

static void
test_cancel (void)
{
  HrGate *gate = hr_gate_new (2, NULL, NULL);
  HrGateWaiter a = ask (0, 2), b = ask (1, 2), c = ask (2, 1);

  g_assert_true (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_request (gate, &b));
  g_assert_false (hr_gate_request (gate, &c));
  hr_gate_give (gate, 1);
  g_assert_false (hr_gate_is_granted (gate, &c));
  /* b stood before c */
  g_assert_false (hr_gate_cancel (gate, &b));
  g_assert_true (hr_gate_is_granted (gate, &c));
  /* too late: it is c's */
  g_assert_true (hr_gate_cancel (gate, &c));
  hr_gate_give (gate, 2);
  g_assert_cmpuint (used (gate), ==, 0);
  hr_gate_unref (gate);
}

static void
test_set_capacity (void)
{
  HrGate *gate = hr_gate_new (1, NULL, NULL);
  HrGateWaiter a = ask (0, 1), b = ask (1, 3), c = ask (2, 1);

  g_assert_true (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_request (gate, &b));
  hr_gate_set_capacity (gate, 4);
  g_assert_true (hr_gate_is_granted (gate, &b));
  g_assert_cmpuint (hr_gate_get_capacity (gate), ==, 4);
  /* lowered: what was granted stays, new ones wait until there is room again */
  hr_gate_set_capacity (gate, 2);
  g_assert_false (hr_gate_request (gate, &c));
  hr_gate_give (gate, 1);
  g_assert_false (hr_gate_is_granted (gate, &c));
  hr_gate_give (gate, 3);
  g_assert_true (hr_gate_is_granted (gate, &c));
  hr_gate_give (gate, 1);
  hr_gate_unref (gate);
}

static void
test_take_without_asking (void)
{
  HrGate *gate = hr_gate_new (5, NULL, NULL);
  HrGateStats stats;

  hr_gate_take (gate, 8);
  hr_gate_get_stats (gate, &stats);
  g_assert_cmpuint (stats.used, ==, 8);
  g_assert_cmpuint (stats.max_over, ==, 3);
  hr_gate_give (gate, 8);
  hr_gate_unref (gate);
}

static void
test_bell (void)
{
  HrGate *gate = hr_gate_new (1, NULL, NULL);
  HrGateWaiter a = ask (0, 1), b = ask (1, 1);
  HrBell bell;
  struct pollfd fd;

  g_assert_true (hr_bell_init (&bell, NULL));
  fd = (struct pollfd){ bell.fd, POLLIN, 0 };
  b.bell = &bell;
  g_assert_true (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_request (gate, &b));
  g_assert_cmpint (poll (&fd, 1, 0), ==, 0);
  hr_gate_give (gate, 1);
  g_assert_cmpint (poll (&fd, 1, 0), ==, 1);
  hr_gate_give (gate, 1);
  hr_gate_unref (gate);
  hr_bell_clear (&bell);
}

/* after this nothing is forced; what was granted may still come back */
static void
test_detach (void)
{
  HrGate *gate = hr_gate_new (1, forced, &in_hand);
  HrGateWaiter a = ask (0, 5), b = ask (0, 5);

  in_hand = 10;
  g_assert_true (hr_gate_request (gate, &a));
  hr_gate_detach (gate);
  g_assert_false (hr_gate_request (gate, &b));
  g_assert_false (hr_gate_cancel (gate, &b));
  hr_gate_ref (gate);
  hr_gate_unref (gate);
  hr_gate_give (gate, 5);
  hr_gate_unref (gate);
}

/* ---- with threads ---- */

typedef struct {
  HrGate *gate;
  gint closed, stopping;
  gint most, now, n;
} Shared;

static void *
wait_for_it (void *data)
{
  Shared *shared = data;
  HrGateWaiter waiter = ask (1, 1);
  HrCond cond;
  gboolean granted;

  hr_cond_init (&cond);
  waiter.cond = &cond;
  granted = hr_gate_request (shared->gate, &waiter)
            || hr_gate_wait (shared->gate, &waiter, &shared->closed, &shared->stopping);
  hr_cond_clear (&cond);
  return GINT_TO_POINTER (granted);
}

static void
wait_until_it_waits (HrGate *gate)
{
  HrGateStats stats;

  do {
    g_usleep (100);
    hr_gate_get_stats (gate, &stats);
  } while (stats.n_waiting == 0);
}

static void
leave_wait (gboolean stop)
{
  Shared shared = { .gate = hr_gate_new (1, NULL, NULL) };
  HrGateWaiter first = ask (0, 1);
  pthread_t thread;
  void *granted;

  g_assert_true (hr_gate_request (shared.gate, &first));
  g_assert_cmpint (pthread_create (&thread, NULL, wait_for_it, &shared), ==, 0);
  wait_until_it_waits (shared.gate);
  g_atomic_int_set (stop ? &shared.stopping : &shared.closed, 1);
  hr_gate_wake (shared.gate);
  pthread_join (thread, &granted);
  g_assert_false (GPOINTER_TO_INT (granted));
  g_assert_cmpuint (used (shared.gate), ==, 1);
  hr_gate_give (shared.gate, 1);
  hr_gate_unref (shared.gate);
}

static void
test_close (void)
{
  leave_wait (FALSE);
  leave_wait (TRUE);
}

static void
test_wait_granted (void)
{
  Shared shared = { .gate = hr_gate_new (1, NULL, NULL) };
  HrGateWaiter first = ask (0, 1);
  pthread_t thread;
  void *granted;

  g_assert_true (hr_gate_request (shared.gate, &first));
  g_assert_cmpint (pthread_create (&thread, NULL, wait_for_it, &shared), ==, 0);
  wait_until_it_waits (shared.gate);
  hr_gate_give (shared.gate, 1);
  pthread_join (thread, &granted);
  g_assert_true (GPOINTER_TO_INT (granted));
  hr_gate_give (shared.gate, 1);
  hr_gate_unref (shared.gate);
}

static void *
take_turns (void *data)
{
  Shared *shared = data;

  for (int i = 0; i < 2000; i++) {
    gint now;

    g_assert_true (GPOINTER_TO_INT (wait_for_it (shared)));
    now = g_atomic_int_add (&shared->now, 1) + 1;
    g_assert_cmpint (now, <=, 3);
    g_atomic_int_inc (&shared->n);
    g_atomic_int_add (&shared->now, -1);
    hr_gate_give (shared->gate, 1);
  }
  return NULL;
}

static void
test_threads (void)
{
  Shared shared = { .gate = hr_gate_new (3, NULL, NULL) };
  pthread_t threads[8];

  for (int i = 0; i < 8; i++)
    g_assert_cmpint (pthread_create (&threads[i], NULL, take_turns, &shared), ==, 0);
  for (int i = 0; i < 8; i++)
    pthread_join (threads[i], NULL);
  g_assert_cmpint (shared.n, ==, 16000);
  g_assert_cmpuint (used (shared.gate), ==, 0);
  hr_gate_unref (shared.gate);
}

/* what may be taken without waiting stands behind those who wait */
static void
test_try_take (void)
{
  HrGate *gate = hr_gate_new (10, NULL, NULL);
  HrGateWaiter a = ask (0, 6);

  g_assert_true (hr_gate_try_take (gate, 5));
  g_assert_cmpuint (hr_gate_get_room (gate), ==, 5);
  g_assert_false (hr_gate_try_take (gate, 6));
  g_assert_false (hr_gate_request (gate, &a));
  g_assert_false (hr_gate_try_take (gate, 1));
  g_assert_false (hr_gate_cancel (gate, &a));
  g_assert_true (hr_gate_try_take (gate, 5));
  hr_gate_take (gate, 3);
  g_assert_cmpuint (hr_gate_get_room (gate), ==, 0);
  g_assert_false (hr_gate_try_take (gate, 1));
  hr_gate_give (gate, 13);
  g_assert_cmpuint (hr_gate_get_room (gate), ==, 10);
  hr_gate_unref (gate);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gate/capacity", test_capacity);
  g_test_add_func ("/gate/try-take", test_try_take);
  g_test_add_func ("/gate/order", test_order);
  g_test_add_func ("/gate/costs", test_costs);
  g_test_add_func ("/gate/forced", test_forced);
  g_test_add_func ("/gate/segments", test_segments);
  g_test_add_func ("/gate/cancel", test_cancel);
  g_test_add_func ("/gate/set-capacity", test_set_capacity);
  g_test_add_func ("/gate/take-without-asking", test_take_without_asking);
  g_test_add_func ("/gate/bell", test_bell);
  g_test_add_func ("/gate/detach", test_detach);
  g_test_add_func ("/gate/close", test_close);
  g_test_add_func ("/gate/wait-granted", test_wait_granted);
  g_test_add_func ("/gate/threads", test_threads);
  return g_test_run ();
}
