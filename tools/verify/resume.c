/* resume.c: hr-verify resume: does a run that was cut go on exactly?
 *
 * The reference runs in one thread, sample by sample, for each number of ranks. Then runs with
 * workers are cut, by stopping them or by SIGKILL in a process of their own, and go on from their
 * checkpoint with other ranks and workers. Every step is compared with the reference's. */
#include <stdio.h>
#include <string.h>
#include "launch/text.h"
#include "leg.h"
#include "single.h"
#include "verify.h"

#define DEFAULT_STOPS 8

static struct {
  char *file;
  char **variables;
  char *stops, *worlds, *workers, *steps;
  char *leg, *checkpoint; /* of a process that will be killed */
  gboolean verbose;
  char **words;
} options;

static const GOptionEntry entries[] = {
  { "file", 'f', 0, G_OPTION_ARG_FILENAME, &options.file, "Read the pipeline from FILE; - is stdin",
    "FILE" },
  { "define", 'D', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.variables,
    "A value for ${NAME} in the text", "NAME=VALUE" },
  { "stops", 0, 0, G_OPTION_ARG_STRING, &options.stops,
    "Behind how many steps to cut, spread over the run: 8; all: behind every one", "N" },
  { "worlds", 0, 0, G_OPTION_ARG_STRING, &options.worlds,
    "Numbers of ranks that share a step: those of 1, 2, 4 that divide its samples", "N,N…" },
  { "workers", 0, 0, G_OPTION_ARG_STRING, &options.workers, "Workers of each parallel element: 1,4",
    "N,N…" },
  { "steps", 0, 0, G_OPTION_ARG_STRING, &options.steps, "Look at the first N steps only", "N" },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose, "Tell every cut", NULL },
  { "leg", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &options.leg, NULL, NULL },
  { "checkpoint", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &options.checkpoint, NULL, NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.words, NULL, "PIPELINE" },
  G_OPTION_ENTRY_NULL
};

static const char description[] =
    "Runs PIPELINE in one thread, sample by sample, as the reference; its sink is left out. Then "
    "it "
    "is\nrun with workers, cut, and gone on with from its checkpoint, with other ranks and "
    "workers. "
    "Every\nsecond cut is SIGKILL to a process of its own. Each step's content and origins must be "
    "the\nreference's; the first one that is not is told. A run is read some (stops + worlds + 1) "
    "times.\n\nExit status: 0 exact, 1 not exact, or a run failed, 2 wrong usage or pipeline.\n";

typedef struct {
  char *text; /* of the pipeline that is run */
  guint64 step_size;
  gboolean packed;       /* a checkpoint is its rank's own */
  gboolean numbered;     /* rows are numbered: the reference is that of one rank alone */
  GArray *worlds;        /* guint64 */
  GArray *workers;       /* guint64 */
  GPtrArray *references; /* GPtrArray a world: GArray a rank */
  guint n_steps;
  guint n_stopped, n_killed;
} Check;

static int
usage_error (const char *message)
{
  fprintf (stderr, "hr-verify resume: %s\n", message);
  return EXIT_USAGE;
}

static int
failed (const char *message)
{
  fprintf (stderr, "hr-verify resume: %s\n", message);
  return EXIT_FAILED;
}

static guint64
number_at (const GArray *numbers, guint index)
{
  return g_array_index (numbers, guint64, index % numbers->len);
}

/* ---- comparing ---- */

/* "epoch 1, content 12ab…, from a.jsonl byte 7; a.jsonl byte 99" */
static char *
show_step (const VerifyStep *step)
{
  g_autofree char *origins = g_strdup (g_strchomp (step->origins));

  if (step->content == NULL)
    return g_strdup_printf ("epoch %u, a row of padding", step->epoch);
  return g_strdup_printf ("epoch %u, content %.12s…, from %s", step->epoch, step->content,
                          g_strdelimit (origins, "\n", ';'));
}

static gboolean
is_equal (const VerifyStep *a, const VerifyStep *b)
{
  /* padding has no reference: it holds nobody's samples */
  return a->epoch == b->epoch && (b->content == NULL || g_str_equal (a->content, b->content))
         && g_str_equal (a->origins, b->origins);
}

/* are @steps those of @reference, to its end if @whole? Tells the first that is not; @number: of
 * the first of them in the run */
