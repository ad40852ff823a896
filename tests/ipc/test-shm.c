/* test-shm.c: shmsink and shmsrc in one process, over a socket pair or by name: bytes, readers,
 * lifetimes, errors. What dies is killed in test-shm-kill.py */
#include <dirent.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "hr-harness.h"
#include "ipc-run.h"
#include "random-buffer.h"

static char *
new_address (void)
{
  static gint n;

  return g_strdup_printf ("test-%d-%d", (int)getpid (), g_atomic_int_add (&n, 1));
}

/* until its end */
static void
assert_warned (HrPipeline *pipeline, const char *words)
{
  HrMessage *message;
  gboolean said = FALSE;

  while ((message = hr_pipeline_pop_message (pipeline, -1)) != NULL) {
    said =
        said
        || (message->type == HR_MESSAGE_WARNING && strstr (message->error->message, words) != NULL);
    hr_message_unref (message);
  }
  g_assert_true (said);
}

/* it has ended without an error */
static void
finish (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;

  hr_pipeline_wait (pipeline, &error);
  g_assert_no_error (error);
  g_object_unref (pipeline);
}

static void
expect_error (HrPipeline *pipeline, GQuark domain, gint code, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (hr_pipeline_wait (pipeline, &error));
  g_assert_error (error, domain, code);
  g_test_message ("%s", error->message);
  g_assert_true (g_pattern_match_simple (pattern, error->message));
  g_assert_null (strchr (error->message, '\n'));
  g_object_unref (pipeline);
}

static HrBuffer *
pull (HrPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  HrBuffer *buffer = hr_pipeline_pull (pipeline, &error);

  g_assert_no_error (error);
  return buffer;
}

static guint
count_fds (void)
{
  DIR *dir = opendir ("/proc/self/fd");
  guint n = 0;

  while (readdir (dir) != NULL)
    n++;
  closedir (dir);
  return n;
}

/* ---- the same ---- */

#define N_BUFFERS 300

static gpointer
push_random (gpointer pipeline)
{
  g_autoptr (GError) error = NULL;

  for (guint32 seed = 0; seed < N_BUFFERS; seed++) {
    hr_pipeline_push (pipeline, "in", random_buffer_new (seed), &error);
    g_assert_no_error (error);
  }
  hr_pipeline_end (pipeline, "in");
  return NULL;
}

static void
test_random (gconstpointer settings)
{
  guint fds_before = count_fds (), n = 0;
  HrPipeline *writer, *reader;
  GThread *thread;
  HrBuffer *buffer;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("%s appsrc name=in ! shmsink fd=%d", (const char *)settings, fds[0]);
  reader = ipc_start ("%s shmsrc fd=%d ! appsink", (const char *)settings, fds[1]);
  thread = g_thread_new ("push", push_random, writer);
  for (guint32 seed = 0; seed < N_BUFFERS; seed++) {
    g_autoptr (HrBuffer) expected = random_buffer_new (seed);

    if ((expected->flags & HR_BUFFER_HOLE) && !(expected->flags & HR_BUFFER_BLOCK_END))
      continue; /* a program does not get it, there or here */
    buffer = pull (reader);
    g_assert_nonnull (buffer);
    g_assert_cmpint (buffer->number, ==, seed); /* all have come, holes too */
    buffer->number = expected->number;          /* those of this run's own */
    buffer->sample = expected->sample;
    random_buffer_assert_equal (expected, buffer);
    hr_buffer_unref (buffer);
    n++;
  }
  g_assert_cmpuint (n, >, N_BUFFERS / 2);
  g_assert_null (pull (reader));
  finish (reader);
  g_thread_join (thread);
  finish (writer);
  hr_harness_assert_no_leaks ();
  g_assert_cmpuint (count_fds (), ==, fds_before);
}

/* a reader that wants no more than so many steps, or samples, of batches that another made */
static void
test_ends (void)
{
  static const char *const settings[] = { "steps=2", "limit=5" };

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    HrPipeline *writer, *reader;
    guint n = 0;
    int fds[2];

    ipc_pair (fds);
    writer = ipc_start ("fakesrc ! batch size=4 ! shmsink fd=%d", fds[0]);
    reader = ipc_start ("%s shmsrc fd=%d ! appsink", settings[i], fds[1]);
    for (HrBuffer *batch; (batch = pull (reader)) != NULL; n++)
      hr_buffer_unref (batch);
    g_assert_cmpuint (n, ==, 2);
    finish (reader);
    finish (writer);
    hr_harness_assert_no_leaks ();
  }
}

