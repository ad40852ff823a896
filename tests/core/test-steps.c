/* test-steps.c: which samples may start, and which are in hand */
#include "hr-steps.h"

static gint never;

static void
test_release (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 4, TRUE, 0);

  /* before the first step is asked for, ahead = 0 releases none of it */
  g_assert_false (hr_steps_may_release (steps, 0));
  hr_steps_ask (steps, sink, 0);
  g_assert_true (hr_steps_may_release (steps, 3));
  g_assert_false (hr_steps_may_release (steps, 4));
  hr_steps_ask (steps, sink, 1);
  g_assert_true (hr_steps_may_release (steps, 7));
  g_assert_false (hr_steps_may_release (steps, 8));
  hr_steps_ask (steps, sink, 0); /* never back */
  g_assert_true (hr_steps_may_release (steps, 7));
  g_assert_true (hr_steps_wait_release (steps, 7, &never, &never));
  hr_steps_free (steps);
}

static void
test_ahead (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 3, TRUE, 2), which = 99;

  g_assert_true (hr_steps_may_release (steps, 5)); /* steps 0 and 1 before anybody asks */
  g_assert_false (hr_steps_may_release (steps, 6));
  hr_steps_ask (steps, sink, 0);
  g_assert_true (hr_steps_may_release (steps, 8));
  g_assert_false (hr_steps_may_release (steps, 9));
  g_assert_cmpint (hr_steps_get_released (steps, &which), ==, 9);
  g_assert_cmpuint (which, ==, sink);
  hr_steps_set_ahead (steps, sink, 4);
  g_assert_true (hr_steps_may_release (steps, 14));
  g_assert_false (hr_steps_may_release (steps, 15));
  hr_steps_set_ahead (steps, sink, 0); /* what is released stays so */
  g_assert_true (hr_steps_may_release (steps, 14));
  hr_steps_ask (steps, sink, 4);
  g_assert_false (hr_steps_may_release (steps, 15));
  hr_steps_ask (steps, sink, 5);
  g_assert_true (hr_steps_may_release (steps, 17));
  hr_steps_free (steps);
}

static void
test_not_gated (void)
{
  HrSteps *steps = hr_steps_new ();

  hr_steps_add_sink (steps, 1, FALSE, 0);
  g_assert_true (hr_steps_may_release (steps, G_MAXINT64 - 1));
  hr_steps_free (steps);
}

/* the slowest sink counts, for what is asked for and for what is delivered */
static void
test_two_sinks (void)
{
  HrSteps *steps = hr_steps_new ();
  guint a = hr_steps_add_sink (steps, 4, TRUE, 0), b = hr_steps_add_sink (steps, 6, TRUE, 0),
        which = 99;

  hr_steps_ask (steps, a, 0);
  g_assert_false (hr_steps_may_release (steps, 0));
  hr_steps_ask (steps, b, 0);
  g_assert_true (hr_steps_may_release (steps, 3));
  g_assert_false (hr_steps_may_release (steps, 4));
  g_assert_cmpint (hr_steps_get_released (steps, &which), ==, 4);
  g_assert_cmpuint (which, ==, a);
  hr_steps_ask (steps, a, 1);
  g_assert_true (hr_steps_may_release (steps, 5));
  g_assert_false (hr_steps_may_release (steps, 6));

  g_assert_true (hr_steps_in_hand (steps, 3, 0));
  g_assert_false (hr_steps_in_hand (steps, 4, 0));
  g_assert_true (hr_steps_deliver (steps, a, 0)); /* 8 for a, 6 for b */
  g_assert_true (hr_steps_in_hand (steps, 5, 0));
  g_assert_false (hr_steps_in_hand (steps, 6, 0));
  g_assert_false (hr_steps_deliver (steps, a, 1)); /* b still holds it up */
  hr_steps_leave (steps, b);
  g_assert_true (hr_steps_in_hand (steps, 11, 0));
  g_assert_false (hr_steps_in_hand (steps, 12, 0));
  g_assert_true (hr_steps_may_release (steps, 7));
  g_assert_false (hr_steps_may_release (steps, 8));
  hr_steps_leave (steps, a);
  g_assert_true (hr_steps_may_release (steps, 1000000));
  g_assert_true (hr_steps_in_hand (steps, 1000000, 0));
  hr_steps_free (steps);
}

