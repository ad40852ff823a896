/* test-headspace.c: batches are replayed to who reads in another process: the same bytes at the
 * same places, packed ones too, and what was skipped is told once */
#include <string.h>
#include "hr-harness.h"
#include "hr-json.h"
#include "ipc-run.h"

static gint64
get_number (HrPipeline *pipeline, const char *name)
{
  g_autofree char *json = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) root = json_from_string (json, NULL);
  JsonObject *stats = json_node_get_object (root);

  return json_object_get_int_member (json_object_get_object_member (stats, "headspace"), name);
}

static void
finish (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
}

static gconstpointer
get_bytes (HrBuffer *batch)
{
  return hr_tensor_get_memory (hr_list_get_tensor (hr_buffer_get_list (batch, "bytes"), 0))->data;
}

/* what comes through @sink, to @source: 4 batches, and those again */
static void
check (const char *sink, const char *source, gboolean in_place)
{
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer = ipc_start (
        "headspace=4 fakesrc size=16KiB ! batch size=2 ! prefetchqueue ! %s fd=%d", sink, fds[0]);
    g_autoptr (HrPipeline) reader = ipc_start ("%s fd=%d ! appsink", source, fds[1]);
    g_autoptr (GPtrArray) sums = g_ptr_array_new_with_free_func (g_free);
    gconstpointer places[4];
    HrBuffer *batch;

    while ((batch = hr_pipeline_pull (reader, NULL)) != NULL) {
      g_autofree char *sum = hr_buffer_get_digest (batch);
      guint n = sums->len;

      g_assert_cmpuint (n, <, 8);
      g_assert_cmpint (batch->number, ==, n);
      if (n < 4)
        places[n] = get_bytes (batch);
      else
        g_assert_cmpstr (sum, ==, sums->pdata[n - 4]);
      if (n >= 4 && in_place)
        g_assert_true (get_bytes (batch) == places[n - 4]);
      g_ptr_array_add (sums, g_steal_pointer (&sum));
      hr_buffer_unref (batch);
    }
    g_assert_cmpuint (sums->len, ==, 8);
    g_assert_cmpstr (sums->pdata[0], !=, sums->pdata[1]);
    finish (reader);
    finish (writer);
    g_assert_cmpint (get_number (writer, "steps"), ==, 4);
    g_assert_cmpint (get_number (writer, "bytes_copied"), ==, in_place ? 0 : 4 * 2 * 16384);
  }
  hr_harness_assert_no_leaks ();
}

static void
test_shm (void)
{
  check ("shmsink", "shmsrc", TRUE);
}

static void
test_pipe (void)
{
  check ("pipesink", "pipesrc", FALSE);
}

/* two readers, of which each gets its own */
static void
test_ranks (void)
{
  g_autofree char *address = g_strdup_printf ("headspace-%d", (int)g_random_int ());

  {
    g_autoptr (HrPipeline) writer =
        ipc_start ("headspace=4 fakesrc size=16KiB ! batch size=2 ! prefetchqueue ! shmsink "
                   "address=%s readers=2 share=rank",
                   address);
    g_autoptr (HrPipeline) one = ipc_start ("shmsrc address=%s ! appsink", address);
    g_autoptr (HrPipeline) two = ipc_start ("shmsrc address=%s ! appsink", address);
    HrPipeline *readers[] = { one, two };
    g_autoptr (GPtrArray) sums = g_ptr_array_new_with_free_func (g_free);

    for (guint i = 0; i < 8; i++) {
      g_autoptr (HrBuffer) batch = hr_pipeline_pull (readers[i % 2], NULL);

      g_assert_nonnull (batch);
      g_ptr_array_add (sums, hr_buffer_get_digest (batch));
      if (i >= 4)
        g_assert_cmpstr (sums->pdata[i], ==, sums->pdata[i - 4]);
    }
    for (guint i = 0; i < 2; i++) {
      g_assert_null (hr_pipeline_pull (readers[i], NULL));
      finish (readers[i]);
    }
    finish (writer);
  }
  hr_harness_assert_no_leaks ();
}

