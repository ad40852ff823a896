/* hr-buffer.h: what flows: one sample, later one batch of them */
#pragma once
#include <json-glib/json-glib.h>
#include "hr-rows.h"
#include "hr-tensor.h"

G_BEGIN_DECLS

/**
 * HrOrigin:
 * @uri: (type utf8) (nullable): the object the sample comes from
 * @root: (type utf8) (nullable): the location given to the source, or its folder: the tree that
 * links may not leave
 * @byte: offset of the line's first byte, -1 unknown
 * @length: bytes of the line without its end, -1 unknown
 * @line: physical line, the first is 1; -1 unknown
 * @id: (nullable): the record's id, as written
 *
 * Where a sample came from, kept to the very end. Refcounted; writable only until it is shared.
 */
typedef struct {
  /*< private >*/
  gint ref_count;
  /*< public >*/
  GRefString *uri;
  GRefString *root;
  gint64 byte;
  gint64 length;
  gint64 line;
  char *id;
} HrOrigin;

#define HR_TYPE_ORIGIN (hr_origin_get_type ())
GType hr_origin_get_type (void);

/* takes references of @uri and @root, which may be NULL */
HrOrigin *hr_origin_new (GRefString *uri, GRefString *root, gint64 byte, gint64 length,
                         gint64 line);
HrOrigin *hr_origin_ref (HrOrigin *origin);
void hr_origin_unref (HrOrigin *origin);
/* "s3://c/train/a.jsonl:1234", or with the byte where the line is not known; (transfer full) */
char *hr_origin_to_string (const HrOrigin *origin);

/**
 * HrList:
 *
 * A refcounted list of tensors, strings and JSON nodes: the images of a sample, the ids of a batch.
 */
typedef struct _HrList HrList;

/**
 * HrFieldType:
 * @HR_FIELD_TENSOR: #HrTensor
 * @HR_FIELD_LIST: #HrList
 * @HR_FIELD_JSON: #JsonNode
 * @HR_FIELD_STRING: UTF-8
 *
 * What a field, or an item of a list, is.
 */
typedef enum { HR_FIELD_TENSOR, HR_FIELD_LIST, HR_FIELD_JSON, HR_FIELD_STRING } HrFieldType;

#define HR_TYPE_LIST (hr_list_get_type ())
GType hr_list_get_type (void);

HrList *hr_list_new (guint reserved);
HrList *hr_list_ref (HrList *list);
void hr_list_unref (HrList *list);
guint hr_list_get_length (const HrList *list);
HrFieldType hr_list_get_item_type (const HrList *list, guint index);
/* takes @tensor */
void hr_list_append_tensor (HrList *list, HrTensor *tensor);
void hr_list_append_string (HrList *list, const char *string);
/* takes @node */
void hr_list_append_json (HrList *list, JsonNode *node);
/* appends references to all items of @other */
void hr_list_append_list (HrList *list, const HrList *other);
/* (transfer none); NULL if the item is of another type */
HrTensor *hr_list_get_tensor (const HrList *list, guint index);
const char *hr_list_get_string (const HrList *list, guint index);
JsonNode *hr_list_get_json (const HrList *list, guint index);
/* takes @tensor */
void hr_list_set_tensor (HrList *list, guint index, HrTensor *tensor);

/**
 * HrBufferFlags:
 * @HR_BUFFER_HOLE: a sample that was skipped; it has its number and origin, and no fields
 * @HR_BUFFER_BATCH: made by `batch`; hr_buffer_get_members() gives its samples, holes too
 * @HR_BUFFER_BLOCK_END: the last packed row of its block; with scan=lengths, the last sample of its
 *   row as well
 * @HR_BUFFER_DROPPED: of a hole: a policy left the sample out, it is not bad
 *
 * What is special about a buffer.
 */
typedef enum {
  HR_BUFFER_HOLE = 1 << 0,
  HR_BUFFER_BATCH = 1 << 1,
  HR_BUFFER_BLOCK_END = 1 << 2,
  HR_BUFFER_DROPPED = 1 << 3
} HrBufferFlags;

/**
 * HrBuffer:
 * @number: its place on the link, counted from 0 without gaps; of a batch: the step
 * @sample: its sample's number in the order; of a batch: the lowest of its samples
 * @epoch: counted from 0
 * @place: where its sample stands in the order of its epoch, counted over all ranks
 * (docs/order.md); of a batch: where its first does, of a packed row: where its block does, or with
 * scan=lengths the number of the row itself; -1 unknown
 * @flags: #HrBufferFlags
 *
 * Named fields plus where they came from. One rule of ownership everywhere: passing a buffer
 * gives it away. Shared buffers are read-only; hr_buffer_make_writable() gives you one you own.
 */
typedef struct _HrBuffer HrBuffer;

/**
 * HrForeign:
 *
 * Private to the core: where the run of another process is behind a buffer that it sent.
 */
