/* test-pipe.c: pipesink and pipesrc: the same buffers at the other end of a socket, or an error
 * that says why not */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "hr-harness.h"
#include "ipc-run.h"

#define WRITER "fakesrc num-buffers=40 size=9KiB ! batch size=3 ! prefetchqueue"

static gpointer
wait_for (gpointer pipeline)
{
  return GINT_TO_POINTER (hr_pipeline_wait (pipeline, NULL));
}

/* what can be known of a buffer from outside */
static char *
describe (HrBuffer *buffer)
{
  g_autofree char *digest = hr_buffer_get_digest (buffer);
  GString *text = g_string_new (digest);

  g_string_append_printf (text, " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %u %u", buffer->number,
                          buffer->place, buffer->epoch, buffer->flags);
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++) {
    HrBuffer *member = hr_buffer_get_member (buffer, i);
    const HrOrigin *origin = hr_buffer_get_origin (member);
    const GError *error = hr_buffer_get_error (member);
    g_autofree char *where = origin != NULL ? hr_origin_to_string (origin) : NULL;

    g_string_append_printf (text, " [%u %s %s]", member->flags, where != NULL ? where : "-",
                            error != NULL ? error->message : "-");
  }
  return g_string_free (text, FALSE);
}

/* one line each; @checkpoints: … with where the run is behind it */
static GPtrArray *
pull_all (HrPipeline *pipeline, gboolean checkpoints, GError **error)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  HrBuffer *buffer;

  while ((buffer = hr_pipeline_pull (pipeline, error)) != NULL) {
    g_autofree char *line = describe (buffer);
    g_autofree char *document =
        checkpoints ? hr_pipeline_get_checkpoint (pipeline, buffer, NULL) : NULL;

    g_assert_true (document != NULL || !checkpoints);
    g_ptr_array_add (lines, g_strconcat (line, document, NULL));
    hr_buffer_unref (buffer);
  }
  return lines;
}

static void
assert_same (GPtrArray *got, GPtrArray *wanted)
{
  g_assert_cmpuint (got->len, ==, wanted->len);
  for (guint i = 0; i < got->len; i++)
    g_assert_cmpstr (got->pdata[i], ==, wanted->pdata[i]);
}

static void
check_same (const char *text, gboolean checkpoints, guint n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) wanted = NULL, got = NULL;
  int fds[2];

  {
    g_autoptr (HrPipeline) direct = ipc_start ("%s ! appsink", text);

    wanted = pull_all (direct, checkpoints, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (wanted->len, ==, n);
  }
  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer = ipc_start ("%s ! pipesink fd=%d", text, fds[0]);
    g_autoptr (HrPipeline) reader = ipc_start ("pipesrc fd=%d ! appsink", fds[1]);

    got = pull_all (reader, checkpoints, &error);
    g_assert_no_error (error);
    g_assert_true (hr_pipeline_wait (writer, &error));
    g_assert_no_error (error);
    assert_same (got, wanted);
  }
  hr_harness_assert_no_leaks ();
  /* both are closed */
  g_assert_true (send (fds[0], "", 1, MSG_NOSIGNAL) < 0 && errno == EBADF);
  g_assert_true (send (fds[1], "", 1, MSG_NOSIGNAL) < 0 && errno == EBADF);
}

static void
test_same (void)
{
  check_same (WRITER, FALSE, 14);
  check_same ("serial=true " WRITER, FALSE, 14);
  check_same ("fakesrc num-buffers=5", FALSE, 5);
  check_same ("fakesrc num-buffers=0", FALSE, 0);
  /* more than a socket holds, many times over */
  check_same ("fakesrc num-buffers=6 size=3MiB ! batch size=2", FALSE, 3);
  check_same ("on-error=skip fakesrc num-buffers=40 ! identity error-every=7 ! batch size=4", FALSE,
              10);
}

