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
#define STDERR_BYTES 1000

typedef struct {
  GSubprocess *process;
  gboolean done;
  gboolean stopped;
  gboolean late;
  GBytes *output;
  GBytes *complaint;
} Run;

static void
on_done (GObject *process, GAsyncResult *result, gpointer data)
{
  Run *run = data;

  (void)g_subprocess_communicate_finish (G_SUBPROCESS (process), result, &run->output,
                                         &run->complaint, NULL);
  run->done = TRUE;
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
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  g_main_context_push_thread_default (context);
  if (wake_fd >= 0)
    add_source (context, g_unix_fd_source_new (wake_fd, G_IO_IN), G_SOURCE_FUNC (on_wake), run);
  add_source (context, g_timeout_source_new_seconds (TIMEOUT_SECONDS), on_timeout, run);
  g_subprocess_communicate_async (run->process, NULL, cancellable, on_done, run);
  while (!run->done && !run->stopped && !run->late)
    g_main_context_iteration (context, TRUE);
  if (!run->done) {
    kill_all (run->process);
    /* a child that went elsewhere may hold the pipes open: nothing is read any more */
    g_cancellable_cancel (cancellable);
    while (!run->done)
      g_main_context_iteration (context, TRUE);
  }
  g_main_context_pop_thread_default (context);
}

/* what the program said last, in one line */
static char *
get_complaint (const Run *run)
{
  gsize size = 0;
  const char *bytes = run->complaint ? g_bytes_get_data (run->complaint, &size) : NULL;
  gsize start = size > STDERR_BYTES ? size - STDERR_BYTES : 0;
  g_autofree char *text = size > 0 ? g_utf8_make_valid (bytes + start, size - start) : NULL;

  if (!text || !*g_strstrip (text))
    return g_strdup ("it says nothing");
  g_strdelimit (text, "\r\n\t", ' ');
  return g_strdup_printf ("it says: %s%s", start > 0 ? "…" : "", text);
}

static gboolean
judge (const Run *run, HrS3Keys *keys, GError **error)
{
  g_autofree char *complaint = get_complaint (run);
  gsize size = 0;
  const char *text = run->output ? g_bytes_get_data (run->output, &size) : NULL;

  if (run->stopped)
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  else if (run->late)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "it has not ended within %d s; %s", TIMEOUT_SECONDS, complaint);
  else if (!g_subprocess_get_if_exited (run->process))
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "it was killed by signal %d; %s", g_subprocess_get_term_sig (run->process),
                 complaint);
  else if (g_subprocess_get_exit_status (run->process) != 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "exit status %d; %s",
                 g_subprocess_get_exit_status (run->process), complaint);
  else
    return hr_s3_keys_parse (keys, text ? text : "", size, "SessionToken", 1, error);
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
  wait_for_end (&run, wake_fd);
  good = judge (&run, keys, error);
  if (!good)
    g_prefix_error (error, "credential_process %s: ", words[0]);
  g_clear_pointer (&run.output, g_bytes_unref);
  g_clear_pointer (&run.complaint, g_bytes_unref);
  return good;
}
