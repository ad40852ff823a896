/* text-run.c: a pipeline run to its end, and what came out of it */
#include "text-run.h"
#include <string.h>
#include "text-test.h"

const char *const text_settings[] = { "serial=true", "workers=1", "workers=4", NULL };

char *
text_run_expand (const char *setting, const char *text)
{
  gboolean serial = g_str_equal (setting, "serial=true");
  g_autoptr (GString) whole = g_string_new (serial ? "serial=true " : "");
  g_autofree char *vocab = text_test_vocab_path ("tokenizer.json");

  g_string_append (whole, text);
  g_string_replace (whole, "WORKERS", serial ? "" : setting, 0);
  g_string_replace (whole, "VOCAB", vocab != NULL ? vocab : "none", 0);
  g_string_replace (whole, "CASES", HR_TEST_DATA "/cases", 0);
  g_string_replace (whole, "GOLDEN", HR_TEST_DATA "/golden", 0);
  g_string_replace (whole, "RECORDS", HR_TEST_DATA "/records", 0);
  return g_strdup (whole->str);
}

TextRun
text_run (const char *setting, const char *text)
{
  g_autofree char *whole = text_run_expand (setting, text), *stats = NULL;
  TextRun run = { g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref),
                  g_ptr_array_new_with_free_func ((GDestroyNotify)hr_message_unref),
                  g_ptr_array_new_with_free_func ((GDestroyNotify)hr_message_unref), NULL, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (whole, &error);
  HrBuffer *sample;
  HrMessage *message;

  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  while ((sample = hr_pipeline_pull (pipeline, &run.error)) != NULL)
    g_ptr_array_add (run.samples, sample);
  hr_pipeline_wait (pipeline, NULL);
  while ((message = hr_pipeline_pop_message (pipeline, 0)) != NULL)
    if (message->type == HR_MESSAGE_SKIPPED)
      g_ptr_array_add (run.skipped, message);
    else if (message->type == HR_MESSAGE_DROPPED)
      g_ptr_array_add (run.dropped, message);
    else
      hr_message_unref (message);
  stats = hr_pipeline_get_stats (pipeline);
  run.stats = json_from_string (stats, &error);
  g_assert_no_error (error);
  return run;
}

void
text_run_clear (TextRun *run)
{
  if (run->samples == NULL)
    return;
  g_ptr_array_unref (run->samples);
  g_ptr_array_unref (run->skipped);
  g_ptr_array_unref (run->dropped);
  json_node_unref (run->stats);
  g_clear_error (&run->error);
  memset (run, 0, sizeof (*run));
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

HrBuffer *
text_run_find (const TextRun *run, gint64 line)
{
  for (guint i = 0; i < run->samples->len; i++)
    if (hr_buffer_get_origin (run->samples->pdata[i])->line == line)
      return run->samples->pdata[i];
  return NULL;
}

HrBuffer *
text_run_find_id (const TextRun *run, const char *id)
{
  for (guint i = 0; i < run->samples->len; i++)
    if (g_strcmp0 (hr_buffer_get_origin (run->samples->pdata[i])->id, id) == 0)
      return run->samples->pdata[i];
  g_error ("no sample \"%s\"", id);
}

const HrMessage *
text_run_find_skipped (const TextRun *run, gint64 line)
{
  for (guint i = 0; i < run->skipped->len; i++)
    if (((HrMessage *)run->skipped->pdata[i])->origin->line == line)
      return run->skipped->pdata[i];
  return NULL;
}

gint64
text_run_count (const TextRun *run, const char *object, const char *kind)
{
  JsonObject *counts = json_object_get_object_member (json_node_get_object (run->stats), object);

  return json_object_get_int_member_with_default (counts, kind, 0);
}

gsize
text_tensor_length (const HrTensor *tensor)
{
  gsize n = 1;

  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++)
    n *= (gsize)hr_tensor_get_dim (tensor, i);
  return n;
}

gint64
text_tensor_int (const HrTensor *tensor, gsize index)
{
  g_assert_cmpuint (index, <, text_tensor_length (tensor));
  g_assert_true (hr_tensor_is_contiguous (tensor));
  g_assert_cmpint (hr_tensor_get_dtype (tensor).code, ==, HR_DTYPE_INT);
  return hr_tensor_get_dtype (tensor).bits == 64 ? ((gint64 *)hr_tensor_get_data (tensor))[index]
                                                 : ((gint32 *)hr_tensor_get_data (tensor))[index];
}

static gsize
check_numbers (const HrTensor *tensor, gsize at, JsonArray *expected, const char *what)
{
  for (guint i = 0; i < json_array_get_length (expected); i++) {
    JsonNode *node = json_array_get_element (expected, i);

    if (JSON_NODE_HOLDS_ARRAY (node))
      at = check_numbers (tensor, at, json_node_get_array (node), what);
    else if (text_tensor_int (tensor, at++) != json_node_get_int (node))
      g_error ("%s: number %u is %d, not %d", what, i, (int)text_tensor_int (tensor, at - 1),
               (int)json_node_get_int (node));
  }
  return at;
}

void
text_assert_numbers (const HrTensor *tensor, JsonArray *expected, const char *what)
{
  if (tensor == NULL)
    g_error ("no %s", what);
  g_assert_cmpuint (check_numbers (tensor, 0, expected, what), ==, text_tensor_length (tensor));
}
