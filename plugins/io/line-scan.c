/* line-scan.c: finds where the lines of an object begin, from its bytes in pieces */
#include "line-scan.h"
#include <string.h>

struct _HrLineScan {
  HrLineTable *table;
  gint64 byte;     /* of the object, where the next piece begins */
  gint64 start;    /* of the line … */
  gint64 line;     /* … its number … */
  HrLineHead head; /* … and what has been seen of it; in the table as soon as that is text */
};

HrLineScan *
hr_line_scan_new (void)
{
  HrLineScan *scan = g_new0 (HrLineScan, 1);

  scan->table = hr_line_table_new ();
  scan->line = 1;
  scan->head = HR_LINE_START;
  return scan;
}

void
hr_line_scan_free (HrLineScan *scan)
{
  g_clear_pointer (&scan->table, hr_line_table_unref);
  g_free (scan);
}

static void
count_line (HrLineScan *scan)
{
  hr_line_table_add (scan->table, scan->start, scan->line);
}

/* the line that begins at @byte follows */
static void
next_line (HrLineScan *scan, gint64 byte)
{
  scan->start = byte;
  scan->line++;
  scan->head = HR_LINE_START;
}

void
hr_line_scan_feed (HrLineScan *scan, const guint8 *bytes, gsize size)
{
  const guint8 *p = bytes, *end = bytes + size;

  while (p < end) {
    if (scan->head == HR_LINE_TEXT) {
      p = memchr (p, '\n', end - p);
      if (p == NULL)
        break;
      next_line (scan, scan->byte + (++p - bytes));
    } else if (*p != '\n') {
      scan->head = hr_line_head_step (scan->head, *p++);
      if (scan->head == HR_LINE_TEXT)
        count_line (scan);
    } else {
      if (!hr_line_head_is_blank (scan->head))
        count_line (scan);
      next_line (scan, scan->byte + (++p - bytes));
    }
  }
  scan->byte += (gint64)size;
}

HrLineTable *
hr_line_scan_end (HrLineScan *scan)
{
  if (scan->head != HR_LINE_TEXT && !hr_line_head_is_blank (scan->head))
    count_line (scan);
  hr_line_table_freeze (scan->table);
  return g_steal_pointer (&scan->table);
}