/* ---- packed rows, with holes among their samples ---- */

static HrTensor *
make_numbers (guint n_dims, gint64 rows, gint64 length, gint64 first)
{
  gint64 shape[] = { rows, length };
  HrMemory *memory = hr_memory_new ((gsize)(rows * length) * 8);

  for (gint64 i = 0; i < rows * length; i++)
    ((gint64 *)(gpointer)memory->data)[i] = first + i;
  return hr_tensor_new (memory, 0, HR_INT64, n_dims, shape + 2 - n_dims);
}

/* 40 tokens a sample, so two fit into a row of 100; in each block of four one is bad */
static gpointer
push_samples (gpointer pipeline)
{
  gboolean wanted = TRUE;

  for (gint64 i = 0; wanted; i++) {
    HrBuffer *sample = hr_buffer_new ();

    hr_buffer_set_tensor (sample, "input_ids", make_numbers (1, 1, 40, 1000 * i));
    hr_buffer_set_tensor (sample, "labels", make_numbers (1, 1, 40, 1000 * i));
    hr_buffer_set_tensor (sample, "position_ids", make_numbers (2, 3, 40, 0));
    if (i % 4 == 1)
      sample = hr_pipeline_make_hole (
          pipeline, "in", sample,
          g_error_new_literal (HR_DATA_ERROR, HR_DATA_ERROR_BAD_RECORD, "bad"), NULL);
    wanted = hr_pipeline_push (pipeline, "in", sample, NULL);
  }
  return NULL;
}

static guint
count_skipped (HrPipeline *pipeline)
{
  HrMessage *message;
  guint n = 0;

  while ((message = hr_pipeline_pop_message (pipeline, -1)) != NULL) {
    n += message->type == HR_MESSAGE_SKIPPED;
    hr_message_unref (message);
  }
  return n;
}

static gpointer
wait_for (gpointer pipeline)
{
  finish (pipeline);
  return NULL;
}

static void
test_packed (void)
{
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer =
        ipc_start ("headspace=6 on-error=skip appsrc name=in ! batch mode=packed "
                   "max-tokens=100 pack-window=4 ! prefetchqueue ! "
                   "shmsink fd=%d",
                   fds[0]);
    g_autoptr (HrPipeline) reader = ipc_start ("on-error=skip shmsrc fd=%d ! appsink", fds[1]);
    g_autoptr (GPtrArray) sums = g_ptr_array_new_with_free_func (g_free);
    GThread *pusher = g_thread_new ("push", push_samples, writer);
    GThread *waiter = g_thread_new ("wait", wait_for, writer);
    HrBuffer *row;

    while ((row = hr_pipeline_pull (reader, NULL)) != NULL) {
      g_assert_nonnull (hr_buffer_get_tensor (row, "cu_seqlens"));
      g_ptr_array_add (sums, hr_buffer_get_digest (row));
      hr_buffer_unref (row);
    }
    g_assert_cmpuint (sums->len, ==, 12);
    for (guint i = 0; i < 6; i++)
      g_assert_cmpstr (sums->pdata[i], ==, sums->pdata[6 + i]);
    g_assert_cmpstr (sums->pdata[0], !=, sums->pdata[2]);
    finish (reader);
    g_thread_join (waiter);
    g_thread_join (pusher);
    /* three samples of a block are two rows: six rows are three blocks */
    g_assert_cmpuint (count_skipped (writer), ==, 3);
    g_assert_cmpuint (count_skipped (reader), ==, 3);
  }
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/headspace/shm", test_shm);
  g_test_add_func ("/headspace/pipe", test_pipe);
  g_test_add_func ("/headspace/ranks", test_ranks);
  g_test_add_func ("/headspace/packed", test_packed);
  return g_test_run ();
}
