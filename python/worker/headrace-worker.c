/* headrace-worker.c: the process of a loader's pipeline. headrace.Loader (process=True) starts it
 * with posix_spawn() and two sockets; it ends when the loader closes them or is gone, whatever
 * killed it. */
#include "control.h"
#include "worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* how long elements may take to leave once the loader is gone, in seconds */
#define LEAVE_TIME 10

HrPipeline *
worker_get_pipeline (Worker *worker)
{
  HrPipeline *pipeline;

  hr_mutex_lock (&worker->lock);
  pipeline = worker->started ? worker->pipeline : NULL;
  hr_mutex_unlock (&worker->lock);
  return pipeline;
}

gboolean
worker_send (Worker *worker, const char *text)
{
  gboolean ok;

  hr_mutex_lock (&worker->sending);
  ok = control_send (CONTROL_FD, text, NULL);
  hr_mutex_unlock (&worker->sending);
  return ok;
}

static gpointer
answer_all (gpointer data)
{
  char *request;

  while ((request = control_receive (CONTROL_FD, NULL)) != NULL) {
    g_autofree char *answer = worker_answer (data, request);

    g_free (request);
    if (!worker_send (data, answer))
      break;
  }
  shutdown (CONTROL_FD, SHUT_RDWR); /* whatever it was: without requests there is nothing to do */
  return NULL;
}

/* Until the loader is gone. Its socket may outlive it in children that it has forked, so its
 * process is watched as well where the kernel can. */
static void
watch (pid_t loader)
{
  struct pollfd fds[] = { { .fd = CONTROL_FD, .events = POLLRDHUP },
                          { .fd = (int)syscall (SYS_pidfd_open, loader, 0), .events = POLLIN } };

  if (getppid () != loader)
    return;
  while (poll (fds, G_N_ELEMENTS (fds), -1) < 0 && errno == EINTR)
    ;
}

static void
leave (Worker *worker, GThread *answering)
{
  HrPipeline *pipeline;

  alarm (LEAVE_TIME); /* nobody is there to be told what hangs */
  hr_mutex_lock (&worker->lock);
  pipeline = worker->pipeline;
  hr_mutex_unlock (&worker->lock);
  if (pipeline != NULL)
    hr_pipeline_stop (pipeline); /* also while it is being started */
  shutdown (CONTROL_FD, SHUT_RDWR);
  g_thread_join (answering);
  worker_join (worker);
}

/* Ctrl-C in a terminal goes to all of its processes: it is the loader's to say what it means. It
 * was blocked while this program was loaded. */
static void
set_signals (void)
{
  sigset_t interrupt;

  signal (SIGINT, SIG_IGN);
  signal (SIGPIPE, SIG_IGN);
  sigemptyset (&interrupt);
  sigaddset (&interrupt, SIGINT);
  sigprocmask (SIG_UNBLOCK, &interrupt, NULL);
}

/* what the pipeline runs shall not hold it */
static gboolean
keep_to_itself (int fd)
{
  return fcntl (fd, F_SETFD, FD_CLOEXEC) == 0;
}

int
main (int argc, char **argv)
{
  Worker worker = { 0 };
  GThread *answering;

  if (argc != 2 || !keep_to_itself (CONTROL_FD) || !keep_to_itself (CONTROL_DATA_FD)) {
    fprintf (stderr, "headrace-worker: is started by headrace.Loader (process=True)\n");
    return 2;
  }
  set_signals ();
  /* as in the other tools: libvips opens nothing but what is known to be safe */
  g_setenv ("VIPS_BLOCK_UNTRUSTED", "1", FALSE);
  hr_mutex_init (&worker.lock);
  hr_mutex_init (&worker.sending);
  answering = g_thread_new ("answer", answer_all, &worker);
  watch ((pid_t)strtol (argv[1], NULL, 10));
  leave (&worker, answering);
  g_clear_object (&worker.pipeline);
  return 0;
}