static char *
get_sum (HrPipeline *pipeline)
{
  g_autofree char *stats = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) node = json_from_string (stats, NULL);

  return g_strdup (json_object_get_string_member (json_node_get_object (node), "sha256"));
}

#define CHAIN "fakesrc num-buffers=403 size=6000 ! batch size=4 ! prefetchqueue max-batches=3"

static char *
sum_without (void)
{
  HrPipeline *pipeline = ipc_start ("checksum=true " CHAIN " ! fakesink");
  char *sum;

  g_assert_true (hr_pipeline_wait (pipeline, NULL));
  sum = get_sum (pipeline);
  g_object_unref (pipeline);
  return sum;
}

static gpointer
wait_for (gpointer pipeline)
{
  finish (pipeline);
  return NULL;
}

/* all readers see what a sink in the same process sees */
static void
test_readers (gconstpointer data)
{
  guint n = GPOINTER_TO_UINT (data);
  g_autofree char *address = new_address (), *expected = sum_without ();
  HrPipeline *writer =
      ipc_start ("checksum=true " CHAIN " ! shmsink address=%s readers=%u", address, n);
  g_autofree HrPipeline **readers = g_new (HrPipeline *, n);
  g_autofree char *sent = NULL;

  for (guint i = 0; i < n; i++)
    readers[i] = ipc_start ("checksum=true shmsrc address=%s ! fakesink", address);
  for (guint i = 0; i < n; i++) {
    g_autofree char *sum = NULL;

    g_assert_true (hr_pipeline_wait (readers[i], NULL));
    sum = get_sum (readers[i]);
    g_assert_cmpstr (sum, ==, expected);
    g_object_unref (readers[i]);
  }
  g_assert_true (hr_pipeline_wait (writer, NULL));
  sent = get_sum (writer);
  g_assert_cmpstr (sent, ==, expected);
  g_object_unref (writer);
  hr_harness_assert_no_leaks ();
}

typedef struct {
  HrPipeline *pipeline;
  guint rank, n_ranks;
  guint n_steps;
} Rank;

static gpointer
read_rank (gpointer data)
{
  Rank *rank = data;
  HrBuffer *buffer;

  while ((buffer = pull (rank->pipeline)) != NULL) {
    g_assert_cmpint (hr_buffer_get_member (buffer, 0)->sample, ==,
                     4 * (rank->n_steps * rank->n_ranks + rank->rank));
    g_assert_cmpint (buffer->number, ==, rank->n_steps++);
    hr_buffer_unref (buffer);
  }
  finish (rank->pipeline);
  return NULL;
}

/* each reader gets every n-th batch; what is not enough for all nobody gets, and that is said */
static void
test_ranks (void)
{
  g_autofree char *address = new_address ();
  HrPipeline *writer = ipc_start ("%s ! shmsink address=%s readers=3 share=rank", CHAIN, address);
  Rank ranks[3];
  GThread *threads[3];

  for (guint i = 0; i < 3; i++) {
    guint rank = 2 - i; /* they come in any order */

    ranks[rank] =
        (Rank){ ipc_start ("shmsrc address=%s reader=%u ! appsink", address, rank), rank, 3, 0 };
  }
  for (guint i = 0; i < 3; i++)
    threads[i] = g_thread_new ("rank", read_rank, &ranks[i]);
  for (guint i = 0; i < 3; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpuint (ranks[i].n_steps, ==, 33); /* of 101 batches */
  assert_warned (writer, "the last 2 batches");
  finish (writer);
  hr_harness_assert_no_leaks ();
}

/* ---- memory ---- */

static gint64
sum_copies (HrPipeline *pipeline, const char *factory)
{
  g_autofree char *stats = hr_pipeline_get_stats (pipeline);
  g_autoptr (JsonNode) node = json_from_string (stats, NULL);
  JsonArray *elements = json_object_get_array_member (json_node_get_object (node), "elements");

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    if (g_str_equal (json_object_get_string_member (element, "factory"), factory))
      return json_object_get_int_member (element, "bytes_copied");
  }
  g_assert_not_reached ();
}

