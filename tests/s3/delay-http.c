/* delay-http.c: reading along with HTTP/1.1 */
#include "delay-http.h"
#include <stdlib.h>
#include <string.h>

#define MAX_HEAD (64 * 1024)

typedef struct {
  gint64 begin;
  char *method, *path; /* NULL until the head is complete */
} Request;

double
watch_seconds (const Watch *watch, gint64 t)
{
  return (double)(t - watch->start_us) / 1e6;
}

void
watch_count (Watch *watch, int change)
{
  gint64 now = g_get_monotonic_time ();
  gint64 passed = now - watch->flight_changed;

  watch->flight_area += passed * watch->in_flight;
  watch->flight_busy += watch->in_flight > 0 ? passed : 0;
  watch->flight_changed = now;
  watch->in_flight = (guint)((int)watch->in_flight + change);
  watch->max_in_flight = MAX (watch->max_in_flight, watch->in_flight);
}

double
watch_mean (const Watch *watch)
{
  return watch->flight_busy ? (double)watch->flight_area / (double)watch->flight_busy : 0;
}

static void
log_string (FILE *log, const char *s)
{
  fputc ('"', log);
  for (; s && *s; s++)
    if (*s == '"' || *s == '\\' || (guchar)*s < 0x20 || (guchar)*s > 0x7e)
      fprintf (log, "\\u%04x", (guchar)*s);
    else
      fputc (*s, log);
  fputc ('"', log);
}

static void
end_request (Talk *talk, gboolean aborted)
{
  Watch *watch = talk->watch;
  Request *request = g_queue_pop_head (&talk->requests);

  /* an answer that nobody asked for, as some servers send before they close an idle connection */
  if (!request)
    return;
  watch_count (watch, -1);
  watch->requests++;
  watch->aborted += aborted;
  if (watch->log) {
    fprintf (watch->log, "{\"connection\":%u,\"begin\":%.6f,\"end\":%.6f,\"method\":", talk->id,
             watch_seconds (watch, request->begin), watch_seconds (watch, g_get_monotonic_time ()));
    log_string (watch->log, request->method);
    fputs (",\"path\":", watch->log);
    log_string (watch->log, request->path);
    fprintf (watch->log, ",\"status\":%u,\"bytes\":%" G_GUINT64_FORMAT ",\"aborted\":%s}\n",
             talk->down.status, talk->down.bytes, aborted ? "true" : "false");
  }
  talk->down.status = 0;
  talk->down.bytes = 0;
  g_free (request->method);
  g_free (request->path);
  g_free (request);
}

/* (transfer full) (nullable): the value of a header in @head */
static char *
find_header (const char *head, const char *name)
{
  g_auto (GStrv) lines = g_strsplit (head, "\n", -1);
  gsize n = strlen (name);

  for (guint i = 1; lines[0] && lines[i]; i++)
    if (g_ascii_strncasecmp (lines[i], name, n) == 0 && lines[i][n] == ':')
      return g_strstrip (g_strdup (lines[i] + n + 1));
  return NULL;
}

/* what follows the head that side->line holds */
static void
begin_message (Talk *talk, Side *side)
{
  const char *head = side->line->str;
  g_autofree char *length = find_header (head, "Content-Length");
  g_autofree char *coding = find_header (head, "Transfer-Encoding");
  gboolean bodiless;

  if (side == &talk->up) {
    g_auto (GStrv) words = g_strsplit_set (head, " \r\n", 3);
    Request *request = g_queue_peek_tail (&talk->requests); /* queued with its first byte */

    request->method = g_strdup (words[0]);
    request->path = g_strdup (words[0] ? words[1] : NULL);
    bodiless = !length && !coding;
  } else {
    Request *request = g_queue_peek_head (&talk->requests);
    const char *space = strchr (head, ' ');

    side->status = space ? (guint)strtoul (space, NULL, 10) : 0;
    bodiless = side->status < 200 || side->status == 204 || side->status == 304
               || (request && g_strcmp0 (request->method, "HEAD") == 0);
  }
  side->bytes = 0;
  side->left = length && !bodiless ? g_ascii_strtoull (length, NULL, 10) : 0;
  if (bodiless || (length && !coding))
    side->part = BODY;
  else
    side->part = coding ? CHUNK_SIZE : TO_THE_END;
}

