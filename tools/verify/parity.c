/* parity.c: hr-verify parity: samples of a pipeline beside those of Hugging Face's processor
 *
 * The pipeline runs here. What it gives is handed to a Python program, tools/verify/parity, which
 * reads the records and images itself, asks the real libraries, and compares. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "launch/text.h"
#include "single.h"
#include "stream.h"
#include "verify.h"

static struct {
  char *file;
  char **variables;
  char *tokenizer;
  char *template;
  char *samples;
  char *backend;
  char *python;
  gboolean exact;
  gboolean json;
  char **words;
} options = { .samples = NULL };

static const GOptionEntry entries[] = {
  { "file", 'f', 0, G_OPTION_ARG_FILENAME, &options.file, "Read the pipeline from FILE; - is stdin",
    "FILE" },
  { "define", 'D', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.variables,
    "A value for ${NAME} in the text", "NAME=VALUE" },
  { "tokenizer", 't', 0, G_OPTION_ARG_FILENAME, &options.tokenizer,
    "The model's tokenizer.json, or the folder it lies in", "PATH" },
  { "template", 0, 0, G_OPTION_ARG_FILENAME, &options.template,
    "The model's chat template; if not given, the one beside tokenizer.json", "FILE" },
  { "samples", 'n', 0, G_OPTION_ARG_STRING, &options.samples,
    "Samples to compare, 16; all: to the end", "N" },
  { "backend", 0, 0, G_OPTION_ARG_STRING, &options.backend,
    "Which image processor: pillow (default) or torchvision", "NAME" },
  { "python", 0, 0, G_OPTION_ARG_FILENAME, &options.python,
    "A Python that has transformers; python3", "PROGRAM" },
  { "exact", 0, 0, G_OPTION_ARG_NONE, &options.exact, "Allow no difference at all", NULL },
  { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print one JSON object", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.words, NULL, "PIPELINE" },
  G_OPTION_ENTRY_NULL
};

static const char description[] =
    "Runs PIPELINE as it is, but sample by sample: batches, prefetching and the end are left out. "
    "Each\nsample is compared with what transformers makes of the same record: input_ids, "
    "labels,\nattention_mask, mm_token_type_ids, position_ids, image_grid_thw, pixel_values. For "
    "each field it\ntells how many values were compared, the greatest difference, how many differ, "
    "and what is\npromised for these settings. docs/verify.md says what is compared with what.\n\n"
    "PROGRAM needs transformers, torch, torchvision, Pillow, NumPy and Jinja2:\n"
    "  python3 -m venv VENV && VENV/bin/pip install -r %s\n"
    "  hr-verify parity --python VENV/bin/python3 …\n\n"
    "Exit status: 0 all as promised, 1 a difference beyond it, or the run failed, 2 wrong usage "
    "or\npipeline, or PROGRAM lacks something.\n";

static int
usage_error (const char *message)
{
  fprintf (stderr, "hr-verify parity: %s\n", message);
  return EXIT_USAGE;
}

/* ---- where the Python program lies ---- */

/* Beside the tools of a build it is the source's; installed, it lies under the same prefix. */
static char *
find_program (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (self != NULL ? self : "");

  if (g_str_equal (folder, HR_VERIFY_BUILD))
    return g_strdup (HR_VERIFY_SOURCE);
  return g_build_filename (folder, HR_VERIFY_FROM_BIN, NULL);
}

/* ---- running ---- */

typedef struct {
  HrPipeline *pipeline;
  GOutputStream *out;
  guint64 n; /* samples to compare */
} Run;

static gboolean
write_messages (Run *run, GError **error)
{
  for (;;) {
    g_autoptr (HrMessage) message = hr_pipeline_pop_message (run->pipeline, 0);

    if (message == NULL)
      return TRUE;
    if ((message->type == HR_MESSAGE_DROPPED || message->type == HR_MESSAGE_SKIPPED)
        && !verify_write_left_out (run->out, message, error))
      return FALSE;
  }
}

/* FALSE: nobody reads any more; *@failure is the pipeline's */
static gboolean
write_samples (Run *run, GError **failure, GError **error)
{
  for (guint64 k = 0; k < run->n; k++) {
    g_autoptr (HrBuffer) sample = hr_pipeline_pull (run->pipeline, failure);

    if (sample == NULL)
      break;
    if (!verify_write_sample (run->out, sample, error) || !write_messages (run, error))
      return FALSE;
  }
  return write_messages (run, error);
}

static GSubprocess *
start_program (GError **error)
{
  g_autofree char *program = find_program ();
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  g_ptr_array_add (argv, options.python != NULL ? options.python : (char *)"python3");
  g_ptr_array_add (argv, (char *)"-B"); /* it may lie where nobody can write */
  g_ptr_array_add (argv, program);
  g_ptr_array_add (argv, (char *)"--tokenizer");
  g_ptr_array_add (argv, options.tokenizer);
  g_ptr_array_add (argv, (char *)"--backend");
  g_ptr_array_add (argv, options.backend != NULL ? options.backend : (char *)"pillow");
  if (options.template != NULL) {
    g_ptr_array_add (argv, (char *)"--template");
    g_ptr_array_add (argv, options.template);
  }
  if (options.exact)
    g_ptr_array_add (argv, (char *)"--exact");
  if (options.json)
    g_ptr_array_add (argv, (char *)"--json");
  g_ptr_array_add (argv, NULL);
  return g_subprocess_newv ((const char *const *)argv->pdata, G_SUBPROCESS_FLAGS_STDIN_PIPE, error);
}

