/* outcome.c: what became of the records of a run */
#include "outcome.h"

HrPipeline *
outcome_start (const char *text)
{
  g_autofree char *whole = g_strconcat ("on-error=skip ", text, NULL);
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (whole, &error);

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

static gint
by_line (gconstpointer a, gconstpointer b)
{
  const HrMessage *one = *(HrMessage *const *)a, *other = *(HrMessage *const *)b;

  return one->origin->line < other->origin->line ? -1 : one->origin->line > other->origin->line;
}

Outcome
outcome_collect (HrPipeline *pipeline)
{
  Outcome outcome = { g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref),
                      g_ptr_array_new_with_free_func ((GDestroyNotify)hr_message_unref), NULL };
  HrBuffer *sample;
  HrMessage *message;

  while ((sample = hr_pipeline_pull (pipeline, &outcome.error)) != NULL)
    g_ptr_array_add (outcome.samples, sample);
  hr_pipeline_wait (pipeline, NULL);
  while ((message = hr_pipeline_pop_message (pipeline, 0)) != NULL)
    if (message->type == HR_MESSAGE_SKIPPED)
      g_ptr_array_add (outcome.skipped, message);
    else
      hr_message_unref (message);
  g_ptr_array_sort (outcome.skipped, by_line);
  return outcome;
}

Outcome
outcome_run (const char *format, ...)
{
  g_autofree char *text = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  pipeline = outcome_start (text);
  return outcome_collect (pipeline);
}

void
outcome_clear (Outcome *outcome)
{
  g_clear_pointer (&outcome->samples, g_ptr_array_unref);
  g_clear_pointer (&outcome->skipped, g_ptr_array_unref);
  g_clear_error (&outcome->error);
}

char *
outcome_summary (const Outcome *outcome)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < outcome->samples->len; i++) {
    HrOrigin *origin = hr_buffer_get_origin (outcome->samples->pdata[i]);

    g_string_append_printf (text, "%s%s@%d+%d", i > 0 ? " " : "",
                            origin->id != NULL ? origin->id : "-", (int)origin->line,
                            (int)origin->byte);
  }
  for (guint i = 0; i < outcome->skipped->len; i++) {
    const HrMessage *message = outcome->skipped->pdata[i];

    g_assert_true (message->error->domain == HR_DATA_ERROR);
    g_string_append_printf (text, "%s!%s@%d+%d", text->len > 0 ? " " : "",
                            hr_data_error_kind (message->error->code), (int)message->origin->line,
                            (int)message->origin->byte);
  }
  return g_string_free (text, FALSE);
}

const GError *
outcome_get_error (const Outcome *outcome, gint64 line)
{
  for (guint i = 0; i < outcome->skipped->len; i++) {
    const HrMessage *message = outcome->skipped->pdata[i];

    if (message->origin->line == line)
      return message->error;
  }
  return NULL;
}

char *
outcome_load_case (const char *file, gsize *size)
{
  g_autofree char *path = g_build_filename (HR_TEST_DATA, "cases", file, NULL);
  char *text;

  g_assert_true (g_file_get_contents (path, &text, size, NULL));
  return text;
}
