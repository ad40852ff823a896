/* test-verdict.c: what the trainer waits for, by what was counted: the kinds that need an element
 * of their own, the last seconds apart from the whole run, and processors that were left */
#include <string.h>
#include <unistd.h>
#include "hr-json.h"
#include "hr-processors.h"
#include "hr-recent.h"
#include "small.h"

#define SECOND (1000 * 1000 * G_GINT64_CONSTANT (1000))

/* ---- runs ---- */

static JsonObject *
read_stats (HrPipeline *pipeline, JsonNode **root)
{
  g_autofree char *text = hr_pipeline_get_stats (pipeline);

  *root = json_from_string (text, NULL);
  return json_node_get_object (*root);
}

static JsonObject *
read_recent (HrPipeline *pipeline, JsonNode **root, gdouble *wait_ratio)
{
  JsonObject *recent;

  g_clear_pointer (root, json_node_unref);
  recent = json_object_get_object_member (read_stats (pipeline, root), "recent");
  *wait_ratio = json_object_get_double_member (recent, "wait_ratio");
  return recent;
}

static void
assert_bottleneck (JsonObject *stats, const char *element, const char *kind)
{
  JsonObject *bottleneck = json_object_get_object_member (stats, "bottleneck");

  g_assert_cmpstr (json_object_get_string_member (bottleneck, "element"), ==, element);
  g_assert_cmpstr (json_object_get_string_member (bottleneck, "kind"), ==, kind);
}

static const char *
advice_of (JsonObject *stats)
{
  return json_object_get_string_member (json_object_get_object_member (stats, "advice"), "text");
}

static void
start (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
}

static void
pull_all (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer;

  while ((buffer = hr_pipeline_pull (pipeline, &error)) != NULL)
    hr_buffer_unref (buffer);
  g_assert_no_error (error);
}

#define BLOCK (4 << 20)

static guint8 source[BLOCK], target[BLOCK];

/* @data: how many bytes of each copy it tells; how fast a copy is must not matter, a sanitizer
 * makes it slow */
static gboolean
copy_hook (gpointer data, gint64 value, HrOut *out, GError **error G_GNUC_UNUSED)
{
  const gsize *told = data;

  source[0] = (guint8)value;
  for (guint i = 0; i < 4; i++) {
    memcpy (target, source, BLOCK);
    hr_out_count_copy (out, *told);
  }
  return target[0] == (guint8)value;
}

static void
test_copy (void)
{
  static const struct {
    gsize told;
    const char *kind;
  } runs[] = { { 32 * BLOCK, "copy" }, { BLOCK / 1024, "cpu" }, { 0, "cpu" } };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++) {
    gsize told = runs[i].told;
    g_autoptr (HrPipeline) pipeline = hr_pipeline_new ();
    g_autoptr (JsonNode) root = NULL;
    JsonObject *stats;

    small_link (pipeline, small_source (pipeline, "source", 60, NULL, NULL),
                small_light (pipeline, "copies", 0, copy_hook, &told),
                small_pull (pipeline, "sink"), NULL);
    start (pipeline);
    pull_all (pipeline);
    stats = read_stats (pipeline, &root);
    assert_bottleneck (stats, "copies", runs[i].kind);
  }
}

/* until the test lets it go on */
typedef struct {
  gint64 from;
  gint open;
} Hold;

static gboolean
hold_hook (gpointer data, gint64 value, HrOut *out, GError **error G_GNUC_UNUSED)
{
  Hold *hold = data;

  while (value >= hold->from && !g_atomic_int_get (&hold->open) && !hr_out_is_closed (out))
    hr_out_sleep (out, 1000000);
  return TRUE;
}

/* A wait that goes on is seen before it is over, and so is a step: however late this thread or the
 * source is, each gets to be more than the other if it goes on for long. */