/* Before an unordered element the step in hand is as many of the lowest numbers that have not left
 * it as the step still lacks. */
static void
test_segment (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 3, TRUE, 4), segment = hr_steps_add_segment (steps, 1);

  g_assert_cmpuint (hr_steps_get_last_segment (steps), ==, 1);
  g_assert_true (hr_steps_in_hand (steps, 2, segment));
  g_assert_false (hr_steps_in_hand (steps, 3, segment));
  hr_steps_left (steps, segment, 5); /* took a place in step 0: two of 0, 1, 2 are still needed */
  g_assert_true (hr_steps_in_hand (steps, 1, segment));
  g_assert_false (hr_steps_in_hand (steps, 2, segment));
  hr_steps_left (steps, segment, 0);
  g_assert_true (hr_steps_in_hand (steps, 1, segment));
  g_assert_false (hr_steps_in_hand (steps, 2, segment));
  hr_steps_left (steps, segment, 4); /* the step is full */
  g_assert_false (hr_steps_in_hand (steps, 1, segment));
  /* behind the element the ordinary rule holds */
  g_assert_true (hr_steps_in_hand (steps, 2, segment + 1));
  g_assert_false (hr_steps_in_hand (steps, 3, segment + 1));
  hr_steps_deliver (steps, sink, 0); /* 3 more are needed: of 1, 2, 3, 6, 7, … the lowest three */
  g_assert_true (hr_steps_in_hand (steps, 3, segment));
  g_assert_false (hr_steps_in_hand (steps, 6, segment));
  hr_steps_left (steps, segment, 6);
  hr_steps_left (steps, segment, 2);
  g_assert_true (hr_steps_in_hand (steps, 1, segment));
  g_assert_false (hr_steps_in_hand (steps, 3, segment));
  hr_steps_free (steps);
}

/* buffers of several samples leave it as one */
static void
test_segment_of_batches (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 4, TRUE, 1), segment = hr_steps_add_segment (steps, 4);

  g_assert_true (hr_steps_in_hand (steps, 0, segment));
  g_assert_false (hr_steps_in_hand (steps, 4, segment));
  hr_steps_left (steps, segment, 4);
  g_assert_false (hr_steps_in_hand (steps, 0, segment));
  hr_steps_deliver (steps, sink, 0);
  g_assert_true (hr_steps_in_hand (steps, 0, segment));
  g_assert_false (hr_steps_in_hand (steps, 8, segment));
  hr_steps_free (steps);
}

/* ---- waiting ---- */

typedef struct {
  HrSteps *steps;
  gint closed, stopping;
  gint begun;
} Shared;

static void *
wait_for_release (void *data)
{
  Shared *shared = data;

  g_atomic_int_set (&shared->begun, 1);
  return GINT_TO_POINTER (
      hr_steps_wait_release (shared->steps, 2, &shared->closed, &shared->stopping));
}

static void
run_wait (int how, gboolean expected)
{
  Shared shared = { .steps = hr_steps_new () };
  guint sink = hr_steps_add_sink (shared.steps, 2, TRUE, 0);
  pthread_t thread;
  void *released;

  g_assert_cmpint (pthread_create (&thread, NULL, wait_for_release, &shared), ==, 0);
  while (!g_atomic_int_get (&shared.begun))
    g_usleep (100);
  g_usleep (2000); /* mostly it sleeps by now; if not, nothing may be lost either */
  hr_steps_ask (shared.steps, sink, 0);
  if (how == 0) {
    hr_steps_ask (shared.steps, sink, 1);
  } else if (how == 1) {
    hr_steps_set_ahead (shared.steps, sink, 1);
  } else {
    g_atomic_int_set (how == 2 ? &shared.closed : &shared.stopping, 1);
    hr_steps_wake (shared.steps);
  }
  pthread_join (thread, &released);
  g_assert_cmpint (GPOINTER_TO_INT (released), ==, expected);
  hr_steps_free (shared.steps);
}

