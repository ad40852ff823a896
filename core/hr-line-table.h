/* hr-line-table.h: where the lines of one object begin; private to the core and to plugins/io */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* what is known of a line from its bytes so far */
typedef enum {
  HR_LINE_START, /* there are none */
  HR_LINE_MARK_1,
  HR_LINE_MARK_2, /* a part of a byte-order mark */
  HR_LINE_SPACE,  /* nothing that is seen */
  HR_LINE_TEXT    /* it is not blank, whatever comes */
} HrLineHead;

/**
 * hr_line_head_step:
 * @byte: the next one of the line, not its LF
 *
 * Lines that hold nothing are no samples: nothing but spaces, tabs and CRs, after at most one
 * UTF-8 byte-order mark in front. This is the one place that says so.
 */
static inline HrLineHead
hr_line_head_step (HrLineHead head, guint8 byte)
{
  if (head == HR_LINE_START || head == HR_LINE_SPACE) {
    if (byte == ' ' || byte == '\t' || byte == '\r')
      return HR_LINE_SPACE;
    return head == HR_LINE_START && byte == 0xef ? HR_LINE_MARK_1 : HR_LINE_TEXT;
  }
  if (head == HR_LINE_MARK_1 && byte == 0xbb)
    return HR_LINE_MARK_2;
  return head == HR_LINE_MARK_2 && byte == 0xbf ? HR_LINE_SPACE : HR_LINE_TEXT;
}

/* is a line blank of which no more comes? A part of a mark is something. */
static inline gboolean
hr_line_head_is_blank (HrLineHead head)
{
  return head == HR_LINE_START || head == HR_LINE_SPACE;
}

/* @text: a line without its LF */
gboolean hr_line_is_blank (const char *text, gsize size);

/**
 * HrLineTable:
 *
 * Where the lines of one object begin that are not blank: for each its first byte and its number
 * among all lines, blank ones too (the first is 1), as an editor shows it. Lines end at LF alone;
 * the last may lack its end.
 *
 * Filled in ascending order by one thread and then frozen; from then on it does not change, and any
 * number of threads may read it and hold references. 4.125 bytes a line when it is frozen, 512
 * bytes more for each 64 lines that span more than 4 GiB, and 16 bytes for each run of blank lines.
 */
typedef struct _HrLineTable HrLineTable;

HrLineTable *hr_line_table_new (void);
HrLineTable *hr_line_table_ref (HrLineTable *table);
void hr_line_table_unref (HrLineTable *table);

/**
 * hr_line_table_add:
 * @byte: where the line begins, behind all so far
 * @line: its physical number, higher than all so far
 */
void hr_line_table_add (HrLineTable *table, gint64 byte, gint64 line);
/* all lines are there: it is not changed any more, and holds no more memory than it needs */
void hr_line_table_freeze (HrLineTable *table);

guint64 hr_line_table_get_length (const HrLineTable *table);
/* @index below the length */
gint64 hr_line_table_get_byte (const HrLineTable *table, guint64 index);
gint64 hr_line_table_get_line (const HrLineTable *table, guint64 index);
/* index of the first line that begins at @byte or behind it; the length if none does */
guint64 hr_line_table_find (const HrLineTable *table, gint64 byte);
/* memory it holds */
gsize hr_line_table_get_n_bytes (const HrLineTable *table);

/**
 * hr_line_table_to_bytes:
 * @table: a frozen one
 *
 * Returns: (transfer full): what hr_line_table_from_bytes() reads, on machines of the same byte
 *   order; no copy, it shares the table's memory
 */
GBytes *hr_line_table_to_bytes (const HrLineTable *table);
/**
 * hr_line_table_from_bytes:
 * @size: bytes of the object
 *
 * Returns: (transfer full) (nullable): a frozen table; %NULL if @bytes are not the table of any
 *   object of that size. Whatever they are, nothing is read outside of them.
 */
HrLineTable *hr_line_table_from_bytes (GBytes *bytes, gint64 size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrLineTable, hr_line_table_unref)

G_END_DECLS
