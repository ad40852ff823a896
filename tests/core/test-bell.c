/* test-bell.c: rings are never lost, and many are one */
#include "hr-bell.h"
#include <poll.h>
#include <pthread.h>

static gboolean
is_rung (const HrBell *bell)
{
  struct pollfd fd = { bell->fd, POLLIN, 0 };

  return poll (&fd, 1, 0) == 1;
}

static void
test_ring (void)
{
  HrBell bell;

  g_assert_true (hr_bell_init (&bell, NULL));
  g_assert_false (is_rung (&bell));
  for (int i = 0; i < 1000; i++)
    hr_bell_ring (&bell);
  g_assert_true (is_rung (&bell));
  hr_bell_hush (&bell);
  g_assert_false (is_rung (&bell));
  hr_bell_ring (&bell);
  g_assert_true (is_rung (&bell));
  hr_bell_clear (&bell);
  g_assert_cmpint (bell.fd, ==, -1);
  hr_bell_clear (&bell); /* twice does no harm */
}

static void
test_hush_without_ring (void)
{
  HrBell bell;

  g_assert_true (hr_bell_init (&bell, NULL));
  hr_bell_hush (&bell);
  g_assert_false (is_rung (&bell));
  hr_bell_ring (&bell);
  g_assert_true (is_rung (&bell));
  hr_bell_clear (&bell);
}

typedef struct {
  HrBell bell;
  gint given;
} Shared;

#define N 100000

static void *
give (void *data)
{
  Shared *shared = data;

  for (int i = 0; i < N; i++) {
    g_atomic_int_inc (&shared->given);
    hr_bell_ring (&shared->bell);
  }
  return NULL;
}

/* who hushes first and looks afterwards sees everything, whatever the ringers do meanwhile */
static void
test_threads (void)
{
  Shared shared = { .given = 0 };
  pthread_t threads[3];
  gint seen = 0;

  g_assert_true (hr_bell_init (&shared.bell, NULL));
  for (int i = 0; i < 3; i++)
    g_assert_cmpint (pthread_create (&threads[i], NULL, give, &shared), ==, 0);
  while (seen < 3 * N) {
    struct pollfd fd = { shared.bell.fd, POLLIN, 0 };

    /* a lost ring would leave us here for good */
    g_assert_cmpint (poll (&fd, 1, 30000), ==, 1);
    hr_bell_hush (&shared.bell);
    seen = g_atomic_int_get (&shared.given);
  }
  for (int i = 0; i < 3; i++)
    pthread_join (threads[i], NULL);
  hr_bell_clear (&shared.bell);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bell/ring", test_ring);
  g_test_add_func ("/bell/hush-without-ring", test_hush_without_ring);
  g_test_add_func ("/bell/threads", test_threads);
  return g_test_run ();
}
