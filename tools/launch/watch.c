/* watch.c: signals, messages and progress while the pipeline runs; one thread for signals, one for
 * the rest */
#include "watch.h"
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "checkpoint.h"
#include "meter.h"
#include "screen.h"

#define MAX_SKIPPED 5 /* lines, unless -v */
#define BAR_INTERVAL (200 * (gint64)1000000)
#define LINES_INTERVAL (5 * (gint64)1000000000)
/* signals so close together are one request: timeout(1) sends its own to the process and to the
 * group, and a key that is held down comes again */
#define SIGNAL_INTERVAL 500 /* ms */

struct _LaunchWatch {
  HrPipeline *pipeline;
  gboolean shows, in_place, elements; /* what progress is shown, and how */
  LaunchMeter *meter;
  gboolean verbose;
  const char *checkpoint;
  int signals;
  int bell; /* end of the signal thread */
  gint signal;
  GThread *signal_thread, *message_thread;
  gint done;
  guint n_skipped;
  LaunchNote note;
  gpointer note_data;
  LaunchTick tick;
  gpointer tick_data;
};

static sigset_t
our_signals (void)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGINT);
  sigaddset (&set, SIGTERM);
  return set;
}

void
launch_block_signals (void)
{
  sigset_t set = our_signals ();

  pthread_sigmask (SIG_BLOCK, &set, NULL);
  /* stats into a closed pipe is an error of printf, not the end */
  signal (SIGPIPE, SIG_IGN);
}

/* Returns: its number; 0: none within @timeout ms, -1 for ever; -1: the run is over */
static int
next_signal (LaunchWatch *watch, int timeout)
{
  struct pollfd fds[] = { { watch->signals, POLLIN, 0 }, { watch->bell, POLLIN, 0 } };
  struct signalfd_siginfo info;
  int n;

  do {
    n = poll (fds, 2, timeout);
    if (n > 0 && fds[1].revents != 0)
      return -1;
    if (n > 0 && read (watch->signals, &info, sizeof info) == sizeof info)
      return (int)info.ssi_signo;
  } while (n != 0);
  return 0;
}

static gpointer
watch_signals (gpointer data)
{
  LaunchWatch *watch = data;
  int number = next_signal (watch, -1);
  gint64 end;

  if (number < 0)
    return NULL;
  end = g_get_monotonic_time () / 1000 + SIGNAL_INTERVAL;
  g_atomic_int_set (&watch->signal, number);
  hr_pipeline_stop (watch->pipeline);
  /* what came in time may be read late: the time is over when nothing more is there */
  while ((number = next_signal (watch, (int)MAX (end - g_get_monotonic_time () / 1000, 0))) > 0)
    ;
  /* whoever asks twice does not want to wait for a summary */
  if (number == 0 && (number = next_signal (watch, -1)) > 0)
    _exit (128 + number);
  return NULL;
}

/* the line about the whole run is the last, where the eye is */
static void
show_progress (LaunchWatch *watch)
{
  g_autofree char *json = hr_pipeline_get_stats (watch->pipeline);
  g_autoptr (JsonNode) node = json_from_string (json, NULL);
  g_autoptr (GPtrArray) lines = NULL;
  g_autofree char *text = NULL;
  guint columns = 0, rows = 0;
  gint busiest = -1;

  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return;
  launch_meter_look (watch->meter, json_node_get_object (node),
                     (gdouble)g_get_monotonic_time () / G_USEC_PER_SEC);
  if (watch->in_place)
    launch_screen_get_size (&columns, &rows);
  lines =
      watch->elements && (!watch->in_place || rows > 1) /* 0 rows would be any */
          ? launch_meter_elements (watch->meter, columns, watch->in_place ? rows - 1 : 0, &busiest)
          : g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (lines, launch_meter_line (watch->meter, columns));
  if (watch->in_place) {
    launch_screen_draw (lines, busiest);
    return;
  }
  g_ptr_array_add (lines, NULL);
  text = g_strjoinv ("\n", (char **)lines->pdata);
  launch_screen_print ("%s\n", text);
}

/* a run that cannot keep its place goes on; it is told, and at the end it is an error */
static void
keep_checkpoint (LaunchWatch *watch, const char *text)
{
  g_autoptr (GError) error = NULL;

  if (watch->checkpoint == NULL || launch_checkpoint_write (watch->checkpoint, text, &error))
    return;
  launch_screen_print ("warning: %s\n", error->message);
}

/* under which the last line counts it */
static const char *
kind_of (const GError *error)
{
  return error->domain == HR_DATA_ERROR ? hr_data_error_kind (error->code)
                                        : hr_data_error_kind (HR_DATA_ERROR_OTHER);
}

static void
tell_sample (const char *fate, const GError *error)
{
  launch_screen_print ("%s (%s): %s\n", fate, kind_of (error), error->message);
}

static void
note_message (LaunchWatch *watch, const HrMessage *message)
{
  if (watch->note == NULL)
    return;
  if (message->type == HR_MESSAGE_STALL)
    watch->note ("stall", message->text, watch->note_data);
  else if (message->type == HR_MESSAGE_WARNING && message->error != NULL)
    watch->note ("warning", message->error->message, watch->note_data);
  else if (message->type == HR_MESSAGE_ERROR && message->error != NULL)
    watch->note ("error", message->error->message, watch->note_data);
  else if (message->type == HR_MESSAGE_SKIPPED && message->error != NULL)
    watch->note (kind_of (message->error), message->error->message, watch->note_data);
}