/* records of files: where they come from, and where the run is behind each batch */
static void
test_records (void)
{
  g_autofree char *folder = g_dir_make_tmp ("test-pipe-XXXXXX", NULL);
  g_autofree char *file = g_build_filename (folder, "a.jsonl", NULL);
  g_autofree char *text =
      g_strdup_printf ("on-error=skip filesrc location=%s/ shuffle=full epochs=2 "
                       "! jsonlparse ! batch size=2 ! prefetchqueue",
                       folder);
  GString *lines = g_string_new (NULL);

  for (guint i = 0; i < 9; i++)
    g_string_append_printf (
        lines,
        i == 4 ? "{broken\n"
               : "{\"id\": \"r%u\", \"messages\": [{\"role\": \"user\", \"content\": "
                 "\"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}]}\n",
        i);
  g_assert_true (g_file_set_contents (file, lines->str, -1, NULL));
  check_same (text, TRUE, 10);
  g_string_free (lines, TRUE);
  unlink (file);
  rmdir (folder);
}

/* the reader comes first, and the writer's name is not there yet */
static void
test_address (void)
{
  g_autofree char *name = g_strdup_printf ("test-pipe-%d", (int)getpid ());
  g_autoptr (HrPipeline) reader = ipc_start ("pipesrc address=%s ! appsink", name);
  g_autoptr (HrPipeline) writer = NULL, other = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_strdup_printf ("fakesrc ! pipesink address=%s", name);
  g_autoptr (GPtrArray) lines = NULL;

  g_usleep (50000);
  writer = ipc_start ("appsrc name=in ! pipesink address=%s", name);
  other = hr_parse_launch (text, &error);
  g_assert_no_error (error);
  g_assert_false (hr_pipeline_start (other, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT);
  g_assert_nonnull (strstr (error->message, "uses that name already"));
  g_clear_error (&error);
  /* only now it lets the reader in, and gives up its name */
  for (guint i = 0; i < 3; i++)
    g_assert_true (hr_pipeline_push (writer, "in", hr_buffer_new (), NULL));
  hr_pipeline_end (writer, "in");
  lines = pull_all (reader, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (lines->len, ==, 3);
}

/* who comes second is told, and does not wait */
static void
test_second_reader (void)
{
  g_autofree char *name = g_strdup_printf ("test-pipe-second-%d", (int)getpid ());
  g_autoptr (HrPipeline) writer = ipc_start ("fakesrc ! pipesink address=%s", name);
  g_autoptr (HrPipeline) reader = ipc_start ("pipesrc address=%s ! appsink", name);
  g_autoptr (HrPipeline) second = NULL;
  g_autoptr (HrBuffer) buffer = hr_pipeline_pull (reader, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (buffer);
  second = ipc_start ("pipesrc address=%s timeout=50ms ! appsink", name);
  g_assert_null (hr_pipeline_pull (second, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT);
  hr_pipeline_stop (writer);
}

/* a writer that has no descriptor for its reader says so, and does not try for ever */
static void
test_no_descriptor (void)
{
  g_autofree char *name = g_strdup_printf ("test-pipe-door-%d", (int)getpid ());
  HrPipeline *writer = ipc_start ("fakesrc ! pipesink address=%s", name);
  IpcVisitor visitor = ipc_come_to_closed_door (name);
  g_autoptr (GError) error = NULL;

  g_assert_false (hr_pipeline_wait (writer, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT);
  g_assert_nonnull (strstr (error->message, "a reader cannot be let in: Too many open files"));
  g_object_unref (writer);
  ipc_leave (&visitor);
}

static void
test_nobody (void)
{
  g_autoptr (HrPipeline) reader =
      ipc_start ("pipesrc address=nobody-has-this timeout=50ms ! appsink");
  g_autoptr (GError) error = NULL;

  g_assert_null (hr_pipeline_pull (reader, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_TIMEOUT);
  g_assert_nonnull (strstr (error->message, "pipesink address=nobody-has-this"));
}

static void
check_refused (const char *text, gboolean when_started, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

  if (pipeline != NULL)
    hr_pipeline_start (pipeline, &error);
  g_assert_nonnull (error);
  g_assert_true (when_started || error->domain == HR_PARSE_ERROR);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_refused (void)
{
  check_refused ("fakesrc ! pipesink", FALSE, "set either address");
  check_refused ("fakesrc ! pipesink address=a fd=3", FALSE, "set either address");
  check_refused ("pipesrc ! fakesink", FALSE, "set either address");
  check_refused ("fakesrc ! pipesink fd=0", TRUE, "no connected unix socket");
  check_refused ("pipesrc fd=99999 ! fakesink", TRUE, "no connected unix socket");
}

/* the writer's run fails: its error is the reader's, behind what had been sent */
static void
test_failure (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) lines = NULL;
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer = ipc_start (
        "fakesrc num-buffers=40 ! identity error-after=20 ! batch size=4 ! pipesink fd=%d", fds[0]);
    GThread *owner = g_thread_new ("owner", wait_for, writer);
    g_autoptr (HrPipeline) reader = ipc_start ("pipesrc fd=%d ! appsink", fds[1]);

    lines = pull_all (reader, FALSE, &error);
    g_assert_cmpuint (lines->len, <=, 5);
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_OTHER);
    g_assert_nonnull (strstr (error->message, "identity0"));
    g_assert_false (GPOINTER_TO_INT (g_thread_join (owner)));
  }
  hr_harness_assert_no_leaks ();
}

/* a bad sample that ended the writer's run is none here that could be skipped */
static void
test_failure_no_skip (void)
{
  g_autoptr (GError) error = NULL;
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer =
        ipc_start ("fakesrc num-buffers=9 ! identity error-after=2 ! pipesink fd=%d", fds[0]);
    GThread *owner = g_thread_new ("owner", wait_for, writer);
    g_autoptr (HrPipeline) reader = ipc_start ("on-error=skip pipesrc fd=%d ! fakesink", fds[1]);

    g_assert_false (hr_pipeline_wait (reader, &error));
    g_assert_nonnull (error);
    g_assert_false (GPOINTER_TO_INT (g_thread_join (owner)));
  }
  hr_harness_assert_no_leaks ();
}

/* stopped, it says so: it has not come to its end */
static void
test_stopped (void)
{
  g_autoptr (GError) error = NULL;
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer = ipc_start ("fakesrc ! batch size=4 ! pipesink fd=%d", fds[0]);
    GThread *owner = g_thread_new ("owner", wait_for, writer);
    g_autoptr (HrPipeline) reader = ipc_start ("pipesrc fd=%d ! appsink", fds[1]);
    HrBuffer *buffer = hr_pipeline_pull (reader, &error);

    g_assert_no_error (error);
    hr_buffer_unref (buffer);
    hr_pipeline_stop (writer);
    while ((buffer = hr_pipeline_pull (reader, &error)) != NULL)
      hr_buffer_unref (buffer);
    g_assert_nonnull (error);
    g_assert_true (GPOINTER_TO_INT (g_thread_join (owner)));
  }
  hr_harness_assert_no_leaks ();
}

/* nobody reads: stop() gets through all the same; and so it does where nobody writes */
static void
test_stop_waiting (void)
{
  g_autofree char *name = g_strdup_printf ("test-pipe-stop-%d", (int)getpid ());
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) full = ipc_start ("fakesrc size=1MiB ! pipesink fd=%d", fds[0]);
    g_autoptr (HrPipeline) lonely = ipc_start ("fakesrc ! pipesink address=%s", name);
    g_autoptr (HrPipeline) looking = ipc_start ("pipesrc address=%s-nobody ! fakesink", name);

    g_usleep (20000);
    hr_pipeline_stop (full);
    hr_pipeline_stop (lonely);
    hr_pipeline_stop (looking);
    g_assert_true (hr_pipeline_wait (full, NULL));
    g_assert_true (hr_pipeline_wait (lonely, NULL));
    g_assert_true (hr_pipeline_wait (looking, NULL));
  }
  close (fds[1]);
  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) idle = ipc_start ("pipesrc fd=%d ! fakesink", fds[0]);

    g_usleep (20000);
    hr_pipeline_stop (idle);
    g_assert_true (hr_pipeline_wait (idle, NULL));
  }
  close (fds[1]);
  hr_harness_assert_no_leaks ();
}

