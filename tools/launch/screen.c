/* screen.c */
#include "screen.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "headrace.h"
#include "hr-sync.h"

static struct {
  HrMutex lock;
  guint shown;     /* lines that are drawn */
  guint n_last;    /* … when it was done last … */
  char *last;      /* … and what was written for it */
  glong columns;   /* … and how wide the last is */
  gboolean plain;  /* the cursor can go nowhere but to the beginning of its line */
  gboolean colour; /* … or what is drawn may stand out */
} screen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static gboolean
is_dumb (void)
{
  const char *term = g_getenv ("TERM");

  return term == NULL || *term == '\0' || g_str_equal (term, "dumb");
}

gboolean
launch_screen_can_redraw (void)
{
  return isatty (STDERR_FILENO) && !is_dumb ();
}

void
launch_screen_get_size (guint *columns, guint *rows)
{
  struct winsize size;
  gboolean known = ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0;

  /* the last column stays free: a line that fills it may wrap */
  *columns = known && size.ws_col > 0 ? MAX (size.ws_col - 1u, 1) : 79;
  /* and a row for what is printed */
  *rows = known && size.ws_row > 0 ? MAX (size.ws_row - 1u, 1) : 23;
}

/* with the lock */
static void
clear (void)
{
  if (screen.shown > 0 && screen.plain)
    fprintf (stderr, "\r%*s\r", (int)screen.columns, "");
  else if (screen.shown > 1)
    fprintf (stderr, "\033[%uA\r\033[J", screen.shown - 1);
  else if (screen.shown > 0)
    fputs ("\r\033[K", stderr);
  screen.shown = 0;
}

/* with the lock */
static void
draw_last (void)
{
  fputs (screen.last, stderr);
  fflush (stderr);
  screen.shown = screen.n_last;
}

/* over what is there, so that nothing flickers */
void
launch_screen_draw (const GPtrArray *lines, gint strong)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint first;

  hr_mutex_lock (&screen.lock);
  if (screen.plain)
    clear ();
  else if (screen.shown > 1)
    fprintf (stderr, "\033[%uA", screen.shown - 1);
  first = screen.plain && lines->len > 0 ? lines->len - 1 : 0;
  for (guint i = first; i < lines->len; i++) {
    gboolean stands_out = (gint)i == strong && screen.colour;

    g_string_append_printf (text, "%s\r%s%s%s%s", i > first ? "\n" : "",
                            stands_out ? "\033[1m" : "", (const char *)lines->pdata[i],
                            stands_out ? "\033[0m" : "", screen.plain ? "" : "\033[K");
  }
  if (!screen.plain)
    g_string_append (text, "\033[J");
  g_free (screen.last);
  screen.last = g_strdup (text->str);
  screen.n_last = lines->len - first;
  draw_last ();
  screen.columns = lines->len > 0 ? g_utf8_strlen (lines->pdata[lines->len - 1], -1) : 0;
  hr_mutex_unlock (&screen.lock);
}

void
launch_screen_print (const char *format, ...)
{
  gboolean again;
  va_list args;

  hr_mutex_lock (&screen.lock);
  again = screen.shown > 0;
  clear ();
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fflush (stderr);
  if (again)
    draw_last ();
  hr_mutex_unlock (&screen.lock);
}

/* ---- what others print ---- */

static void
write_log (const char *line)
{
  launch_screen_print ("%s", line);
}

static GLogWriterOutput
write_message (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  GLogWriterOutput result;
  gboolean again;

  hr_mutex_lock (&screen.lock);
  again = screen.shown > 0;
  clear ();
  fflush (stderr);
  result = g_log_writer_default (level, fields, n_fields, data);
  if (again)
    draw_last ();
  hr_mutex_unlock (&screen.lock);
  return result;
}

void
launch_screen_begin (void)
{
  const char *no = g_getenv ("NO_COLOR");

  screen.plain = is_dumb ();
  screen.colour = launch_screen_can_redraw () && (no == NULL || *no == '\0');
  hr_log_set_writer (write_log);
  g_log_set_writer_func (write_message, NULL, NULL);
}

void
launch_screen_end (void)
{
  hr_log_set_writer (NULL);
  hr_mutex_lock (&screen.lock);
  clear ();
  fflush (stderr);
  g_clear_pointer (&screen.last, g_free);
  hr_mutex_unlock (&screen.lock);
}