typedef struct _HrForeign HrForeign;
struct _HrBuffer {
  gint64 number;
  gint64 sample;
  gint64 place;
  guint epoch;
  guint flags;
  /*< private >*/
  gint ref_count;
  guint n_fields;
  guint n_room;
  struct _HrField *fields;
  HrOrigin *origin;
  GPtrArray *members;
  HrRows *rows;
  gint row; /* of a packed row: which of its block's it is; of a sample: HrRowMark.number */
  HrReservation *reservation; /* of the block of text it was cut from */
  GError *error;              /* of a hole: why */
  GPtrArray *left_out; /* of a packed row: HrBuffer: holes of its block, and of those before it that
                        * made no row, that are in no row */
  HrForeign *foreign;  /* of one that another process sent: where its run is behind it */
};

#define HR_TYPE_BUFFER (hr_buffer_get_type ())
GType hr_buffer_get_type (void);

HrBuffer *hr_buffer_new (void);
HrBuffer *hr_buffer_ref (HrBuffer *buffer);
void hr_buffer_unref (HrBuffer *buffer);
gboolean hr_buffer_is_writable (HrBuffer *buffer);
/* takes @buffer; returns it when you are its only owner, else a copy of header and field list that
 * shares all data. Never copies pixels. */
HrBuffer *hr_buffer_make_writable (HrBuffer *buffer);

/* gives @buffer the number, sample, epoch and place of @like: it stands for the same */
static inline void
hr_buffer_stand_for (HrBuffer *buffer, const HrBuffer *like)
{
  buffer->number = like->number;
  buffer->sample = like->sample;
  buffer->epoch = like->epoch;
  buffer->place = like->place;
  buffer->row = like->row;
  buffer->flags &= ~(guint)HR_BUFFER_BLOCK_END;
  buffer->flags |= like->flags & HR_BUFFER_BLOCK_END;
}

/* private to the core: @buffer is a sample for that packed row */
static inline void
hr_buffer_mark_row (HrBuffer *buffer, const HrRowMark *row)
{
  buffer->row = (gint)row->number;
  if (row->end)
    buffer->flags |= HR_BUFFER_BLOCK_END;
}

/* takes @rows, may be NULL: which lines of its field "lines" are samples */
void hr_buffer_set_rows (HrBuffer *buffer, HrRows *rows);
/* (transfer none) (nullable) */
HrRows *hr_buffer_get_rows (const HrBuffer *buffer);

/* takes @origin, may be NULL */
void hr_buffer_set_origin (HrBuffer *buffer, HrOrigin *origin);
/* (transfer none) (nullable) */
HrOrigin *hr_buffer_get_origin (const HrBuffer *buffer);

/* Field names are interned: use literals or g_intern_string(). All setters replace a field of that
 * name whatever its type, and take what they are given (strings are copied). */
void hr_buffer_set_tensor (HrBuffer *buffer, const char *name, HrTensor *tensor);
void hr_buffer_set_list (HrBuffer *buffer, const char *name, HrList *list);
void hr_buffer_set_json (HrBuffer *buffer, const char *name, JsonNode *node);
void hr_buffer_set_string (HrBuffer *buffer, const char *name, const char *value);
void hr_buffer_remove (HrBuffer *buffer, const char *name);
/* (transfer none) (nullable): NULL too if the field has another type */
HrTensor *hr_buffer_get_tensor (const HrBuffer *buffer, const char *name);
HrList *hr_buffer_get_list (const HrBuffer *buffer, const char *name);
JsonNode *hr_buffer_get_json (const HrBuffer *buffer, const char *name);
const char *hr_buffer_get_string (const HrBuffer *buffer, const char *name);

guint hr_buffer_get_n_fields (const HrBuffer *buffer);
/* the name (transfer none) and type of field @index, in the order in which they were first set */
const char *hr_buffer_get_field (const HrBuffer *buffer, guint index, HrFieldType *type);
/* takes references to all fields of @from */
void hr_buffer_copy_fields (HrBuffer *buffer, const HrBuffer *from);

/* turns @buffer into a batch and appends @member (takes it) */
void hr_buffer_add_member (HrBuffer *buffer, HrBuffer *member);
guint hr_buffer_get_n_members (const HrBuffer *buffer);
/* (transfer none) */
HrBuffer *hr_buffer_get_member (const HrBuffer *buffer, guint index);

/* sum of the bytes of all tensors, each counted once a field; members are not followed */
gsize hr_buffer_get_n_bytes (const HrBuffer *buffer);

/**
 * hr_buffer_get_digest:
 *
 * Sums up its content: names, dtypes, shapes and bytes of all fields, and which members are holes.
 *
 * Returns: (transfer full): sha256, in hexadecimal
 */
char *hr_buffer_get_digest (const HrBuffer *buffer);

/**
 * hr_buffer_make_hole:
 * @error: (transfer full) (nullable): why
 *
 * For the core: drops all fields and the reservation, keeps number and origin.
 */
void hr_buffer_make_hole (HrBuffer *buffer, GError *error);

/**
 * hr_buffer_lose_member:
 * @index: below hr_buffer_get_n_members()
 * @error: (transfer full): why
 *
 * For the core: that sample of a batch becomes a hole.
 */
void hr_buffer_lose_member (HrBuffer *batch, guint index, GError *error);
/* (transfer none) (nullable): why it is a hole; members of a delivered batch tell it too */
const GError *hr_buffer_get_error (const HrBuffer *buffer);

gint hr_buffer_live (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrOrigin, hr_origin_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrList, hr_list_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrBuffer, hr_buffer_unref)

G_END_DECLS