static char *
write_records (const char *folder)
{
  static const char *const names[] = { "cat_420.jpg", "coffee_444.jpg", "gray.jpg", "la.png" };
  char *path = g_build_filename (folder, "a.jsonl", NULL);
  g_autoptr (GString) lines = g_string_new (NULL);

  for (guint i = 0; i < 12; i++)
    g_string_append_printf (lines,
                            "{\"image\": \"%s/golden/images/%s\", \"conversations\": [{\"from\": "
                            "\"human\", \"value\": \"<image>\\nWhat?\"}, {\"from\": \"gpt\", "
                            "\"value\": \"That.\"}]}\n",
                            HR_TEST_DATA, names[i % G_N_ELEMENTS (names)]);
  g_assert_true (g_file_set_contents (path, lines->str, -1, NULL));
  return path;
}

/* pixels are written once, into memory that the reader sees */
static void
test_no_copy (void)
{
  HrPipeline *writer, *reader;
  HrBuffer *buffer;
  g_autofree char *folder = g_dir_make_tmp (NULL, NULL), *lines = write_records (folder);
  gsize n_bytes = 0;
  guint n = 0;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("filesrc location=%s ! jsonlparse ! imagefetch allow-links=file ! "
                      "imagedecode ! resize ! batch "
                      "size=2 ! prefetchqueue ! shmsink fd=%d",
                      lines, fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! appsink", fds[1]);
  while ((buffer = pull (reader)) != NULL) {
    n += hr_list_get_length (hr_buffer_get_list (buffer, "images"));
    n_bytes += hr_buffer_get_n_bytes (buffer);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (n, >, 3);
  g_assert_true (hr_pipeline_wait (writer, NULL));
  g_assert_cmpint (sum_copies (writer, "resize"), ==, 0);
  g_assert_cmpint (sum_copies (writer, "batch"), ==, 0);
  /* sizes of images go in the message: some bytes of each sample */
  g_assert_cmpint (sum_copies (writer, "shmsink"), <, 50 * 12);
  g_assert_cmpuint (n_bytes, >, 1 << 20);
  finish (reader);
  g_object_unref (writer);
  hr_harness_assert_no_leaks ();
  g_unlink (lines);
  g_rmdir (folder);
}

/* what a program holds is what it was, whoever has ended meanwhile; and what is let go goes back */
static void
test_held (void)
{
  guint fds_before = count_fds ();
  HrPipeline *writer, *reader;
  GPtrArray *held = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  g_autoptr (GPtrArray) digests = g_ptr_array_new_with_free_func (g_free);
  HrBuffer *buffer;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start (CHAIN " ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d max-batches=1 ! appsink", fds[1]);
  while ((buffer = pull (reader)) != NULL) {
    if (buffer->number % 3 == 0) { /* the others' memory is written anew */
      g_ptr_array_add (held, buffer);
      g_ptr_array_add (digests, hr_buffer_get_digest (buffer));
    } else {
      hr_buffer_unref (buffer);
    }
  }
  finish (reader);
  finish (writer);
  g_assert_cmpuint (held->len, ==, 34);
  for (guint i = 0; i < held->len; i++) {
    g_autofree char *digest = hr_buffer_get_digest (held->pdata[i]);

    g_assert_cmpstr (digest, ==, digests->pdata[i]);
  }
  g_ptr_array_unref (held);
  hr_harness_assert_no_leaks ();
  g_assert_cmpuint (count_fds (), ==, fds_before);
}

/* memory is used again: a long run has few descriptors, and few blocks at once */
static void
test_flat (void)
{
  HrPipeline *writer, *reader;
  HrBuffer *buffer;
  guint most = 0, early = 0;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("fakesrc num-buffers=3000 size=10800 ! batch size=2 ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! appsink", fds[1]);
  while ((buffer = pull (reader)) != NULL) {
    guint n = count_fds ();

    if (buffer->number == 100)
      early = most;
    most = MAX (most, n);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (most, <=, early + 4);
  finish (reader);
  finish (writer);
  hr_harness_assert_no_leaks ();
}

/* no more is sent than has been granted: the batches that are there are granted, on the link, or in
 * hand */
static void
test_credits (void)
{
  g_autofree char *address = new_address ();
  HrPipeline *writer =
      ipc_start ("fakesrc num-buffers=500 ! batch size=1 ! shmsink address=%s readers=2", address);
  HrPipeline *quick = ipc_start ("shmsrc address=%s max-batches=5 ! fakesink", address);
  HrPipeline *slow = ipc_start ("shmsrc address=%s max-batches=2 ! appsink", address);
  HrBuffer *buffer;
  gint64 n = 0;

  while ((buffer = pull (slow)) != NULL) {
    g_autofree char *stats = hr_pipeline_get_stats (quick);
    g_autoptr (JsonNode) node = json_from_string (stats, NULL);
    gint64 n_quick = json_object_get_int_member (json_node_get_object (node), "steps");

    n++;
    g_assert_cmpint (n_quick, <=, n + 2 + 1 + 1 + 1);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpint (n, ==, 500);
  finish (slow);
  finish (quick);
  finish (writer);
}

/* ---- what is told ---- */

#define BAD "fakesrc num-buffers=200 ! fault seed=3 error-rate=0.1 on-error=skip ! batch size=4"

static gint64
count_skipped (HrPipeline *pipeline, guint *n_messages)
{
  g_autofree char *stats = NULL;
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (GList) kinds = NULL;
  JsonObject *skipped;
  HrMessage *message;
  gint64 n = 0;

  *n_messages = 0;
  while ((message = hr_pipeline_pop_message (pipeline, -1)) != NULL) {
    if (message->type == HR_MESSAGE_SKIPPED) {
      g_assert_true (g_pattern_match_simple ("fault \"fault0\": *", message->error->message));
      (*n_messages)++;
    }
    hr_message_unref (message);
  }
  stats = hr_pipeline_get_stats (pipeline);
  node = json_from_string (stats, NULL);
  skipped = json_object_get_object_member (json_node_get_object (node), "skipped");
  kinds = json_object_get_values (skipped);
  for (GList *each = kinds; each != NULL; each = each->next)
    n += json_node_get_int (each->data);
  return n;
}

/* what was skipped over there is counted and told over here */
static void
test_skipped (void)
{
  HrPipeline *writer, *reader;
  guint n_written, n_read;
  gint64 n;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start (BAD " ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! fakesink", fds[1]);
  n = count_skipped (reader, &n_read);
  g_assert_cmpint (n, ==, count_skipped (writer, &n_written));
  g_assert_cmpint (n, >, 10);
  g_assert_cmpuint (n_read, ==, n);
  g_assert_cmpuint (n_written, ==, n);
  finish (reader);
  finish (writer);
  hr_harness_assert_no_leaks ();
}

#define ORDERED                                                                                    \
  "filesrc location=" HR_TEST_DATA "/records/conversations_qwen.jsonl"                             \
  " shuffle=full seed=5 epochs=2 ! jsonlparse ! batch size=3"

/* the place behind a batch is that of the writer, word for word */
static void
test_checkpoint (void)
{
  HrPipeline *plain = ipc_start (ORDERED " ! appsink"), *writer, *reader;
  HrBuffer *buffer;
  guint n = 0;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start (ORDERED " ! prefetchqueue ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! identity ! appsink", fds[1]);
  while ((buffer = pull (reader)) != NULL) {
    g_autoptr (HrBuffer) own = pull (plain);
    g_autoptr (GError) error = NULL;
    g_autofree char *there = hr_pipeline_get_checkpoint (reader, buffer, &error);
    g_autofree char *here = NULL, *before = NULL;

    g_assert_no_error (error);
    here = hr_pipeline_get_checkpoint (plain, own, &error);
    g_assert_cmpstr (there, ==, here);
    g_assert_cmpint (buffer->epoch, ==, own->epoch);
    g_assert_cmpint (buffer->place, ==, own->place);
    before = hr_pipeline_get_checkpoint (reader, NULL, &error);
    if (n++ == 0)
      g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
    else
      g_assert_nonnull (before);
    hr_buffer_unref (buffer);
  }
  g_assert_cmpuint (n, >, 4);
  g_assert_null (pull (plain));
  finish (plain);
  finish (reader);
  finish (writer);
  hr_harness_assert_no_leaks ();
}

/* where the writer cannot tell, it says why */
static void
test_no_checkpoint (void)
{
  HrPipeline *writer, *reader;
  g_autoptr (HrBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("fakesrc num-buffers=2 ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! appsink", fds[1]);
  buffer = pull (reader);
  g_assert_null (hr_pipeline_get_checkpoint (reader, buffer, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE);
  g_assert_nonnull (strstr (error->message, "fakesrc"));
  hr_pipeline_stop (reader);
  finish (reader);
  finish (writer);
}

/* ---- ends ---- */

/* at the second batch: a reader that has not been let in yet could not be told */
static void
check_writer_fails (const char *settings, GQuark domain, gint code, const char *pattern)
{
  HrPipeline *writer, *reader;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("appsrc name=in ! fault seed=3 error-rate=0.5 kind=overlong ! shmsink fd=%d",
                      fds[0]);
  reader = ipc_start ("%s shmsrc fd=%d ! appsink", settings, fds[1]);
  g_assert_true (hr_pipeline_push (writer, "in", hr_buffer_new (), NULL));
  hr_buffer_unref (pull (reader));
  g_assert_true (hr_pipeline_push (writer, "in", hr_buffer_new (), NULL));
  expect_error (writer, HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG, "fault \"fault0\": *");
  expect_error (reader, domain, code, pattern);
}

static void
test_writer_fails (void)
{
  check_writer_fails ("on-error=skip", HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                      "shmsrc \"shmsrc0\": *the writer has failed*");
  check_writer_fails ("", HR_DATA_ERROR, HR_DATA_ERROR_OVERLONG,
                      "shmsrc \"shmsrc0\": the writer (process *), after 1 batches: it has failed: "
                      "fault \"fault0\": *");
}

static void
test_writer_is_stopped (void)
{
  HrPipeline *writer, *reader;
  int fds[2];

  ipc_pair (fds);
  writer = ipc_start ("fakesrc num-buffers=100000 ! shmsink fd=%d", fds[0]);
  reader = ipc_start ("shmsrc fd=%d ! appsink", fds[1]);
  hr_buffer_unref (pull (reader));
  hr_pipeline_stop (writer);
  finish (writer);
  for (HrBuffer *buffer; (buffer = hr_pipeline_pull (reader, NULL)) != NULL;)
    hr_buffer_unref (buffer);
  expect_error (reader, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "*it was stopped before its end*");
}

static void
test_reader_leaves (void)
{
  HrPipeline *writer, *reader, *other;
  g_autofree char *address = new_address ();

  writer = ipc_start ("fakesrc num-buffers=100000 ! shmsink address=%s readers=2", address);
  reader = ipc_start ("shmsrc address=%s ! appsink", address);
  other = ipc_start ("shmsrc address=%s ! fakesink", address);
  hr_buffer_unref (pull (reader));
  hr_pipeline_stop (reader);
  finish (reader);
  assert_warned (writer, "takes no more after");
  finish (writer);
  expect_error (other, HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "*it was stopped before its end*");
}

static gpointer
stop_soon (gpointer pipeline)
{
  g_usleep (20000);
  hr_pipeline_stop (pipeline);
  return NULL;
}

/* every wait is left */
static void
test_stop_waiting (void)
{
  static const char *const texts[] = { "fakesrc ! shmsink address=%s",
                                       "serial=true fakesrc ! shmsink address=%s readers=2",
                                       "shmsrc address=%s ! fakesink",
                                       "serial=true shmsrc address=%s ! fakesink" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autofree char *address = new_address ();
    g_autoptr (GString) text = g_string_new (texts[i]);
    HrPipeline *pipeline;
    GThread *thread;

    g_string_replace (text, "%s", address, 0);
    pipeline = ipc_start ("%s", text->str);
    thread = g_thread_new ("stop", stop_soon, pipeline);
    g_assert_true (hr_pipeline_wait (pipeline, NULL));
    g_thread_join (thread);
    g_object_unref (pipeline);
  }
  /* a reader that has stopped reading */
  {
    g_autofree char *address = new_address ();
    HrPipeline *writer = ipc_start ("fakesrc ! shmsink address=%s", address),
               *reader = ipc_start ("shmsrc address=%s ! appsink", address);
    GThread *thread;

    hr_buffer_unref (pull (reader));
    thread = g_thread_new ("stop", stop_soon, writer);
    g_assert_true (hr_pipeline_wait (writer, NULL));
    g_thread_join (thread);
    g_object_unref (writer);
    hr_pipeline_stop (reader);
    g_object_unref (reader);
  }
  hr_harness_assert_no_leaks ();
}

/* readers that come when there is nothing more to read hear that as well */
static void
test_nothing (void)
{
  g_autofree char *address = new_address ();
  HrPipeline *writer = ipc_start ("fakesrc num-buffers=0 ! shmsink address=%s", address), *reader;
  GThread *thread = g_thread_new ("wait", wait_for, writer);

  reader = ipc_start ("shmsrc address=%s ! appsink", address);
  g_assert_null (pull (reader));
  finish (reader);
  g_thread_join (thread);
}

static void
test_turned_away (void)
{
  g_autofree char *address = new_address ();
  HrPipeline *writer = ipc_start ("fakesrc num-buffers=1000 ! shmsink address=%s", address),
             *reader = ipc_start ("shmsrc address=%s ! appsink", address), *other;

  hr_buffer_unref (pull (reader));
  other = ipc_start ("shmsrc address=%s ! fakesink", address);
  expect_error (other, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
                "*all its 1 readers are there already");
  other = ipc_start ("shmsrc address=%s reader=0 ! fakesink", address);
  expect_error (other, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
                "*that one is there already");
  other = ipc_start ("shmsrc address=%s reader=7 ! fakesink", address);
  expect_error (other, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
                "*there is no reader 7: it has readers=1*");
  hr_pipeline_stop (reader);
  finish (reader);
  finish (writer);
}

static void
test_settings (void)
{
  static const struct {
    const char *text, *pattern;
  } cases[] = { { "fakesrc ! shmsink", "*either address, a name, or fd*" },
                { "fakesrc ! shmsink address=a fd=3", "*either address, a name, or fd*" },
                { "fakesrc ! shmsink fd=3 readers=2", "*for one reader*" },
                { "shmsrc ! fakesink", "*either address, a name, or fd*" } };
  int null = g_open ("/dev/null", O_RDONLY | O_CLOEXEC);
  g_autofree char *address = new_address ();
  HrPipeline *pipeline, *reader;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_assert_null (hr_parse_launch (cases[i].text, &error));
    g_assert_true (g_pattern_match_simple (cases[i].pattern, error->message));
    g_clear_error (&error);
  }
  reader = ipc_start ("shmsrc fd=%d ! fakesink", null);
  expect_error (reader, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                "*is no connected unix socket*");
  reader = ipc_start ("shmsrc address=%s timeout=10ms ! fakesink", address);
  expect_error (reader, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT,
                "*nobody has had that name on this machine; start the pipeline with *");
  pipeline = ipc_start ("fakesrc ! shmsink address=%s", address);
  {
    g_autofree char *text = g_strdup_printf ("fakesrc ! shmsink address=%s", address);
    g_autoptr (HrPipeline) second = hr_parse_launch (text, NULL);

    g_assert_false (hr_pipeline_start (second, &error));
    g_assert_true (g_pattern_match_simple ("*uses that name already*", error->message));
  }
  hr_pipeline_stop (pipeline);
  finish (pipeline);
}

/* a writer that has no descriptor for its reader says so, and does not try for ever */
static void
test_no_descriptor (void)
{
  g_autofree char *name = new_address ();
  HrPipeline *writer = ipc_start ("appsrc ! shmsink address=%s", name);
  IpcVisitor visitor = ipc_come_to_closed_door (name);

  expect_error (writer, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                "shmsink \"shmsink0\": a reader cannot be let in: Too many open files;*");
  ipc_leave (&visitor);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/shm/random", "", test_random);
  g_test_add_data_func ("/shm/random/serial", "serial=true", test_random);
  g_test_add_data_func ("/shm/readers/1", GUINT_TO_POINTER (1), test_readers);
  g_test_add_data_func ("/shm/readers/3", GUINT_TO_POINTER (3), test_readers);
  g_test_add_func ("/shm/ends", test_ends);
  g_test_add_func ("/shm/ranks", test_ranks);
  g_test_add_func ("/shm/no-copy", test_no_copy);
  g_test_add_func ("/shm/held", test_held);
  g_test_add_func ("/shm/flat", test_flat);
  g_test_add_func ("/shm/credits", test_credits);
  g_test_add_func ("/shm/skipped", test_skipped);
  g_test_add_func ("/shm/checkpoint", test_checkpoint);
  g_test_add_func ("/shm/no-checkpoint", test_no_checkpoint);
  g_test_add_func ("/shm/writer-fails", test_writer_fails);
  g_test_add_func ("/shm/writer-is-stopped", test_writer_is_stopped);
  g_test_add_func ("/shm/reader-leaves", test_reader_leaves);
  g_test_add_func ("/shm/stop-waiting", test_stop_waiting);
  g_test_add_func ("/shm/nothing", test_nothing);
  g_test_add_func ("/shm/no-descriptor", test_no_descriptor);
  g_test_add_func ("/shm/turned-away", test_turned_away);
  g_test_add_func ("/shm/settings", test_settings);
  return g_test_run ();
}
