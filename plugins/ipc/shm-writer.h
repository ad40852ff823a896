/* shm-writer.h: the sending end of shared memory: its readers, what each may get, and what each
 * still holds */
#pragma once
#include "wire.h"

G_BEGIN_DECLS

/**
 * HrShmWriter:
 *
 * One thread of its own listens to the readers: it lets them in, counts what they grant and takes
 * back what they release; when one dies it ends the run. Everything else is for the thread that
 * sends.
 */
typedef struct _HrShmWriter HrShmWriter;

/**
 * hr_shm_writer_new:
 * @element: whose run it is
 * @address: (nullable): a name to listen at …
 * @fd: … or the connected socket of the only reader: taken, also on failure
 * @exclusive: no two readers get the same blocks
 */
HrShmWriter *hr_shm_writer_new (HrElement *element, const char *address, int fd, guint n_readers,
                                gboolean exclusive, GError **error);
/* blocks that readers still hold stay theirs, though nobody counts them any more */
void hr_shm_writer_free (HrShmWriter *writer);

/**
 * hr_shm_writer_wait:
 * @reader: which
 * @out: whose closing ends the wait
 *
 * Until all readers are there, and that one has granted a message. The same errors.
 */
gboolean hr_shm_writer_wait (HrShmWriter *writer, guint reader, HrOut *out, GError **error);

/**
 * hr_shm_writer_send:
 * @blocks: (nullable) (element-type HrMemory): of a buffer: by their number in @message, %NULL for
 *   those that are in no pool; all are kept until the reader has released them. %NULL: a mark
 * @out: (nullable): as above; %NULL: for at most a second
 *
 * FALSE with #HR_CORE_ERROR_STOPPED, also if the reader takes no more; or with its death.
 */
gboolean hr_shm_writer_send (HrShmWriter *writer, guint reader, const HrWireMessage *message,
                             GPtrArray *blocks, HrOut *out, GError **error);
/* the last word, to all, whatever they have granted; with @out, to those who are still to come, too
 */
void hr_shm_writer_end (HrShmWriter *writer, const HrWireMessage *mark, HrOut *out);

/**
 * hr_shm_writer_share:
 * @memory: of an allocator of hr_allocator_memfd_new()
 *
 * Where readers find those bytes: FALSE: they do not.
 */
gboolean hr_shm_writer_share (HrShmWriter *writer, const HrMemory *memory, const guint8 *data,
                              HrWirePlace *place);

/* buffers that a reader has been sent */
guint64 hr_shm_writer_get_n_sent (const HrShmWriter *writer, guint reader);
/* "waits for …"; returns what has come so far. From the thread that sends */
guint64 hr_shm_writer_describe (HrShmWriter *writer, GString *into);
/* any thread */
void hr_shm_writer_add_metrics (HrShmWriter *writer, JsonBuilder *into);

G_END_DECLS
