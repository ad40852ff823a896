/* lines.h: cuts a stream of bytes into buffers of whole lines */
#pragma once
#include "hr-buffer.h"

G_BEGIN_DECLS

/**
 * HrLines:
 *
 * The field it gives, "lines", is uint8 [n]: whole lines with their ends (LF), in the order of the
 * object; only the object's last line may lack its end. A block has at most block-bytes, unless one
 * line alone is longer: then the block is that line. Origin of the buffer: the object's uri and
 * root, `byte` = offset of the block's first byte, `line` = number of its first line (the first
 * is 1), `length` = bytes of the block.
 *
 * Of a line longer than max-line-bytes only the first max-line-bytes + 1 bytes are kept, as a
 * block of their own without a line end: whoever reads the line sees that it is over the limit,
 * with its true byte offset and number, and the rest never takes memory. The string field
 * "line-limit" of that buffer holds max-line-bytes in decimal, and origin `length` the true number
 * of bytes without the end.
 */
typedef struct _HrLines HrLines;

/**
 * HrLinesFuncs:
 * @read: puts up to @size bytes at @into; 0 at the end of the object, -1 with an error. May wait.
 * @alloc: memory for a block; may wait for the pipeline's budget
 */
typedef struct {
  gssize (*read) (gpointer data, guint8 *into, gsize size, GError **error);
  HrMemory *(*alloc) (gpointer data, gsize size, GError **error);
} HrLinesFuncs;

/* @funcs must outlive it */
HrLines *hr_lines_new (const HrLinesFuncs *funcs, gpointer data, gsize block_bytes,
                       gsize max_line_bytes);
void hr_lines_free (HrLines *lines);

/**
 * hr_lines_begin:
 * @uri: of the object (a reference is taken)
 * @root: the tree that links may not leave (a reference is taken)
 * @start: gives the lines that begin at or after this byte …
 * @end: … and before this one, -1: to the end of the object
 *
 * The first byte that read() must give is @start, or @start - 1 if @start is not 0, which tells
 * whether a line begins at @start. It is read past @end until the last line is complete. Line
 * numbers are known only from the start of an object.
 */
void hr_lines_begin (HrLines *lines, GRefString *uri, GRefString *root, gint64 start, gint64 end);
/* the lines up to @end are wanted as well; also after hr_lines_next() gave %NULL, if that was not
 * because the object ended */
void hr_lines_extend (HrLines *lines, gint64 end);

/**
 * hr_lines_next:
 * @block: (out) (transfer full) (nullable): the next block, %NULL at the end of the object
 *
 * Returns: %FALSE with the error of read or alloc
 */
gboolean hr_lines_next (HrLines *lines, HrBuffer **block, GError **error);

/* bytes that were copied from block to block since the last call: the beginnings of lines */
gsize hr_lines_take_copied (HrLines *lines);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrLines, hr_lines_free)

G_END_DECLS