/* runs the pipeline into the program; FALSE: it was not all written */
static gboolean
feed (Run *run, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autofree char *text = hr_pipeline_to_string (run->pipeline);
  JsonNode *end = json_node_alloc ();
  gboolean ok =
      verify_write_member (run->out, "text", json_node_init_string (json_node_alloc (), text),
                           error)
      && verify_write_member (run->out, "elements", verify_describe (run->pipeline), error);

  if (ok && hr_pipeline_start (run->pipeline, &failure)) {
    ok = write_samples (run, &failure, error);
    hr_pipeline_stop (run->pipeline);
    hr_pipeline_wait (run->pipeline, NULL);
  }
  if (failure != NULL)
    json_node_init_string (end, failure->message);
  else
    json_node_init_null (end);
  return verify_write_member (run->out, "end", end, ok ? error : NULL) && ok;
}

static int
compare (HrPipeline *pipeline, guint64 n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) program = start_program (&error);
  Run run = { pipeline, NULL, n };

  if (program == NULL)
    return usage_error (error->message);
  run.out = g_subprocess_get_stdin_pipe (program);
  feed (&run, &error);
  g_output_stream_close (run.out, NULL, NULL);
  if (!g_subprocess_wait (program, NULL, NULL) || !g_subprocess_get_if_exited (program))
    return EXIT_FAILED;
  /* a program that has left early has said why */
  if (g_subprocess_get_exit_status (program) == EXIT_OK && error != NULL) {
    fprintf (stderr, "hr-verify parity: %s\n", error->message);
    return EXIT_FAILED;
  }
  return g_subprocess_get_exit_status (program);
}

/* ---- command line ---- */

static gboolean
read_samples (guint64 *n, GError **error)
{
  *n = 16;
  if (options.samples == NULL)
    return TRUE;
  *n = G_MAXUINT64;
  if (g_str_equal (options.samples, "all")
      || g_ascii_string_to_unsigned (options.samples, 10, 1, G_MAXINT64, n, NULL))
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--samples: \"%s\" is neither a number from 1 on nor \"all\"", options.samples);
  return FALSE;
}

static gboolean
check_options (GError **error)
{
  const char *wrong = NULL;

  if ((options.file != NULL) == (options.words != NULL))
    wrong = options.file != NULL ? "a pipeline, or -f FILE, not both"
                                 : "no pipeline: hr-verify parity --help";
  else if (options.tokenizer == NULL)
    wrong = "--tokenizer PATH is missing: the model's tokenizer.json, or the folder it lies in";
  else if (options.backend != NULL && !g_str_equal (options.backend, "pillow")
           && !g_str_equal (options.backend, "torchvision"))
    wrong = "--backend is neither pillow nor torchvision";
  if (wrong == NULL)
    return TRUE;
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, wrong);
  return FALSE;
}

static HrPipeline *
read_pipeline (GError **error)
{
  g_autoptr (HrPipeline) pipeline =
      launch_read_pipeline (options.file, options.words, options.variables, error);

  return pipeline != NULL ? verify_single (pipeline, error) : NULL;
}

/* what there is to compare is what these give */
static gboolean
check_pipeline (HrPipeline *pipeline, GError **error)
{
  static const char *const needed[] = { "jsonlparse", "tokenize" };

  for (guint i = 0; i < G_N_ELEMENTS (needed); i++) {
    guint found = 0;

    for (guint k = 0; k < hr_pipeline_get_n_elements (pipeline); k++)
      found += g_str_equal (needed[i],
                            hr_element_get_factory (hr_pipeline_get_nth_element (pipeline, k)));
    if (found == 1)
      continue;
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                 "the pipeline has %u %s, and needs one: what is compared are samples of "
                 "… ! jsonlparse ! imagefetch ! tokenize ! …",
                 found, needed[i]);
    return FALSE;
  }
  return TRUE;
}

int
verify_parity (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("");
  g_autofree char *program = find_program ();
  g_autofree char *requirements = g_build_filename (program, "requirements.txt", NULL);
  g_autofree char *help = g_strdup_printf (description, requirements);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  guint64 n;

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_summary (
      context, "Compares samples of a pipeline with those of Hugging Face's processor.");
  g_option_context_set_description (context, help);
  if (!g_option_context_parse (context, &argc, &argv, &error) || !check_options (&error)
      || !read_samples (&n, &error))
    return usage_error (error->message);
  pipeline = read_pipeline (&error);
  if (pipeline == NULL || !check_pipeline (pipeline, &error))
    return usage_error (error->message);
  return compare (pipeline, n);
}