/* ---- ends that die ---- */

static void
check_reader_gone (gsize after)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *bytes = g_malloc (after + 1);
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer =
        ipc_start ("fakesrc size=300KiB ! batch size=4 ! pipesink fd=%d", fds[0]);

    g_assert_cmpint (recv (fds[1], bytes, after, MSG_WAITALL), ==, after);
    close (fds[1]);
    g_assert_false (hr_pipeline_wait (writer, &error));
    g_assert_cmpint (error->domain, ==, HR_RESOURCE_ERROR);
    g_assert_nonnull (strstr (error->message, "the reader has left or was killed"));
  }
  hr_harness_assert_no_leaks ();
}

static void
test_reader_gone (void)
{
  check_reader_gone (0);
  check_reader_gone (17);
  check_reader_gone (2 << 20);
}

/* all bytes of a whole run, as a reader gets them */
static GByteArray *
record (const char *text)
{
  GByteArray *all = g_byte_array_new ();
  guint8 bytes[65536];
  gssize n;
  int fds[2];

  ipc_pair (fds);
  {
    g_autoptr (HrPipeline) writer = ipc_start ("%s ! pipesink fd=%d", text, fds[0]);
    GThread *owner = g_thread_new ("owner", wait_for, writer);

    while ((n = recv (fds[1], bytes, sizeof bytes, 0)) > 0)
      g_byte_array_append (all, bytes, (guint)n);
    g_assert_true (GPOINTER_TO_INT (g_thread_join (owner)));
  }
  close (fds[1]);
  return all;
}

