/* test-process.c: a thing of which there is one, whoever asks */
#include "hr-process.h"

static gint n_made;

static gpointer
make (void)
{
  g_atomic_int_inc (&n_made);
  g_usleep (1000);
  return g_new0 (int, 1);
}

static gpointer
ask (gpointer name)
{
  return hr_process_get (name, make);
}

static void
test_one (void)
{
  GThread *threads[8];
  gpointer one = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("ask", ask, "a thing");
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++) {
    gpointer thing = g_thread_join (threads[i]);

    g_assert_nonnull (thing);
    g_assert_true (one == NULL || thing == one);
    one = thing;
  }
  g_assert_cmpint (n_made, ==, 1);
  g_assert_true (ask ("another") != one);
  g_assert_cmpint (n_made, ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/core/process/one", test_one);
  return g_test_run ();
}