static void
test_wait (void)
{
  run_wait (0, TRUE);
  run_wait (1, TRUE);
  run_wait (2, FALSE);
  run_wait (3, FALSE);
}

/* Rows of blocks: a block more when fewer than ahead + 1 rows of the others are left. */
static void
test_packer (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 1, TRUE, 0);
  guint packer = hr_steps_add_packer (steps, 10);

  hr_steps_set_packer (steps, sink, packer);
  g_assert_false (hr_steps_may_release (steps, 0));
  hr_steps_ask (steps, sink, 0);
  g_assert_true (hr_steps_may_release (steps, 9));
  g_assert_false (hr_steps_may_release (steps, 10));
  g_assert_true (hr_steps_in_hand (steps, 9, 0));
  g_assert_false (hr_steps_in_hand (steps, 10, 0));
  g_assert_false (hr_steps_packed (steps, packer, 3));
  for (gint row = 0; row < 3; row++) { /* the block's rows do, until none is left */
    hr_steps_ask (steps, sink, row);
    g_assert_false (hr_steps_may_release (steps, 10));
    g_assert_true (hr_steps_in_hand (steps, 9, 0));
    g_assert_false (hr_steps_in_hand (steps, 10, 0));
    /* behind the packer, the row that is lacking alone */
    for (gint other = 0; other < 5; other++)
      g_assert_cmpint (hr_steps_in_hand (steps, other, hr_steps_get_row_segment (steps, packer)),
                       ==, other <= row);
    g_assert_true (hr_steps_deliver (steps, sink, row));
  }
  g_assert_true (hr_steps_in_hand (steps, 19, 0));
  hr_steps_ask (steps, sink, 3);
  g_assert_true (hr_steps_may_release (steps, 19));
  g_assert_false (hr_steps_may_release (steps, 20));
  /* a block of which nothing is left counts as made, and the next one is needed for the same row */
  g_assert_true (hr_steps_packed (steps, packer, 0));
  g_assert_true (hr_steps_may_release (steps, 29));
  g_assert_false (hr_steps_may_release (steps, 30));
  g_assert_true (hr_steps_in_hand (steps, 29, 0));
  hr_steps_leave (steps, sink);
  g_assert_true (hr_steps_may_release (steps, 1000000));
  hr_steps_free (steps);
}

static void
test_packer_ahead (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 1, TRUE, 2);
  guint packer = hr_steps_add_packer (steps, 10);

  hr_steps_set_packer (steps, sink, packer);
  g_assert_true (hr_steps_may_release (steps, 9)); /* before anybody asks */
  g_assert_false (hr_steps_may_release (steps, 10));
  hr_steps_packed (steps, packer, 4);
  hr_steps_ask (steps, sink, 0);
  g_assert_false (hr_steps_may_release (steps, 10)); /* 4 rows are 1 and 2 ahead, and one more */
  hr_steps_ask (steps, sink, 1);
  g_assert_false (hr_steps_may_release (steps, 10));
  hr_steps_ask (steps, sink, 2);
  g_assert_true (hr_steps_may_release (steps, 19));
  g_assert_false (hr_steps_may_release (steps, 20));
  hr_steps_packed (steps, packer, 1);
  g_assert_false (hr_steps_may_release (steps, 20)); /* 5 rows, and 3 are asked for */
  hr_steps_set_ahead (steps, sink, 3);
  g_assert_true (hr_steps_may_release (steps, 29));
  hr_steps_free (steps);
}

/* blocks of no fixed size, each a row: as many are open as rows are asked for and looked ahead for
 */
