/* shm-words.h: what the two ends of shared memory say to each other beside buffers and marks */
#pragma once
#include "wire.h"

G_BEGIN_DECLS

/**
 * HrShmHello:
 * @is_writer: who says it
 * @pid: of the process, for messages
 * @reader: of the reader: which it wants to be, -1 any; of the writer: which it is
 * @credits: of the reader: messages that may be on their way to it
 * @n_readers: of the writer
 * @exclusive: of the writer: nobody else gets the same blocks
 */
typedef struct {
  gboolean is_writer;
  guint pid;
  gint reader;
  guint credits;
  guint n_readers;
  gboolean exclusive;
} HrShmHello;

/* a block of one of the buffers, which are counted from 0 */
typedef struct {
  guint64 buffer;
  guint block;
} HrShmRelease;

HrWireMessage *hr_shm_write_hello (const HrShmHello *hello);
HrWireMessage *hr_shm_write_credit (guint n);
HrWireMessage *hr_shm_write_release (const HrShmRelease *releases, guint n);
/* pool @number is @length bytes of the descriptor that comes with it */
HrWireMessage *hr_shm_write_pool (guint number, guint64 length);
HrWireMessage *hr_shm_write_leave (void);

gboolean hr_shm_read_hello (const guint8 *description, gsize size, HrShmHello *hello,
                            GError **error);
gboolean hr_shm_read_credit (const guint8 *description, gsize size, guint *n, GError **error);
/* (transfer full): of HrShmRelease */
GArray *hr_shm_read_release (const guint8 *description, gsize size, GError **error);
gboolean hr_shm_read_pool (const guint8 *description, gsize size, guint *number, guint64 *length,
                           GError **error);

G_END_DECLS