static void
end_message (Talk *talk, Side *side)
{
  side->part = HEAD;
  /* 100 Continue is not the answer yet */
  if (side == &talk->down && side->status >= 200)
    end_request (talk, FALSE);
}

/* a line without its end, when it is complete */
static gboolean
take_line (Side *side, const guint8 **p, const guint8 *end)
{
  const guint8 *nl = memchr (*p, '\n', (gsize)(end - *p));
  const guint8 *stop = nl ? nl : end;

  if (side->line->len < MAX_HEAD)
    g_string_append_len (side->line, (const char *)*p, stop - *p);
  *p = nl ? nl + 1 : end;
  if (!nl)
    return FALSE;
  if (side->line->len > 0 && side->line->str[side->line->len - 1] == '\r')
    g_string_truncate (side->line, side->line->len - 1);
  return TRUE;
}

static gboolean
take_head (Talk *talk, Side *side, const guint8 **p, const guint8 *end)
{
  if (side == &talk->up && side->line->len == 0) {
    Request *request = g_new0 (Request, 1);

    request->begin = g_get_monotonic_time ();
    g_queue_push_tail (&talk->requests, request);
    watch_count (talk->watch, 1);
  }
  while (*p < end) {
    GString *line = side->line;

    g_string_append_c (line, (char)*(*p)++);
    if (line->len > MAX_HEAD
        || (line->len >= 4 && strcmp (line->str + line->len - 4, "\r\n\r\n") == 0))
      return TRUE;
  }
  return FALSE;
}

/* the body's part at hand; for the parts that are lines, only when the line is complete */
static void
take_line_part (Talk *talk, Side *side, const guint8 **p, const guint8 *end)
{
  gboolean empty;

  if (!take_line (side, p, end))
    return;
  empty = side->line->len == 0;
  if (side->part == CHUNK_SIZE) {
    side->left = g_ascii_strtoull (side->line->str, NULL, 16);
    side->part = side->left ? CHUNK_DATA : TRAILER;
  } else if (side->part == CHUNK_END)
    side->part = CHUNK_SIZE;
  else if (empty)
    end_message (talk, side);
  g_string_truncate (side->line, 0);
}

static void
take_data (Talk *talk, Side *side, const guint8 **p, const guint8 *end)
{
  guint64 n = (guint64)(end - *p);

  if (side->part != TO_THE_END) {
    n = MIN (side->left, n);
    side->left -= n;
  }
  *p += n;
  side->bytes += n;
  if (side->part == BODY && side->left == 0)
    end_message (talk, side);
  else if (side->part == CHUNK_DATA && side->left == 0)
    side->part = CHUNK_END;
}

void
talk_read (Talk *talk, Side *side, const guint8 *bytes, gsize size)
{
  const guint8 *end = bytes + size;

  while (bytes < end)
    if (side->part == HEAD) {
      if (!take_head (talk, side, &bytes, end))
        break;
      begin_message (talk, side);
      g_string_truncate (side->line, 0);
      if (side->part == BODY && side->left == 0)
        end_message (talk, side);
    } else if (side->part == BODY || side->part == CHUNK_DATA || side->part == TO_THE_END)
      take_data (talk, side, &bytes, end);
    else
      take_line_part (talk, side, &bytes, end);
}

void
talk_init (Talk *talk, Watch *watch, guint id)
{
  talk->watch = watch;
  talk->id = id;
  g_queue_init (&talk->requests);
  talk->up.line = g_string_new (NULL);
  talk->down.line = g_string_new (NULL);
}

void
talk_end (Talk *talk)
{
  if (talk->down.part == TO_THE_END)
    end_message (talk, &talk->down);
  while (!g_queue_is_empty (&talk->requests))
    end_request (talk, TRUE);
}

void
talk_clear (Talk *talk)
{
  talk_end (talk);
  g_string_free (talk->up.line, TRUE);
  g_string_free (talk->down.line, TRUE);
}