static void
test_marked_blocks (void)
{
  HrSteps *steps = hr_steps_new ();
  guint sink = hr_steps_add_sink (steps, 1, TRUE, 1);
  guint packer = hr_steps_add_packer (steps, 10);
  guint rows = hr_steps_get_row_segment (steps, packer);

  hr_steps_mark_blocks (steps);
  hr_steps_set_packer (steps, sink, packer);
  g_assert_true (hr_steps_may_release (steps, 1000)); /* whose end is not told, it is open */
  g_assert_cmpint (hr_steps_get_begin (steps, 7), ==, 0);
  hr_steps_end_block (steps, 3);
  g_assert_true (hr_steps_may_release (steps, 2));
  g_assert_false (hr_steps_may_release (steps, 3)); /* one ahead, before anybody asks */
  g_assert_cmpint (hr_steps_get_begin (steps, 0), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 2), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 4), ==, 3); /* though it is open */
  g_assert_true (hr_steps_in_hand (steps, 2, 0));
  g_assert_false (hr_steps_in_hand (steps, 3, 0));
  hr_steps_ask (steps, sink, 0);
  g_assert_true (hr_steps_may_release (steps, 1000)); /* the second, though the first is not made */
  hr_steps_end_block (steps, 5);
  g_assert_true (hr_steps_may_release (steps, 4));
  g_assert_false (hr_steps_may_release (steps, 5));
  g_assert_cmpint (hr_steps_get_begin (steps, 4), ==, 3);
  g_assert_cmpint (hr_steps_get_begin (steps, 5), ==, 5);
  hr_steps_packed (steps, packer, 1);
  g_assert_false (hr_steps_may_release (steps, 5)); /* made is not taken */
  g_assert_true (hr_steps_in_hand (steps, 0, rows));
  g_assert_false (hr_steps_in_hand (steps, 1, rows));
  hr_steps_deliver (steps, sink, 0);
  g_assert_true (hr_steps_in_hand (steps, 4, 0));
  g_assert_false (hr_steps_in_hand (steps, 5, 0));
  g_assert_true (hr_steps_in_hand (steps, 1, rows));
  hr_steps_ask (steps, sink, 1);
  g_assert_true (hr_steps_may_release (steps, 1000));
  hr_steps_free (steps);
}

/* samples that come into hand together: pieces of the sinks' steps, a packer's blocks */
static void
test_begin (void)
{
  HrSteps *steps = hr_steps_new ();
  guint packer;

  hr_steps_add_sink (steps, 6, TRUE, 1);
  hr_steps_add_sink (steps, 4, TRUE, 1);
  g_assert_cmpint (hr_steps_get_begin (steps, 0), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 3), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 4), ==, 4);
  g_assert_cmpint (hr_steps_get_begin (steps, 5), ==, 4);
  g_assert_cmpint (hr_steps_get_begin (steps, 7), ==, 6);
  g_assert_cmpint (hr_steps_get_begin (steps, 11), ==, 8);
  g_assert_cmpint (hr_steps_get_begin (steps, 12), ==, 12);
  hr_steps_free (steps);

  steps = hr_steps_new ();
  packer = hr_steps_add_packer (steps, 512);
  hr_steps_set_packer (steps, hr_steps_add_sink (steps, 1, TRUE, 1), packer);
  g_assert_cmpint (hr_steps_get_begin (steps, 0), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 511), ==, 0);
  g_assert_cmpint (hr_steps_get_begin (steps, 512), ==, 512);
  /* however many rows the blocks make */
  hr_steps_packed (steps, packer, 7);
  g_assert_cmpint (hr_steps_get_begin (steps, 512), ==, 512);
  hr_steps_free (steps);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/steps/release", test_release);
  g_test_add_func ("/steps/ahead", test_ahead);
  g_test_add_func ("/steps/not-gated", test_not_gated);
  g_test_add_func ("/steps/two-sinks", test_two_sinks);
  g_test_add_func ("/steps/segment", test_segment);
  g_test_add_func ("/steps/segment-of-batches", test_segment_of_batches);
  g_test_add_func ("/steps/packer", test_packer);
  g_test_add_func ("/steps/packer-ahead", test_packer_ahead);
  g_test_add_func ("/steps/marked-blocks", test_marked_blocks);
  g_test_add_func ("/steps/begin", test_begin);
  g_test_add_func ("/steps/wait", test_wait);
  return g_test_run ();
}
