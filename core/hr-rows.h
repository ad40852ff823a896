/* hr-rows.h: which lines of a block are samples, and where these stand in the order */
#pragma once
#include <glib-object.h>

G_BEGIN_DECLS

/**
 * HrRowMark:
 * @number: of the row in its epoch
 * @end: it is the row's last sample
 *
 * Where packed rows are numbered beforehand: whose a sample is.
 */
typedef struct {
  guint number;
  gboolean end;
} HrRowMark;

/**
 * HrRow:
 * @uri: the object the line is of
 * @root: (nullable): the tree that its links may not leave
 * @offset: of its first byte in the block's "lines"
 * @length: bytes of it that are there, without its end
 * @bytes: bytes of it, without its end: more than @length if it is over the source's limit
 * @byte: offset of its first byte in the object
 * @line: its number there, the first is 1; -1 unknown
 * @place: in the order of its epoch (docs/order.md)
 * @row: the packed row that its sample is for
 *
 * A line that a sample shall be made of.
 */
typedef struct {
  GRefString *uri;
  GRefString *root;
  gsize offset;
  gsize length;
  gint64 bytes;
  gint64 byte;
  gint64 line;
  gint64 place;
  HrRowMark row;
} HrRow;

/**
 * HrRows:
 *
 * The lines that an element shall make samples of, in that order: of each exactly one, or a hole,
 * or nothing. Without rows, all lines of a block are meant, blank ones not. Refcounted; constant
 * once it is given to a buffer.
 */
typedef struct _HrRows HrRows;

#define HR_TYPE_ROWS (hr_rows_get_type ())
GType hr_rows_get_type (void);

HrRows *hr_rows_new (void);
HrRows *hr_rows_ref (HrRows *rows);
void hr_rows_unref (HrRows *rows);

/**
 * hr_rows_add:
 * @row: the line
 *
 * Appends a line. @row is copied, its uri and root get references.
 */
void hr_rows_add (HrRows *rows, const HrRow *row);

/**
 * hr_rows_get_length:
 *
 * Counts the lines.
 *
 * Returns: number of lines
 */
guint hr_rows_get_length (const HrRows *rows);

/**
 * hr_rows_get:
 * @index: below hr_rows_get_length()
 *
 * Gives a line.
 *
 * Returns: (transfer none): the line
 */
const HrRow *hr_rows_get (const HrRows *rows, guint index);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrRows, hr_rows_unref)

G_END_DECLS