static gboolean
compare (const GArray *steps, const GArray *reference, gboolean whole, guint number,
         const char *what)
{
  guint n = whole ? MAX (reference->len, steps->len) : steps->len;

  for (guint i = 0; i < n; i++) {
    VerifyStep *got = i < steps->len ? &g_array_index (steps, VerifyStep, i) : NULL;
    VerifyStep *wanted = i < reference->len ? &g_array_index (reference, VerifyStep, i) : NULL;
    g_autofree char *is = NULL, *should = NULL;

    if (got != NULL && wanted != NULL && is_equal (got, wanted))
      continue;
    is = got != NULL ? show_step (got) : g_strdup ("missing");
    should = wanted != NULL ? show_step (wanted) : g_strdup ("no step");
    printf ("not exact: step %u, %s\n  is     %s\n  not    %s\n", number + i, what, is, should);
    return FALSE;
  }
  return TRUE;
}

/* ---- the reference ---- */

static GArray *
get_reference (const Check *check, const VerifyWay *way)
{
  for (guint i = 0; i < check->worlds->len; i++)
    if (number_at (check->worlds, i) == way->world)
      return g_ptr_array_index ((GPtrArray *)check->references->pdata[i], way->rank);
  g_return_val_if_reached (NULL);
}

static guint
find_epoch_end (const GArray *rows, guint begin)
{
  guint end = begin;

  while (end < rows->len
         && g_array_index (rows, VerifyStep, end).epoch
                == g_array_index (rows, VerifyStep, begin).epoch)
    end++;
  return end;
}

/* Row j of an epoch is for rank (j - first) mod world, and who has none in the last step gets
 * padding; the rows of one rank alone are all of them. What @way gets behind so many steps of
 * @world ranks, which began with the first row. (transfer full): borrows its strings */
static GArray *
share_rows (const Check *check, const VerifyWay *way, guint64 world, guint steps)
{
  const GArray *all = g_ptr_array_index ((GPtrArray *)check->references->pdata[0], 0);
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (VerifyStep));

  for (guint begin = 0, end; begin < all->len; begin = end) {
    guint taken;

    end = find_epoch_end (all, begin);
    taken = MIN (steps, (guint)((end - begin + world - 1) / world));
    steps -= taken;
    for (guint row = begin + taken * (guint)world; row < end; row += (guint)way->world) {
      VerifyStep padding = { .epoch = g_array_index (all, VerifyStep, begin).epoch,
                             .origins = (char *)"" };
      guint at = row + (guint)way->rank;

      g_array_append_val (rows, *(at < end ? &g_array_index (all, VerifyStep, at) : &padding));
    }
  }
  return rows;
}

/* steps of all ranks hold, one rank after the other, what one rank alone gets */
static gboolean
compare_worlds (const Check *check, guint index)
{
  const GPtrArray *first = check->references->pdata[0], *ranks = check->references->pdata[index];

  for (guint k = 0; k < check->n_steps; k++) {
    g_autoptr (GString) one = g_string_new (NULL), other = g_string_new (NULL);

    for (guint r = 0; r < first->len; r++)
      g_string_append (one, g_array_index ((GArray *)first->pdata[r], VerifyStep, k).origins);
    for (guint r = 0; r < ranks->len; r++)
      g_string_append (other, g_array_index ((GArray *)ranks->pdata[r], VerifyStep, k).origins);
    if (g_str_equal (one->str, other->str))
      continue;
    printf ("not exact: step %u holds other samples with %u ranks than with %u\n%s  and not\n%s", k,
            ranks->len, first->len, other->str, one->str);
    return FALSE;
  }
  return TRUE;
}

/* FALSE with an error: failed; without: not exact, which has been told */
static gboolean
make_references (Check *check, GError **error)
{
  for (guint i = 0; i < (check->numbered ? 1 : check->worlds->len); i++) {
    GPtrArray *ranks = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
    guint64 world = check->numbered ? 1 : number_at (check->worlds, i);

    g_ptr_array_add (check->references, ranks);
    for (guint64 r = 0; r < world; r++) {
      VerifyWay way = { .world = world, .rank = r };
      GArray *steps = verify_steps_new ();

      g_ptr_array_add (ranks, steps);
      if (!verify_leg (check->text, &way, NULL, -1, steps, NULL, error))
        return FALSE;
      if (i == 0 && r == 0)
        check->n_steps = steps->len;
      if (steps->len == check->n_steps)
        continue;
      printf ("not exact: rank %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
              " makes %u steps, and rank 0 of %" G_GUINT64_FORMAT " %u\n",
              r, way.world, steps->len, number_at (check->worlds, 0), check->n_steps);
      return FALSE;
    }
    if (!compare_worlds (check, i))
      return FALSE;
  }
  return TRUE;
}

/* ---- cuts ---- */

static char *
describe_way (const VerifyWay *way)
{
  return g_strdup_printf ("rank %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                          " with %" G_GUINT64_FORMAT " workers",
                          way->rank, way->world, way->workers);
}

/* steps that a checkpoint stands behind */
static guint
count_steps (const char *checkpoint)
{
  g_autoptr (JsonNode) root = json_from_string (checkpoint, NULL);

  return (guint)json_object_get_int_member (json_node_get_object (root), "steps");
}