static void
show_message (LaunchWatch *watch, const HrMessage *message)
{
  if (message->type == HR_MESSAGE_CHECKPOINT) {
    keep_checkpoint (watch, message->text);
    return;
  }
  if (message->type == HR_MESSAGE_STALL) { /* with -q too: somebody has to do something */
    launch_screen_print ("%s\n", message->text);
    return;
  }
  if (message->type == HR_MESSAGE_SCAN && watch->shows)
    launch_screen_print ("%s\n", message->text);
  if (message->error == NULL)
    return;
  switch (message->type) {
  case HR_MESSAGE_SKIPPED:
    if (watch->n_skipped++ >= MAX_SKIPPED && !watch->verbose) {
      if (watch->n_skipped == MAX_SKIPPED + 1)
        launch_screen_print ("skipped: … (-v shows all)\n");
      return;
    }
    tell_sample ("skipped", message->error);
    return;
  case HR_MESSAGE_WARNING:
    launch_screen_print ("warning: %s\n", message->error->message);
    return;
  case HR_MESSAGE_DROPPED: /* what was asked for: only counted, but for -v */
    if (watch->verbose)
      tell_sample ("dropped", message->error);
    return;
  case HR_MESSAGE_CHECKPOINT:
  case HR_MESSAGE_SCAN:
  case HR_MESSAGE_STALL:
  case HR_MESSAGE_ERROR: /* wait() tells it, once */
  case HR_MESSAGE_DONE:
    return;
  }
}

static gpointer
watch_messages (gpointer data)
{
  LaunchWatch *watch = data;
  gint64 interval = watch->in_place ? BAR_INTERVAL : LINES_INTERVAL;
  gint64 next = g_get_monotonic_time () * 1000 + interval;
  gboolean done = FALSE;

  while (!done) {
    gint64 now = g_get_monotonic_time () * 1000;
    gboolean ending = g_atomic_int_get (&watch->done);
    g_autoptr (HrMessage) message = NULL;

    message =
        hr_pipeline_pop_message (watch->pipeline, ending ? 0 : CLAMP (next - now, 0, BAR_INTERVAL));
    if (message != NULL) {
      note_message (watch, message);
      show_message (watch, message);
      done = message->type == HR_MESSAGE_DONE;
    } else {
      /* seen before the queue was found empty: what came in between is still told */
      done = ending;
      /* all have left, and the owner is about to know: nothing waits in pop any more */
      if (hr_pipeline_get_state (watch->pipeline) == HR_STATE_DONE)
        g_usleep (1000);
    }
    if (watch->tick != NULL)
      watch->tick (watch->tick_data);
    /* without progress too: `next` is what pop waits for */
    if (!done && g_get_monotonic_time () * 1000 >= next) {
      if (watch->shows)
        show_progress (watch);
      next = g_get_monotonic_time () * 1000 + interval;
    }
  }
  return NULL;
}

static void
watch_free (LaunchWatch *watch)
{
  if (watch->signals >= 0)
    close (watch->signals);
  if (watch->bell >= 0)
    close (watch->bell);
  if (watch->in_place)
    launch_screen_end ();
  launch_meter_free (watch->meter);
  g_free (watch);
}

static LaunchGoal
find_goal (HrPipeline *pipeline)
{
  LaunchGoal goal = { 0 };

  g_object_get (pipeline, "limit", &goal.limit, "steps", &goal.steps, "world", &goal.world, NULL);
  return goal;
}

LaunchWatch *
launch_watch_new (HrPipeline *pipeline, LaunchProgress progress, gboolean verbose,
                  const char *checkpoint, GError **error)
{
  LaunchWatch *watch = g_new0 (LaunchWatch, 1);
  sigset_t set = our_signals ();

  watch->pipeline = pipeline;
  watch->shows = progress != LAUNCH_PROGRESS_NONE;
  watch->elements = progress == LAUNCH_PROGRESS_ELEMENTS;
  watch->in_place =
      progress == LAUNCH_PROGRESS_BAR
      || ((progress == LAUNCH_PROGRESS_AUTO || watch->elements) && launch_screen_can_redraw ());
  watch->meter = launch_meter_new (find_goal (pipeline));
  watch->verbose = verbose;
  watch->checkpoint = checkpoint;
  watch->signals = signalfd (-1, &set, SFD_CLOEXEC);
  watch->bell = eventfd (0, EFD_CLOEXEC);
  /* without it Ctrl-C, which is blocked, would do nothing */
  if (watch->signals < 0 || watch->bell < 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "signalfd and eventfd: %s",
                 g_strerror (errno));
  else
    watch->signal_thread = g_thread_try_new ("signals", watch_signals, watch, error);
  if (watch->signal_thread == NULL)
    g_clear_pointer (&watch, watch_free);
  else if (watch->in_place)
    launch_screen_begin ();
  return watch;
}

void
launch_watch_set_note (LaunchWatch *watch, LaunchNote note, gpointer data)
{
  watch->note = note;
  watch->note_data = data;
}

void
launch_watch_set_tick (LaunchWatch *watch, LaunchTick tick, gpointer data)
{
  watch->tick = tick;
  watch->tick_data = data;
}

gboolean
launch_watch_started (LaunchWatch *watch, GError **error)
{
  watch->message_thread = g_thread_try_new ("messages", watch_messages, watch, error);
  return watch->message_thread != NULL;
}

int
launch_watch_end (LaunchWatch *watch)
{
  guint64 one = 1;
  int signal_number;

  g_atomic_int_set (&watch->done, 1);
  if (write (watch->bell, &one, sizeof one) != sizeof one)
    g_error ("eventfd: %s", g_strerror (errno));
  g_thread_join (watch->signal_thread);
  if (watch->message_thread != NULL)
    g_thread_join (watch->message_thread);
  signal_number = g_atomic_int_get (&watch->signal);
  watch_free (watch);
  return signal_number;
}
