/* test-embed.c: a program with a pipeline in it: when the pipeline has gone, all is as it was
 *
 * No g_test_init() here: it would change some of what is looked at. What the library writes to
 * stdout and stderr goes to a file; TAP goes to where stdout was. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "headrace.h"
#include "watch.h"

static FILE *tap;
static guint n_cases;
static guint n_failed;

static void
check (gboolean good, const char *name, const char *why)
{
  n_cases++;
  n_failed += !good;
  fprintf (tap, "%s %u %s\n", good ? "ok" : "not ok", n_cases, name);
  if (!good)
    fprintf (tap, "# %s\n", why != NULL ? why : "");
  fflush (tap);
}

/* ---- a web server in a process of its own: libcurl is to have work, too ---- */

static void
serve (int listener, const char *body, gsize size)
{
  for (;;) {
    int connection = accept (listener, NULL, NULL);
    char request[4096];
    g_autofree char *head = g_strdup_printf ("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                                             "Connection: close\r\n\r\n",
                                             size);

    if (connection < 0)
      _exit (1);
    if (read (connection, request, sizeof request) > 0
        && write (connection, head, strlen (head)) == (gssize)strlen (head)
        && write (connection, body, size) == (gssize)size)
      shutdown (connection, SHUT_WR);
    close (connection);
  }
}

static pid_t
start_server (guint *port)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t length = sizeof address;
  int listener = socket (AF_INET, SOCK_STREAM, 0);
  g_autofree char *body = NULL;
  gsize size;
  pid_t child;

  if (!g_file_get_contents (HR_TEST_DATA "/cases/16-image-links/corpus/shared/2.png", &body, &size,
                            NULL)
      || bind (listener, (struct sockaddr *)&address, sizeof address) != 0
      || listen (listener, 16) != 0
      || getsockname (listener, (struct sockaddr *)&address, &length) != 0)
    abort ();
  *port = ntohs (address.sin_port);
  child = fork ();
  if (child == 0) {
    signal (SIGPIPE, SIG_IGN); /* clients leave early here */
    serve (listener, body, size);
  }
  close (listener);
  return child;
}

/* ---- a pipeline with all that has state outside of it: files, curl, vips, threads, clocks ---- */

static char *
write_records (const char *folder, guint port)
{
  static const char *const images[] = { "images/1.png", "images/v1.0/img.final.png",
                                        "other/1.png" };
  g_autoptr (GString) text = g_string_new (NULL);
  char *path = g_build_filename (folder, "a.jsonl", NULL);

  for (guint i = 0; i < 60; i++)
    if (i % 4 == 3)
      g_string_append_printf (text,
                              "{\"id\": %u, \"image\": \"http://127.0.0.1:%u/%u.png\", \"query\": "
                              "\"<image>\", \"response\": \"A\"}\n",
                              i, port, i);
    else
      g_string_append_printf (
          text, "{\"id\": %u, \"image\": \"%s\", \"query\": \"<image>\", \"response\": \"A\"}\n", i,
          images[i % 4]);
  g_string_append (text, "{\"id\": \"bad\"}\n");
  g_file_set_contents (path, text->str, text->len, NULL);
  return path;
}

static char *
launch_text (const char *path)
{
  return g_strdup_printf (
      "checksum=true on-error=skip filesrc location=%s ! jsonlparse workers=2 "
      "media-base=" HR_TEST_DATA "/cases/16-image-links/corpus/train ! imagefetch allow-links=http "
      "allow-addresses=127.0.0.1 "
      "! imagedecode workers=2 ! resize workers=2 ! batch size=4 ! prefetchqueue max-batches=2 ! "
      "appsink",
      path);
}

/* pulls @n batches, or all; the digest of all of them: (transfer full) */
static char *
run (const char *text, guint n, guint *threads, guint64 *inherited)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);
  g_autofree char *stats = NULL;
  HrBuffer *batch;
  char *digest = NULL;

  if (pipeline == NULL || !hr_pipeline_start (pipeline, &error)) {
    fprintf (tap, "# %s\n", error->message);
    return NULL;
  }
  for (guint i = 0; i < n && (batch = hr_pipeline_pull (pipeline, &error)) != NULL; i++) {
    *threads = MAX (*threads, count_threads ());
    *inherited |= find_inherited ();
    hr_buffer_unref (batch);
  }
  hr_pipeline_stop (pipeline);
  if (!hr_pipeline_wait (pipeline, &error) && error != NULL)
    fprintf (tap, "# %s\n", error->message);
  stats = hr_pipeline_get_stats (pipeline);
  if (strstr (stats, "\"sha256\":\"") != NULL)
    digest = g_strndup (strstr (stats, "\"sha256\":\"") + strlen ("\"sha256\":\""), 64);
  return digest;
}

/* the child of a fork may not use what its parent has started, and is told so at once */
static gboolean
fork_is_refused (const char *text)
{
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, NULL);
  pid_t child;
  int status = -1;

  hr_pipeline_start (pipeline, NULL);
  child = fork ();
  if (child == 0) {
    g_autoptr (GError) pulled = NULL, waited = NULL;

    alarm (20); /* a hang is a failure */
    _exit (hr_pipeline_pull (pipeline, &pulled) == NULL
                   && g_error_matches (pulled, HR_CORE_ERROR, HR_CORE_ERROR_FORKED)
                   && !hr_pipeline_wait (pipeline, &waited)
                   && g_error_matches (waited, HR_CORE_ERROR, HR_CORE_ERROR_FORKED)
               ? 0
               : 1);
  }
  waitpid (child, &status, 0);
  hr_pipeline_stop (pipeline);
  hr_pipeline_wait (pipeline, NULL);
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