/* the first of @steps that does not stand before that checkpoint */
static guint
find_first (const GArray *steps, const char *checkpoint)
{
  guint n = checkpoint != NULL ? count_steps (checkpoint) : 0, i = 0;

  while (i < steps->len && g_array_index (steps, VerifyStep, i).number < n)
    i++;
  return i;
}

/* what comes behind that checkpoint of a run of @world ranks, or, without one, from the beginning;
 * (transfer full) */
static GArray *
get_rest (const Check *check, const VerifyWay *way, guint64 world, const char *checkpoint)
{
  GArray *reference, *rest;

  if (check->numbered)
    return share_rows (check, way, world, checkpoint != NULL ? count_steps (checkpoint) : 0);
  reference = get_reference (check, way);
  rest = g_array_new (FALSE, FALSE, sizeof (VerifyStep));
  for (guint i = find_first (reference, checkpoint); i < reference->len; i++)
    g_array_append_val (rest, g_array_index (reference, VerifyStep, i));
  return rest;
}

/* cut number @index, behind @n steps; the same results as make_references() */
static gboolean
cut (Check *check, guint index, guint n, char **checkpoint, char **what, GError **error)
{
  g_autoptr (GArray) steps = verify_steps_new ();
  VerifyWay way = { .world = number_at (check->worlds, index),
                    .workers = number_at (check->workers, index) };
  gboolean kill = index % 2 != 0;
  g_autofree char *who = NULL;
  g_autoptr (GArray) reference = NULL;

  way.rank = index % way.world;
  if (check->numbered) /* n rows are that many steps */
    n = (guint)((n + way.world - 1) / way.world);
  who = describe_way (&way);
  if (kill ? !verify_leg_killed (check->text, &way, n, steps, checkpoint, error)
           : !verify_leg (check->text, &way, NULL, n, steps, checkpoint, error))
    return FALSE;
  check->n_killed += kill;
  check->n_stopped += !kill;
  *what = g_strdup_printf ("cut by %s behind step %u of %s", kill ? "SIGKILL" : "a stop",
                           *checkpoint != NULL ? count_steps (*checkpoint) : 0, who);
  reference = get_rest (check, &way, way.world, NULL);
  return compare (steps, reference, FALSE, 0, who);
}

static gboolean
go_on (Check *check, guint index, const char *checkpoint, const char *what, GError **error)
{
  /* each number of ranks follows each */
  VerifyWay way = { .world = number_at (check->worlds, index / check->worlds->len + index + 1),
                    .workers = number_at (check->workers, index / 2 + 1) };

  for (way.rank = 0; way.rank < way.world; way.rank++) {
    g_autoptr (GArray) steps = verify_steps_new ();
    g_autoptr (GArray) reference =
        get_rest (check, &way, number_at (check->worlds, index), checkpoint);
    g_autofree char *who = describe_way (&way), *both = NULL;

    if (check->packed && !check->numbered && way.rank != index % way.world)
      continue;
    if (!verify_leg (check->text, &way, checkpoint, -1, steps, NULL, error))
      return FALSE;
    both = g_strdup_printf ("%s, gone on as %s", what, who);
    if (!compare (steps, reference, TRUE, checkpoint != NULL ? count_steps (checkpoint) : 0, both))
      return FALSE;
    if (options.verbose)
      printf ("exact: %s\n", both);
  }
  return TRUE;
}

