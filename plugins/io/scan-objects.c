/* scan-objects.c: reads many objects once, to find where their lines begin */
#include "scan-objects.h"
#include "hr-error.h"
#include "line-scan.h"
#include <poll.h>

/* stays in the second-level cache between read() and memchr() */
#define BUFFER_BYTES (256 * 1024)
/* read between two looks at the wake descriptor */
#define LOOK_BYTES (4 * 1024 * 1024)

typedef struct {
  guint object;
  gint64 start;
  gint64 end; /* -1: to the end of the object, wherever that is */
  gpointer handle;
} Part;

typedef struct {
  const HrLineSourceFuncs *funcs;
  gpointer data;
  const HrObject *const *objects;
  guint n;
  const HrScanOptions *options;
  GQueue parts;    /* opened, in order … */
  gint64 in_parts; /* … and their bytes */
  guint object;    /* to be opened next … */
  gint64 position; /* … from here on */
  guint8 *buffer;
  gint64 unlooked; /* bytes since the last look at the wake descriptor */
} Scan;

static gboolean
may_go_on (Scan *scan, GError **error)
{
  struct pollfd wake = { .fd = scan->options->wake_fd, .events = POLLIN };

  scan->unlooked = 0;
  if (wake.fd < 0 || poll (&wake, 1, 0) <= 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

static gint64
count_bytes (const Part *part)
{
  return part->end < 0 ? 0 : part->end - part->start;
}

static void
close_part (Scan *scan, Part *part)
{
  scan->in_parts -= count_bytes (part);
  scan->funcs->close (scan->data, part->handle);
  g_free (part);
}

/* Returns: what to open next, without a handle; FALSE: there is no more */
static gboolean
choose_part (Scan *scan, Part *part)
{
  for (; scan->object < scan->n; scan->object++, scan->position = 0) {
    gint64 size = scan->objects[scan->object]->size;

    if (size < 0 ? scan->position > 0 : scan->position >= size)
      continue; /* so an empty object is never opened */
    *part = (Part){ scan->object, scan->position, -1, NULL };
    if (size >= 0)
      part->end = scan->position + MIN (scan->options->part_bytes, size - scan->position);
    scan->position = size >= 0 ? part->end : G_MAXINT64;
    return TRUE;
  }
  return FALSE;
}

static gboolean
look_ahead (Scan *scan, GError **error)
{
  const HrScanOptions *options = scan->options;
  Part next;

  while ((g_queue_is_empty (&scan->parts)
          || (scan->parts.length <= options->ahead && scan->in_parts < options->ahead_bytes))
         && choose_part (scan, &next)) {
    next.handle =
        scan->funcs->open (scan->data, scan->objects[next.object], next.start, next.end, error);
    if (next.handle == NULL)
      return FALSE;
    scan->in_parts += count_bytes (&next);
    g_queue_push_tail (&scan->parts, g_memdup2 (&next, sizeof next));
  }
  return TRUE;
}

static gboolean
scan_part (Scan *scan, const Part *part, HrLineScan *lines, GError **error)
{
  const HrObject *object = scan->objects[part->object];

  for (gint64 at = part->start; part->end < 0 || at < part->end;) {
    gsize wanted = part->end < 0 ? BUFFER_BYTES : MIN (BUFFER_BYTES, part->end - at);
    gssize n;

    if (scan->unlooked >= LOOK_BYTES && !may_go_on (scan, error))
      return FALSE;
    n = scan->funcs->read (scan->data, part->handle, at, scan->buffer, wanted, error);
    if (n < 0)
      return FALSE;
    if (n == 0 && part->end < 0)
      break;
    if (n == 0) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                   "%s: ends at byte %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                   ": it was cut after it was listed",
                   object->uri, at, object->size);
      return FALSE;
    }
    hr_line_scan_feed (lines, scan->buffer, n);
    at += n;
    scan->unlooked += n;
  }
  return TRUE;
}

/* Returns: (transfer full) */
static HrLineTable *
scan_object (Scan *scan, guint index, GError **error)
{
  g_autoptr (HrLineScan) lines = hr_line_scan_new ();

  if (!may_go_on (scan, error))
    return NULL;
  for (;;) {
    Part *part;

    if (!look_ahead (scan, error))
      return NULL;
    part = g_queue_peek_head (&scan->parts);
    if (part == NULL || part->object != index)
      return hr_line_scan_end (lines);
    if (!scan_part (scan, part, lines, error))
      return NULL;
    close_part (scan, g_queue_pop_head (&scan->parts));
  }
}

gboolean
hr_scan_objects (const HrLineSourceFuncs *funcs, gpointer funcs_data,
                 const HrObject *const *objects, guint n, const HrScanOptions *options,
                 HrScanFunc found, gpointer found_data, GError **error)
{
  g_autofree guint8 *buffer = g_malloc (BUFFER_BYTES);
  Scan scan = { funcs, funcs_data, objects, n, options, G_QUEUE_INIT, 0, 0, 0, buffer, 0 };
  gboolean good = TRUE;

  g_return_val_if_fail (options->part_bytes > 0, FALSE);
  for (guint i = 0; i < n && good; i++) {
    HrLineTable *table = scan_object (&scan, i, error);

    good = table != NULL && found (found_data, i, table, error);
  }
  while (!g_queue_is_empty (&scan.parts))
    close_part (&scan, g_queue_pop_head (&scan.parts));
  return good;
}