/* a number with a fraction, in and out, where people write commas */
static gboolean
numbers_have_points (void)
{
  g_autoptr (HrPipeline) pipeline =
      hr_parse_launch ("fakesrc num-buffers=3 ! batch ! trainsim step-time=1.5ms", NULL);
  g_autofree char *text = pipeline != NULL ? hr_pipeline_to_string (pipeline) : NULL, *stats = NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();

  if (text == NULL || strstr (text, "step-time=1500us") == NULL
      || !hr_pipeline_start (pipeline, NULL) || !hr_pipeline_wait (pipeline, NULL))
    return FALSE;
  stats = hr_pipeline_get_stats (pipeline);
  return json_parser_load_from_data (parser, stats, -1, NULL);
}

static char *
make_comma_locale (const char *folder)
{
  g_autofree char *command =
      g_strdup_printf ("localedef -f UTF-8 -i de_DE %s/de_DE.UTF-8 >/dev/null 2>&1", folder);

  setenv ("LOCPATH", folder, 1);
  if (system (command) != 0)
    return NULL;
  return setlocale (LC_ALL, "de_DE.UTF-8");
}

static gboolean
is_comma (void)
{
  return strcmp (localeconv ()->decimal_point, ",") == 0;
}

/* (transfer full): names; a thread that was joined may still be listed for a moment */
static char *
name_threads_left (void)
{
  for (int i = 0; i < 30000 && count_threads () > 1; i++)
    g_usleep (1000);
  return name_threads ();
}

static void
on_signal (int number G_GNUC_UNUSED)
{
}

int
main (void)
{
  g_autofree char *folder = g_dir_make_tmp ("headrace-test-XXXXXX", NULL);
  g_autofree char *output = g_build_filename (folder, "output", NULL);
  g_autofree char *command = g_strdup_printf ("rm -rf %s", folder);
  g_autofree char *path = NULL, *text = NULL, *first = NULL, *second = NULL, *third = NULL;
  g_autofree char *difference = NULL, *threads_left = NULL, *written = NULL;
  g_auto (GStrv) calls = NULL;
  g_autofree char *call_list = NULL;
  g_auto (State) before = { NULL }, after = { NULL };
  guint64 inherited, inherited_before;
  guint port = 0, threads = 0, files, n_after_parse;
  gsize n_written = 0;
  int out;
  pid_t server;

  tap = fdopen (fcntl (1, F_DUPFD_CLOEXEC, 3), "w");
  /* what a host may have set up: handlers, a locale, a mask */
  signal (SIGINT, on_signal);
  signal (SIGUSR1, SIG_IGN);
  umask (027);
  server = start_server (&port);
  path = write_records (folder, port);
  text = launch_text (path);
  make_comma_locale (folder);
  out = open (output, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  dup2 (out, 1);
  dup2 (out, 2);
  close (out);

  inherited = inherited_before = find_inherited ();
  before = state_take ();
  watch_begin ();
  {
    g_autoptr (HrPipeline) unused = hr_parse_launch (text, NULL);

    n_after_parse = count_threads ();
    check (unused != NULL, "parse", "the pipeline is refused");
  }
  check (n_after_parse == 1, "no threads before start", NULL);

  first = run (text, G_MAXUINT, &threads, &inherited);
  check (first != NULL, "run", "no digest");
  check (threads > 5, "threads while it runs", NULL);
  files = count_files ();
  check (inherited == inherited_before, "files are closed on exec", NULL);
  threads_left = name_threads_left ();
  check (count_threads () == 1, "no threads after wait", threads_left);

  /* again, and stopped in between: nothing piles up */
  second = run (text, G_MAXUINT, &threads, &inherited);
  check (g_strcmp0 (first, second) == 0, "the same bytes again", second);
  for (guint i = 0; i < 10; i++)
    third = (g_free (third), run (text, i % 4, &threads, &inherited));
  g_free (threads_left);
  threads_left = name_threads_left ();
  check (count_threads () == 1, "no threads after stop", threads_left);
  check (count_files () == files, "no files left open", NULL);
  check (hr_buffer_live () == 0 && hr_tensor_live () == 0 && hr_memory_live () == 0,
         "no buffers left", NULL);
  check (numbers_have_points (), is_comma () ? "numbers where people write commas" : "numbers",
         NULL);

  calls = watch_end ();
  call_list = g_strjoinv (", ", calls);
  check (calls[0] == NULL, "nothing is called that changes the process", call_list);
  after = state_take ();
  difference = state_compare (&before, &after);
  check (difference == NULL, "signals, environment, folder, locale, limits are as before",
         difference);
  check (waitpid (-1, NULL, WNOHANG) == 0, "no child but ours", NULL);
  check (fork_is_refused (text), "a forked child is refused", NULL);
  fflush (NULL);
  g_file_get_contents (output, &written, &n_written, NULL);
  check (n_written == 0, "nothing is written to stdout and stderr", written);

  kill (server, SIGTERM);
  waitpid (server, NULL, 0);
  fprintf (tap, "%s", is_comma () ? "" : "# no locale with a decimal comma could be made\n");
  fprintf (tap, "1..%u\n", n_cases);
  fclose (tap);
  if (system (command) != 0)
    return 1;
  return n_failed > 0;
}
