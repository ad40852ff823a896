/* found-lines.h: the lines in blocks that have been read, blank ones left out */
#pragma once
#include "hr-buffer.h"

G_BEGIN_DECLS

/**
 * FoundLine:
 * @block: (transfer none): holds it
 * @uri: (transfer none): of its object, held by the block
 * @root: (transfer none) (nullable): the same, of the tree that links may not leave
 * @extent: what was given with the block
 * @offset: of its first byte in the block
 * @length: bytes there, without the end
 * @bytes: of the line; more than @length if it is over the limit
 * @byte: in the object
 * @line: -1 unknown
 */
typedef struct {
  HrBuffer *block;
  GRefString *uri;
  GRefString *root;
  guint extent;
  gsize offset;
  gsize length;
  gint64 bytes;
  gint64 byte;
  gint64 line;
} FoundLine;

typedef struct _FoundLines FoundLines;

FoundLines *found_lines_new (void);
void found_lines_free (FoundLines *found);
/* takes @block, of hr_lines_next() */
void found_lines_add_block (FoundLines *found, HrBuffer *block, guint extent);
guint found_lines_get_length (const FoundLines *found);
/* valid until the next block is added */
const FoundLine *found_lines_get (const FoundLines *found, guint index);
/* the line that begins at that byte; NULL if none does. Blocks have been added by extent and byte
 */
const FoundLine *found_lines_find (const FoundLines *found, guint extent, gint64 byte);
/* forgets all */
void found_lines_clear (FoundLines *found);

G_END_DECLS