static void
test_goes_on (void)
{
  Hold hold = { 3, 0 };
  g_autoptr (HrPipeline) pipeline = hr_pipeline_new ();
  g_autoptr (JsonNode) before = NULL, waits = NULL, works = NULL, end = NULL;
  HrBuffer *buffer;
  JsonObject *recent = NULL;
  gdouble ratio = 0;
  gboolean late;

  small_link (pipeline, small_source (pipeline, "source", 10, hold_hook, &hold),
              small_pull (pipeline, "sink"), NULL);
  start (pipeline);
  g_assert_true (
      JSON_NODE_HOLDS_NULL (json_object_get_member (read_stats (pipeline, &before), "recent")));
  for (guint i = 0; i < 3; i++)
    hr_buffer_unref (hr_pipeline_pull (pipeline, NULL));
  for (guint i = 0; i < 100 && ratio <= 0.5; i++) {
    g_assert_null (hr_pipeline_pull_timed (pipeline, 200000000, &late, NULL));
    g_assert_true (late);
    recent = read_recent (pipeline, &waits, &ratio);
    g_assert_cmpint (json_object_get_int_member (recent, "steps"), ==, 2);
  }
  g_assert_cmpfloat (ratio, >, 0.5);
  g_atomic_int_set (&hold.open, 1);
  buffer = hr_pipeline_pull (pipeline, NULL);
  for (guint i = 0; i < 20 && ratio >= 0.5; i++) {
    g_usleep (1500000);
    recent = read_recent (pipeline, &works, &ratio);
  }
  g_assert_cmpfloat (ratio, <, 0.5);
  g_assert_cmpfloat (json_object_get_double_member (recent, "seconds"), >, 1.5);
  hr_buffer_unref (buffer);
  pull_all (pipeline);
  g_assert_true (
      JSON_NODE_HOLDS_NULL (json_object_get_member (read_stats (pipeline, &end), "recent")));
}

/* what waits for a disk or another process does not compute, and is not told to have less work */
static void
test_waits (void)
{
  gdouble ratio = 0;

  /* again where this thread was the slow one */
  for (guint i = 0; i < 100 && ratio <= 0.5; i++) {
    g_autoptr (HrPipeline) pipeline = hr_pipeline_new ();
    g_autoptr (JsonNode) root = NULL;
    JsonObject *stats;

    small_link (pipeline,
                small_source (pipeline, "source", 60, small_sleep, GINT_TO_POINTER (3000)),
                small_pull (pipeline, "sink"), NULL);
    start (pipeline);
    pull_all (pipeline);
    stats = read_stats (pipeline, &root);
    ratio = json_object_get_double_member (stats, "wait_ratio");
    if (ratio > 0.5) {
      assert_bottleneck (stats, "source", "cpu");
      g_assert_nonnull (strstr (advice_of (stats), "it waits for something outside"));
    }
  }
  g_assert_cmpfloat (ratio, >, 0.5);
}

/* ---- the last seconds ---- */

static HrAccount *
account_at (gdouble seconds, gint64 steps)
{
  HrAccount *account = g_new0 (HrAccount, 1);

  account->at = (gint64)(seconds * SECOND);
  account->steps = steps;
  return account;
}

/* of each number what has come since then */
static void
test_subtract (void)
{
  const gsize size = sizeof (HrAccount) + sizeof (HrSum);
  g_autofree HrAccount *now = g_malloc0 (size), *before = g_malloc0 (size);
  gint64 *sum = (gint64 *)&now->sums[0], *less = (gint64 *)&before->sums[0];
  guint n = sizeof (HrSum) / sizeof (gint64);

  now->n = before->n = 1;
  for (guint i = 0; i < n; i++) {
    less[i] = 100 * (gint64)i + 7;
    sum[i] = less[i] + i + 1;
  }
  now->at = now->cpu = now->steps = now->samples = now->wait = now->train = 30;
  now->idle = now->cold_start = 30;
  before->at = 1, before->cpu = 2, before->steps = 3, before->samples = 4, before->wait = 5;
  before->train = 6, before->idle = 7, before->cold_start = 30;
  hr_account_subtract (now, before);
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (sum[i], ==, i + 1);
  g_assert_cmpint (now->at, ==, 29);
  g_assert_cmpint (now->cpu, ==, 28);
  g_assert_cmpint (now->steps, ==, 27);
  g_assert_cmpint (now->samples, ==, 26);
  g_assert_cmpint (now->wait, ==, 25);
  g_assert_cmpint (now->train, ==, 24);
  g_assert_cmpint (now->idle, ==, 23);
  g_assert_cmpint (now->cold_start, ==, 0);
  before->idle = -1; /* not known then: not known now */
  hr_account_subtract (now, before);
  g_assert_cmpint (now->idle, ==, -1);
}

