/* row-queue.h: lines that are samples of ours, until they are given on in blocks */
#pragma once
#include "found-lines.h"
#include "hr-element.h"

G_BEGIN_DECLS

typedef struct _RowQueue RowQueue;

/* @block_bytes: of the blocks that are made of scattered lines */
RowQueue *row_queue_new (gsize block_bytes);
void row_queue_free (RowQueue *queue);
/* behind those that are there; keeps a reference of the line's block */
void row_queue_add (RowQueue *queue, const FoundLine *line, guint epoch, gint64 place,
                    const HrRowMark *mark);
/* a place without a line: a hole is given on */
void row_queue_add_padding (RowQueue *queue, guint epoch, const HrWanted *wanted);
/* … and with one that is known to make no sample; takes @origin */
void row_queue_add_left_out (RowQueue *queue, guint epoch, const HrWanted *wanted,
                             HrOrigin *origin);
/* … of which somebody else has made a hole already; takes @hole */
void row_queue_add_hole (RowQueue *queue, HrBuffer *hole);
/* rows at this place and behind it may not be given on yet */
void row_queue_set_complete (RowQueue *queue, gint64 place);
gboolean row_queue_can_give (const RowQueue *queue);
/* pushes one block of what may be given on; FALSE with the error of hr_out_alloc() */
gboolean row_queue_give (RowQueue *queue, HrOut *out, GError **error);
/* forgets rows at this place and behind it */
void row_queue_cut (RowQueue *queue, gint64 place);

G_END_DECLS