/* what a reader says to @size bytes, behind which the writer is gone; how many buffers it took */
static guint
play (const guint8 *bytes, gsize size, GError **error)
{
  g_autoptr (HrPipeline) reader = NULL;
  g_autoptr (GPtrArray) lines = NULL;
  int fds[2], room = 1 << 20;

  ipc_pair (fds);
  setsockopt (fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  g_assert_cmpint (send (fds[0], bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT), ==, size);
  close (fds[0]);
  reader = ipc_start ("pipesrc fd=%d max-bytes=64MiB ! appsink", fds[1]);
  lines = pull_all (reader, FALSE, error);
  return lines->len;
}

#define SMALL_RUN "fakesrc num-buffers=4 size=64 ! batch size=2"

static guint32
get_u32 (const guint8 *bytes)
{
  return (guint32)bytes[0] | (guint32)bytes[1] << 8 | (guint32)bytes[2] << 16
         | (guint32)bytes[3] << 24;
}

/* cut anywhere: the end that did not come is missed, and nothing is taken that was not whole. A run
 * that fails may lose what it has not yet handed out. */
static void
test_cut (void)
{
  g_autoptr (GByteArray) all = record (SMALL_RUN);
  guint first = get_u32 (all->data + 8), second = first + get_u32 (all->data + first + 8);

  g_assert_cmpuint (second, <, all->len);
  for (guint size = 0; size < all->len; size += 17 + size % 5) {
    g_autoptr (GError) error = NULL;
    guint n = play (all->data, size, &error);

    g_assert_cmpuint (n, <=, size < first ? 0 : size < second ? 1 : 2);
    g_assert_nonnull (error);
    g_assert_cmpint (error->domain, ==, HR_RESOURCE_ERROR);
  }
  hr_harness_assert_no_leaks ();
}

/* no byte of the first header and description can be another without being noticed */
static void
test_wrong_byte (void)
{
  g_autoptr (GByteArray) all = record (SMALL_RUN);
  guint checked = 32 + get_u32 (all->data + 16);

  g_assert_cmpuint (checked, <, all->len);
  for (guint i = 0; i < checked; i += 11) {
    g_autoptr (GError) error = NULL;

    all->data[i] ^= (guint8)(1u << i % 8);
    g_assert_cmpuint (play (all->data, all->len, &error), ==, 0);
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    all->data[i] ^= (guint8)(1u << i % 8);
  }
  g_assert_cmpuint (play (all->data, all->len, NULL), ==, 2);
  hr_harness_assert_no_leaks ();
}

/* messages that are lost, or not of this kind of socket */
static void
test_wrong_message (void)
{
  g_autoptr (GByteArray) all = record (SMALL_RUN);
  guint first = get_u32 (all->data + 8);
  g_autoptr (GError) error = NULL;

  /* the end counts what was sent */
  g_assert_cmpuint (play (all->data + first, all->len - first, &error), <=, 1);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  g_assert_nonnull (strstr (error->message, "1 buffers have come, 2 were sent"));
  g_clear_error (&error);
  g_assert_cmpuint (play ((const guint8 *)"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35, &error),
                    ==, 0);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  hr_harness_assert_no_leaks ();
}

/* ---- other processes, killed ---- */

static GPid
spawn (const char *pipeline)
{
  const char *argv[] = { HR_LAUNCH, "-q", pipeline, NULL };
  g_autoptr (GError) error = NULL;
  GPid pid;

  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &pid, &error);
  g_assert_no_error (error);
  return pid;
}

static void
kill_and_reap (GPid pid)
{
  int status;

  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFSIGNALED (status));
}

