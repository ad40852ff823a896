/* hr-line-table.h: where the lines of one object begin; private to the core and to plugins/io */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * hr_line_is_blank:
 * @text: a line without its end, or any bytes of one with its start
 *
 * Lines that hold nothing are no samples: nothing but spaces, tabs and CRs, after at most one
 * UTF-8 byte-order mark in front. This is the one place that says so.
 */
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
