/* test-threads.c: texts are parsed, elements made and live properties set from several threads */
#include <string.h>
#include "cast.h"
#include "hr-registry.h"
#include "things.h"

#define N_THREADS 4
#define N_ROUNDS 100

static const char text[] =
    "serial=true s3src location='a b' ! jsonlparse workers=2 ! imagefetch ! imagedecode ! resize ! "
    "tee name=t ! batch ! prefetchqueue ! appsink t. ! fakesink";

static gpointer
parse_thread (gpointer data)
{
  static const char *const wrong[] = { "fakesrc ! fakesnk", "fakesrc ! prefetchqueue ! trainsim",
                                       "fakesrc ! fakesink silnt=1", "fakesrc" };

  for (guint i = 0; i < N_ROUNDS; i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (GError) bad = NULL;
    g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
    g_autoptr (GPtrArray) list = hr_registry_list ();
    g_autofree char *canonical = NULL;

    g_assert_no_error (error);
    canonical = hr_pipeline_to_string (pipeline);
    g_assert_cmpstr (canonical, ==, data);
    g_assert_null (hr_parse_launch (wrong[i % G_N_ELEMENTS (wrong)], &bad));
    g_assert_nonnull (bad);
    g_assert_cmpuint (list->len, >=, 19);
  }
  return NULL;
}

static void
test_parse (void)
{
  GThread *threads[N_THREADS];
  g_autofree char *canonical = NULL;

  /* before any type is there: the first to come makes it */
  canonical = g_strdup ("serial=true s3src location='a b' ! jsonlparse workers=2 ! imagefetch ! "
                        "imagedecode ! resize ! "
                        "tee name=t ! batch ! prefetchqueue ! appsink t. ! fakesink");
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("parse", parse_thread, canonical);
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
}

static gpointer
live_thread (gpointer data)
{
  HrElement *element = data;
  Thing *thing = element->self;

  for (guint i = 0; i < 1000; i++) {
    g_autofree char *value = g_strdup_printf ("%u", 1 + i % 64);
    guint64 seen;

    g_assert_true (hr_element_set_from_string (element, "count", value, NULL));
    g_object_set (element, "max-bytes", (guint64)1 + i, "workers", (guint64)(i % 9), NULL);
    seen = hr_live_uint (&thing->count);
    g_assert_true (seen >= 1 && seen <= 64);
    g_assert_true (hr_live_uint (&element->common.workers) <= 8);
    /* what start() has frozen stays as it is */
    g_assert_false (hr_element_set_from_string (element, "mark", value, NULL));
  }
  return NULL;
}

static void
test_live (void)
{
  g_autoptr (HrElement) element = hr_element_new (&hr_element_thing);
  GThread *threads[N_THREADS];

  __atomic_store_n (&element->frozen, TRUE, __ATOMIC_RELEASE);
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("live", live_thread, element);
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpstr (((Thing *)element->self)->mark, ==, "none");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  cast_register ();
  g_test_add_func ("/threads/parse", test_parse);
  g_test_add_func ("/threads/live", test_live);
  return g_test_run ();
}
