/* wire.h: buffers and marks as messages between processes, by value or by reference. docs/wire.md
 * has the layout. What comes is somebody else's: nothing in it is believed before it is checked. */
#pragma once
#include "headrace.h"

G_BEGIN_DECLS

#define HR_WIRE_VERSION 1
/* bytes of a message's header */
#define HR_WIRE_HEADER_SIZE 32
/* of all blocks of bytes in a message, counted from its start */
#define HR_WIRE_ALIGNMENT 64
/* most bytes of a description: names, shapes, texts, never pixels */
#define HR_WIRE_MAX_DESCRIPTION (64u << 20)

typedef enum {
  HR_WIRE_BUFFER = 1, /* one buffer */
  HR_WIRE_EPOCH,      /* mark: an epoch has ended */
  HR_WIRE_END,        /* mark: nothing more will come */
  HR_WIRE_FAILED,     /* mark: nothing more will come, and why */
  HR_WIRE_HELLO,      /* shared memory only: who is there */
  HR_WIRE_CREDIT,     /* … that many more messages may be sent */
  HR_WIRE_RELEASE,    /* … blocks that nobody needs any more */
  HR_WIRE_POOL,       /* … a descriptor comes with it */
  HR_WIRE_LEAVE,      /* … the reader takes no more, but may still hold blocks */
  HR_WIRE_N_KINDS
} HrWireKind;

/**
 * HrWireHeader:
 * @total: bytes of the whole message, header included
 * @description: bytes of the description behind the header
 * @checksum: CRC-32C of the description
 */
typedef struct {
  HrWireKind kind;
  guint64 total;
  guint32 description;
  guint32 checksum;
} HrWireHeader;

/* where the payload of a message begins, if it has any */
static inline guint64
hr_wire_payload_offset (const HrWireHeader *header)
{
  return ((guint64)HR_WIRE_HEADER_SIZE + header->description + HR_WIRE_ALIGNMENT - 1)
         & ~(guint64)(HR_WIRE_ALIGNMENT - 1);
}

/**
 * hr_wire_read_header:
 * @bytes: #HR_WIRE_HEADER_SIZE bytes
 * @max_total: the longest message that is taken
 * @error: #HR_RESOURCE_ERROR_READ
 *
 * Checks magic, version, kind, lengths and the header's own checksum.
 */
gboolean hr_wire_read_header (const guint8 *bytes, guint64 max_total, HrWireHeader *header,
                              GError **error);
/* are these the header->description bytes that were sent? */
gboolean hr_wire_check_description (const HrWireHeader *header, const guint8 *description,
                                    GError **error);

/* ---- writing ---- */

/**
 * HrWirePlace:
 * @pool: which of the pools that the other side knows; #HR_WIRE_INLINE: the message itself
 * @offset: of the first byte in there
 */
typedef struct {
  guint32 pool;
  guint64 offset;
} HrWirePlace;

#define HR_WIRE_INLINE G_MAXUINT32

/**
 * HrWireShare:
 * @block: the how-many-th of the message it is, from 0
 * @memory: whose bytes they are
 * @data: the first of them
 * @place: (out): where the other side finds them
 *
 * Returns: %FALSE with an error
 */
typedef gboolean (*HrWireShare) (gpointer user, guint block, HrMemory *memory, const guint8 *data,
                                 gsize size, HrWirePlace *place, GError **error);

/**
 * HrWirePosition:
 * @checkpoint: (nullable): the run's document behind the buffer, see hr_pipeline_get_checkpoint()
 * @refusal: (nullable): why there is none
 * @n_steps: of the whole run, see hr_pipeline_get_n_steps(); -1 unknown
 */
typedef struct {
  char *checkpoint;
  char *refusal;
  gint64 n_steps;
} HrWirePosition;

void hr_wire_position_clear (HrWirePosition *position);

/**
 * HrWireMessage:
 * @head: header, description, and what fills it up to the payload
 * @parts: struct iovec: the payload; the bytes are the buffer's
 * @n_blocks: blocks of bytes that the message names
 * @n_inline: bytes of tensors that it holds itself
 */
typedef struct {
  GByteArray *head;
  GArray *parts;
  guint64 total;
  guint n_blocks;
  guint64 n_inline;
} HrWireMessage;

/**
 * hr_wire_write_buffer:
 * @buffer: must live until the message has been sent
 * @position: (nullable): where the run is behind it
 * @share: (nullable): %NULL: all bytes are in the message
 * @error: return location: a field that no message can hold, or what @share says
 *
 * Returns: (transfer full): the message
 */
HrWireMessage *hr_wire_write_buffer (const HrBuffer *buffer, const HrWirePosition *position,
                                     HrWireShare share, gpointer user, GError **error);
/* @epoch has ended */
HrWireMessage *hr_wire_write_epoch (guint epoch);
/* @n_buffers: all that were sent; @stats: (nullable): the run's */
HrWireMessage *hr_wire_write_end (guint64 n_buffers, const char *stats);
HrWireMessage *hr_wire_write_failed (guint64 n_buffers, const GError *why, const char *stats);
void hr_wire_message_free (HrWireMessage *message);
/* the message without its payload, for who makes descriptions of other kinds: takes @description */
HrWireMessage *hr_wire_message_new (HrWireKind kind, GByteArray *description);

/* ---- reading ---- */

/**
 * HrWireMap:
 * @block: the how-many-th of the message it is, from 0
 * @pool: as the message has it, never #HR_WIRE_INLINE
 *
 * Returns: (transfer full): those bytes; %NULL with an error, if there is no such pool, or not so
 *   many bytes in it
 */
typedef HrMemory *(*HrWireMap) (gpointer user, guint block, guint32 pool, guint64 offset,
                                guint64 size, GError **error);

/**
 * hr_wire_read_buffer:
 * @description: of an #HR_WIRE_BUFFER
 * @payload: (nullable): the message's, from hr_wire_payload_offset() on
 * @map: (nullable): %NULL: all bytes must be in the message
 * @position: (out): clear it
 *
 * Tensors are views of @payload, and of what @map gives, without a copy. The field names are
 * interned: at most some thousand different ones are, in the life of the process.
 *
 * Returns: (transfer full): the buffer; %NULL with an error, and then nothing is left of it
 */
HrBuffer *hr_wire_read_buffer (const guint8 *description, gsize size, HrMemory *payload,
                               HrWireMap map, gpointer user, HrWirePosition *position,
                               GError **error);

/**
 * HrWireMark:
 * @epoch: of an #HR_WIRE_EPOCH
 * @n_buffers: of an end: how many have been sent
 * @why: (nullable): of a failure
 * @stats: (nullable): of an end: JSON
 */
typedef struct {
  guint epoch;
  guint64 n_buffers;
  GError *why;
  char *stats;
} HrWireMark;

/* of kind #HR_WIRE_EPOCH, #HR_WIRE_END or #HR_WIRE_FAILED */
gboolean hr_wire_read_mark (HrWireKind kind, const guint8 *description, gsize size,
                            HrWireMark *mark, GError **error);
void hr_wire_mark_clear (HrWireMark *mark);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrWireMessage, hr_wire_message_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrWirePosition, hr_wire_position_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrWireMark, hr_wire_mark_clear)

G_END_DECLS