/* where the last seconds begin, @at seconds after the first step, with steps of @step seconds */
static gdouble
begin_of (gdouble step, guint at)
{
  HrRecent *recent = hr_recent_new ();
  g_autofree HrAccount *first = account_at (0.5, 1), *now = account_at (at + 0.5, 1), *begin = NULL;
  gdouble found;

  now->steps += (gint64)(at / step);
  for (guint i = 1; i <= at; i++)
    hr_recent_add (recent, account_at (i, 1 + (gint64)((i - 0.5) / step)));
  begin = hr_recent_get_begin (recent, first, now);
  found = (gdouble)begin->at / SECOND;
  hr_recent_free (recent);
  return found;
}

static void
test_window (void)
{
  /* young: since its first step */
  g_assert_cmpfloat (begin_of (0.01, 0), ==, 0.5);
  g_assert_cmpfloat (begin_of (0.01, 9), ==, 0.5);
  /* ten seconds */
  g_assert_cmpfloat (begin_of (0.01, 30), ==, 20);
  g_assert_cmpfloat (begin_of (0.01, 1000), ==, 990);
  /* twenty steps of two seconds */
  g_assert_cmpfloat (begin_of (2, 30), ==, 0.5);
  g_assert_cmpfloat (begin_of (2, 100), ==, 62);
  /* a minute, however long a step takes */
  g_assert_cmpfloat (begin_of (30, 100), ==, 40);
}

/* ---- processors ---- */

static gint64
idle_of (const char *text, guint first, guint last)
{
  cpu_set_t set;

  CPU_ZERO (&set);
  for (guint i = first; i <= last; i++)
    CPU_SET (i, &set);
  return hr_processors_parse_idle (text, &set);
}

static void
test_idle (void)
{
  static const char text[] = "cpu  30 0 30 900 90 0 0 0 0 0\n"
                             "cpu0 10 0 10 300 30 0 0 0 0 0\n"
                             "cpu1 10 0 10 500 50 0 0 0 0 0\n"
                             "cpu2 10 0 10 100 10 0 0 0 0 0\n"
                             "intr 12345 0 0\n"
                             "ctxt 1\n";
  gint64 tick = 1000000000 / sysconf (_SC_CLK_TCK);

  /* idle, and waiting for disks */
  g_assert_cmpint (idle_of (text, 0, 0), ==, 330 * tick);
  g_assert_cmpint (idle_of (text, 1, 2), ==, 660 * tick);
  g_assert_cmpint (idle_of (text, 0, 1000), ==, 990 * tick);
  /* none of those, nothing but zeros, nothing, an older kernel's line, a broken one */
  g_assert_cmpint (idle_of (text, 7, 9), ==, -1);
  g_assert_cmpint (idle_of ("cpu  0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n", 0, 0), ==, -1);
  g_assert_cmpint (idle_of ("", 0, 0), ==, -1);
  g_assert_cmpint (idle_of ("cpu0 1 2 3 4 5\n", 0, 0), ==, 9 * tick);
  g_assert_cmpint (idle_of ("cpu0 1 2 3\ncpu1 1 2 3 4 5\n", 0, 1), ==, -1);
}

/* this machine's: what was idle stays; what waited for a disk, the kernel may take back */
static void
test_idle_here (void)
{
  g_autoptr (GRegex) regex = g_regex_new ("^(cpu\\d+( \\d+){4}) \\d+", G_REGEX_MULTILINE, 0, NULL);
  g_autofree char *text = NULL, *idle_only = NULL;
  cpu_set_t set;
  gint64 before;

  g_assert_cmpint (sched_getaffinity (0, sizeof set, &set), ==, 0);
  g_assert_true (g_file_get_contents ("/proc/stat", &text, NULL, NULL));
  idle_only = g_regex_replace (regex, text, -1, 0, "\\1 0", 0, NULL);
  before = hr_processors_parse_idle (idle_only, &set);
  g_usleep (20000);
  g_assert_cmpint (hr_processors_get_idle (), >=, before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/verdict/copy", test_copy);
  g_test_add_func ("/verdict/goes-on", test_goes_on);
  g_test_add_func ("/verdict/waits", test_waits);
  g_test_add_func ("/verdict/subtract", test_subtract);
  g_test_add_func ("/verdict/window", test_window);
  g_test_add_func ("/verdict/idle", test_idle);
  g_test_add_func ("/verdict/idle-here", test_idle_here);
  return g_test_run ();
}