static gboolean
check_cuts (Check *check, guint n_stops, GError **error)
{
  for (guint i = 0; i < n_stops; i++) {
    guint n = n_stops > 1 ? 1 + (guint)((guint64)i * (check->n_steps - 1) / (n_stops - 1))
                          : (check->n_steps + 1) / 2;
    g_autofree char *checkpoint = NULL, *what = NULL;

    if (!cut (check, i, n, &checkpoint, &what, error) || !go_on (check, i, checkpoint, what, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- command line ---- */

static gboolean
read_numbers (const char *option, const char *text, GArray *numbers, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ",", -1);

  for (char **word = words; *word != NULL; word++) {
    guint64 number;

    if (!g_ascii_string_to_unsigned (*word, 10, 1, 256, &number, NULL)) {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s: \"%s\" is no list of numbers from 1 to 256", option, text);
      return FALSE;
    }
    g_array_append_val (numbers, number);
  }
  return numbers->len > 0;
}

/* without --worlds those that fit */
static gboolean
read_worlds (Check *check, guint64 own, GError **error)
{
  static const guint64 usual[] = { 1, 2, 4 };

  if (options.worlds == NULL) {
    for (guint i = 0; i < G_N_ELEMENTS (usual); i++)
      if (check->numbered || (check->packed ? usual[i] == own : check->step_size % usual[i] == 0))
        g_array_append_val (check->worlds, usual[i]);
    if (check->worlds->len == 0)
      g_array_append_val (check->worlds, own);
    return TRUE;
  }
  if (!read_numbers ("--worlds", options.worlds, check->worlds, error))
    return FALSE;
  for (guint i = 0; i < check->worlds->len; i++)
    if (!check->numbered
        && (check->packed ? number_at (check->worlds, i) != own
                          : check->step_size % number_at (check->worlds, i) != 0)) {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--worlds: %" G_GUINT64_FORMAT " ranks cannot share a step of %" G_GUINT64_FORMAT
                   " samples%s",
                   number_at (check->worlds, i), check->step_size,
                   check->packed ? ": rows are packed for as many ranks as there are; with "
                                   "scan=lengths they are for any number"
                                 : "");
      return FALSE;
    }
  return TRUE;
}

static gboolean
read_stops (guint n_steps, guint *n_stops, GError **error)
{
  guint64 n = DEFAULT_STOPS;

  if (options.stops != NULL && !g_str_equal (options.stops, "all")
      && !g_ascii_string_to_unsigned (options.stops, 10, 1, G_MAXINT32, &n, NULL)) {
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--stops: \"%s\" is neither a number from 1 on nor \"all\"", options.stops);
    return FALSE;
  }
  *n_stops = g_strcmp0 (options.stops, "all") == 0 ? n_steps : (guint)MIN (n, n_steps);
  return TRUE;
}

static HrPipeline *
read_pipeline (GError **error)
{
  g_autoptr (HrPipeline) pipeline =
      launch_read_pipeline (options.file, options.words, options.variables, error);

  if (pipeline == NULL
      || (options.steps != NULL
          && !hr_pipeline_set_from_string (pipeline, "steps", options.steps, error)))
    return NULL;
  return verify_pulled (pipeline, error);
}

static int
run_child (void)
{
  g_auto (GStrv) parts = g_strsplit (options.leg, ",", 3);
  g_autoptr (GError) error = NULL;
  VerifyWay way;

  if (g_strv_length (parts) != 3 || options.words == NULL || options.checkpoint == NULL)
    return usage_error ("--leg is hr-verify's own");
  way = (VerifyWay){ g_ascii_strtoull (parts[0], NULL, 10), g_ascii_strtoull (parts[1], NULL, 10),
                     g_ascii_strtoull (parts[2], NULL, 10) };
  return verify_leg_child (options.words[0], &way, options.checkpoint, &error)
             ? EXIT_OK
             : failed (error->message);
}

static int
run_check (Check *check)
{
  g_autoptr (GError) error = NULL;
  guint n_stops;

  if (!make_references (check, &error))
    return error != NULL ? failed (error->message) : EXIT_FAILED;
  if (!read_stops (check->n_steps, &n_stops, &error))
    return usage_error (error->message);
  if (!check_cuts (check, n_stops, &error))
    return error != NULL ? failed (error->message) : EXIT_FAILED;
  printf ("exact: %u steps, %u cuts by a stop, %u by SIGKILL\n", check->n_steps, check->n_stopped,
          check->n_killed);
  return EXIT_OK;
}

int
verify_resume (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("");
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  Check check = { NULL };
  guint64 own;
  int status = EXIT_USAGE;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_summary (
      context, "Cuts a pipeline's run, goes on, and compares with the uninterrupted run.");
  g_option_context_set_description (context, description);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    return usage_error (error->message);
  if (options.leg != NULL)
    return run_child ();
  if ((options.file != NULL) == (options.words != NULL))
    return usage_error (options.file != NULL ? "a pipeline, or -f FILE, not both"
                                             : "no pipeline: hr-verify resume --help");
  pipeline = read_pipeline (&error);
  if (pipeline == NULL)
    return usage_error (error->message);
  if (verify_is_endless (pipeline))
    return usage_error ("the order has no end (epochs=0): --steps=N looks at the first N steps");
  check.text = hr_pipeline_to_string (pipeline);
  check.step_size = verify_step_size (pipeline, &check.packed);
  check.numbered = verify_has_numbered_rows (pipeline);
  check.worlds = g_array_new (FALSE, FALSE, sizeof (guint64));
  check.workers = g_array_new (FALSE, FALSE, sizeof (guint64));
  check.references = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  g_object_get (pipeline, "world", &own, NULL);
  if (read_worlds (&check, own, &error)
      && read_numbers ("--workers", options.workers != NULL ? options.workers : "1,4",
                       check.workers, &error))
    status = run_check (&check);
  else
    usage_error (error->message);
  g_ptr_array_unref (check.references);
  g_array_unref (check.workers);
  g_array_unref (check.worlds);
  g_free (check.text);
  return status;
}
