/* s3-process.c: keys that a program prints: credential_process */
#include "s3-process.h"
#include "hr-error.h"
#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 60
#define STDOUT_BYTES (64 * 1024)
#define STDERR_BYTES 1000
#define READ_BYTES 4096

typedef struct {
  GSubprocess *process;
  GCancellable *cancellable;
  guint n_open; /* its pipes, and the program itself */
  gboolean stopped;
  gboolean late;
  gboolean large;
  GString *output;
  GString *complaint; /* the end of it */
  gboolean cut;
} Run;

static void
on_end (GObject *process, GAsyncResult *result, gpointer data)
{
  (void)g_subprocess_wait_finish (G_SUBPROCESS (process), result, NULL);
  ((Run *)data)->n_open--;
}

static void
on_output (GObject *stream, GAsyncResult *result, gpointer data)
{
  Run *run = data;
  g_autoptr (GBytes) bytes =
      g_input_stream_read_bytes_finish (G_INPUT_STREAM (stream), result, NULL);
  gsize size = bytes ? g_bytes_get_size (bytes) : 0;

  if (size > 0)
    g_string_append_len (run->output, g_bytes_get_data (bytes, NULL), (gssize)size);
  run->large = run->output->len > STDOUT_BYTES;
  if (size > 0 && !run->large)
    g_input_stream_read_bytes_async (G_INPUT_STREAM (stream), READ_BYTES, G_PRIORITY_DEFAULT,
                                     run->cancellable, on_output, run);
  else
    run->n_open--;
}

static void
on_complaint (GObject *stream, GAsyncResult *result, gpointer data)
{
  Run *run = data;
  g_autoptr (GBytes) bytes =
      g_input_stream_read_bytes_finish (G_INPUT_STREAM (stream), result, NULL);
  gsize size = bytes ? g_bytes_get_size (bytes) : 0;

  if (size == 0) {
    run->n_open--;
    return;
  }
  g_string_append_len (run->complaint, g_bytes_get_data (bytes, NULL), (gssize)size);
  if (run->complaint->len > STDERR_BYTES) {
    g_string_erase (run->complaint, 0, (gssize)(run->complaint->len - STDERR_BYTES));
    run->cut = TRUE;
  }
  g_input_stream_read_bytes_async (G_INPUT_STREAM (stream), READ_BYTES, G_PRIORITY_DEFAULT,
                                   run->cancellable, on_complaint, run);
}

static gboolean
on_wake (int fd G_GNUC_UNUSED, GIOCondition condition G_GNUC_UNUSED, gpointer data)
{
  ((Run *)data)->stopped = TRUE;
  return G_SOURCE_REMOVE;
}

static gboolean
on_timeout (gpointer data)
{
  ((Run *)data)->late = TRUE;
  return G_SOURCE_REMOVE;
}

static void
add_source (GMainContext *context, GSource *source, GSourceFunc func, Run *run)
{
  g_source_set_callback (source, func, run, NULL);
  g_source_attach (source, context);
  g_source_unref (source);
}

/* A session of its own: it can be ended with all its children, and a program that wants to ask for
 * a password at the terminal fails at once. */
static void
leave_session (gpointer unused G_GNUC_UNUSED)
{
  (void)setsid ();
}

static void
kill_all (GSubprocess *process)
{
  const char *pid = g_subprocess_get_identifier (process);

  if (pid)
    (void)kill (-atoi (pid), SIGKILL);
  g_subprocess_force_exit (process);
}

/* until it ends, is late or is stopped; its own context, which is no other's business */
static void
wait_for_end (Run *run, int wake_fd)
{
  g_autoptr (GMainContext) context = g_main_context_new ();

  g_main_context_push_thread_default (context);
  if (wake_fd >= 0)
    add_source (context, g_unix_fd_source_new (wake_fd, G_IO_IN), G_SOURCE_FUNC (on_wake), run);
  add_source (context, g_timeout_source_new_seconds (TIMEOUT_SECONDS), on_timeout, run);
  run->n_open = 3;
  g_input_stream_read_bytes_async (g_subprocess_get_stdout_pipe (run->process), READ_BYTES,
                                   G_PRIORITY_DEFAULT, run->cancellable, on_output, run);
  g_input_stream_read_bytes_async (g_subprocess_get_stderr_pipe (run->process), READ_BYTES,
                                   G_PRIORITY_DEFAULT, run->cancellable, on_complaint, run);
  g_subprocess_wait_async (run->process, run->cancellable, on_end, run);
  while (run->n_open > 0 && !run->stopped && !run->late && !run->large)
    g_main_context_iteration (context, TRUE);
  if (run->n_open > 0) {
    kill_all (run->process);
    /* a child that went elsewhere may hold the pipes open: nothing is read any more */
    g_cancellable_cancel (run->cancellable);
    while (run->n_open > 0)
      g_main_context_iteration (context, TRUE);
  }
  g_main_context_pop_thread_default (context);
}

/* what the program said last, in one line */
static char *
get_complaint (const Run *run)
{
  g_autofree char *text = g_utf8_make_valid (run->complaint->str, (gssize)run->complaint->len);

  if (!*g_strstrip (text))
    return g_strdup ("it says nothing");
  g_strdelimit (text, "\r\n\t", ' ');
  return g_strdup_printf ("it says: %s%s", run->cut ? "…" : "", text);
}

static gboolean
judge (const Run *run, HrS3Keys *keys, GError **error)
{
  g_autofree char *complaint = get_complaint (run);

  if (run->stopped)
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  else if (run->late)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "it has not ended within %d s; %s", TIMEOUT_SECONDS, complaint);
  else if (run->large)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "it prints more than %d bytes, where one JSON object is expected; %s",
                 STDOUT_BYTES, complaint);
  else if (!g_subprocess_get_if_exited (run->process))
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "it was killed by signal %d; %s", g_subprocess_get_term_sig (run->process),
                 complaint);
  else if (g_subprocess_get_exit_status (run->process) != 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "exit status %d; %s",
                 g_subprocess_get_exit_status (run->process), complaint);
  else
    return hr_s3_keys_parse (keys, run->output->str, run->output->len, "SessionToken", 1, error);
  return FALSE;
}

static GSubprocess *
start (char **words, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);

  g_subprocess_launcher_set_child_setup (launcher, leave_session, NULL, NULL);
  return g_subprocess_launcher_spawnv (launcher, (const char *const *)words, error);
}

gboolean
hr_s3_process_fetch (const char *command, int wake_fd, HrS3Keys *keys, GError **error)
{
  g_auto (GStrv) words = NULL;
  g_autoptr (GError) failure = NULL;
  g_autoptr (GSubprocess) process = NULL;
  Run run = { 0 };
  gboolean good;

  if (!g_shell_parse_argv (command, NULL, &words, &failure)
      || !(process = start (words, &failure))) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "credential_process: %s",
                 failure->message);
    return FALSE;
  }
  run.process = process;
  run.cancellable = g_cancellable_new ();
  run.output = g_string_new (NULL);
  run.complaint = g_string_new (NULL);
  wait_for_end (&run, wake_fd);
  good = judge (&run, keys, error);
  if (!good)
    g_prefix_error (error, "credential_process %s: ", words[0]);
  g_string_free (run.output, TRUE);
  g_string_free (run.complaint, TRUE);
  g_object_unref (run.cancellable);
  return good;
}