static void
test_writer_killed (void)
{
  for (guint n = 0; n < 4; n++) {
    g_autofree char *name = g_strdup_printf ("test-pipe-writer-%d-%u", (int)getpid (), n);
    g_autofree char *text =
        g_strdup_printf ("fakesrc size=200KiB ! batch size=4 ! pipesink address=%s", name);
    GPid pid = spawn (text);
    g_autoptr (HrPipeline) reader = ipc_start ("pipesrc address=%s ! appsink", name);
    g_autoptr (GError) error = NULL;
    HrBuffer *buffer;

    for (guint i = 0; i <= n; i++) {
      buffer = hr_pipeline_pull (reader, &error);
      g_assert_no_error (error);
      hr_buffer_unref (buffer);
    }
    kill_and_reap (pid);
    while ((buffer = hr_pipeline_pull (reader, &error)) != NULL)
      hr_buffer_unref (buffer);
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  }
  hr_harness_assert_no_leaks ();
}

static void
test_reader_killed (void)
{
  for (guint n = 0; n < 4; n++) {
    g_autofree char *name = g_strdup_printf ("test-pipe-reader-%d-%u", (int)getpid (), n);
    g_autofree char *text = g_strdup_printf ("pipesrc address=%s ! fakesink", name);
    g_autoptr (HrPipeline) writer =
        ipc_start ("fakesrc size=200KiB ! batch size=4 ! tee name=t t. ! pipesink address=%s t. ! "
                   "appsink",
                   name);
    GPid pid = spawn (text);
    g_autoptr (GError) error = NULL;
    HrBuffer *buffer;

    for (guint i = 0; i < 8 + n; i++) { /* the other branch has no more than its queue ahead */
      buffer = hr_pipeline_pull (writer, &error);
      g_assert_no_error (error);
      hr_buffer_unref (buffer);
    }
    kill_and_reap (pid);
    while ((buffer = hr_pipeline_pull (writer, &error)) != NULL)
      hr_buffer_unref (buffer);
    g_assert_cmpint (error->domain, ==, HR_RESOURCE_ERROR);
    g_assert_nonnull (strstr (error->message, "the reader has left or was killed"));
  }
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pipe/same", test_same);
  g_test_add_func ("/pipe/records", test_records);
  g_test_add_func ("/pipe/address", test_address);
  g_test_add_func ("/pipe/second-reader", test_second_reader);
  g_test_add_func ("/pipe/no-descriptor", test_no_descriptor);
  g_test_add_func ("/pipe/nobody", test_nobody);
  g_test_add_func ("/pipe/refused", test_refused);
  g_test_add_func ("/pipe/failure", test_failure);
  g_test_add_func ("/pipe/failure-no-skip", test_failure_no_skip);
  g_test_add_func ("/pipe/stopped", test_stopped);
  g_test_add_func ("/pipe/stop-waiting", test_stop_waiting);
  g_test_add_func ("/pipe/reader-gone", test_reader_gone);
  g_test_add_func ("/pipe/cut", test_cut);
  g_test_add_func ("/pipe/wrong-byte", test_wrong_byte);
  g_test_add_func ("/pipe/wrong-message", test_wrong_message);
  g_test_add_func ("/pipe/writer-killed", test_writer_killed);
  g_test_add_func ("/pipe/reader-killed", test_reader_killed);
  return g_test_run ();
}
