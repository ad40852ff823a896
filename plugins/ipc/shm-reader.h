/* shm-reader.h: the receiving end of shared memory: a connection, the pools that it has mapped, and
 * the blocks that somebody holds, which outlive the pipeline */
#pragma once
#include "wire.h"

G_BEGIN_DECLS

/**
 * HrShmReader:
 *
 * Refcounted: each block of a buffer that it has given holds a reference. With the last one the
 * connection is closed and the pools are unmapped.
 */
typedef struct _HrShmReader HrShmReader;

/* takes @fd, a connected socket, also on failure. Says hello: it wants to be reader @index (-1:
 * any), and grants @credits messages */
HrShmReader *hr_shm_reader_new (int fd, gint index, guint credits, GError **error);
HrShmReader *hr_shm_reader_ref (HrShmReader *reader);
void hr_shm_reader_unref (HrShmReader *reader);

typedef enum {
  HR_SHM_BUFFER,
  HR_SHM_NOTHING, /* not yet: poll, see hr_shm_reader_get_fd() */
  HR_SHM_END,
  HR_SHM_ERROR
} HrShmGot;

/**
 * hr_shm_reader_read:
 * @buffer: (out): when HR_SHM_BUFFER is returned
 * @error: why there is none: the writer's own failure, its death, or what is wrong with what it
 *   sends
 *
 * From one thread at a time.
 */
HrShmGot hr_shm_reader_read (HrShmReader *reader, HrBuffer **buffer, HrWirePosition *position,
                             GError **error);
/* @n more messages may come */
void hr_shm_reader_grant (HrShmReader *reader, guint n);
/* no more is wanted; what is held stays held */
void hr_shm_reader_leave (HrShmReader *reader);
/* for poll(), with the events that matter now */
int hr_shm_reader_get_fd (HrShmReader *reader, short *events);
/* what can be sent of what is to be sent: after POLLOUT */
void hr_shm_reader_flush (HrShmReader *reader);
/* "waits for …"; from the thread that reads; returns what has come so far */
guint64 hr_shm_reader_describe (HrShmReader *reader, GString *into);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrShmReader, hr_shm_reader_unref)

G_END_DECLS
