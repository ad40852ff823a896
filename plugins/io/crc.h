/* crc.h: cyclic redundancy checks, as S3 has them */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  HR_CRC32,     /* of zlib, PNG and Ethernet */
  HR_CRC32C,    /* Castagnoli's: of iSCSI */
  HR_CRC64NVME, /* of the NVM Express specification */
  HR_N_CRCS
} HrCrcKind;

/**
 * hr_crc:
 * @crc: of the bytes before these, 0 at the start
 *
 * Folds 64 bytes at a time by carry-less multiplication where the processor has it, else goes
 * through tables, 8 bytes at a time; HR_CPU=baseline and HR_CPU=plain do so anywhere.
 *
 * Returns: of all bytes so far
 */
guint64 hr_crc (HrCrcKind kind, guint64 crc, const guint8 *bytes, gsize size);
/* the same by tables, for tests */
guint64 hr_crc_plain (HrCrcKind kind, guint64 crc, const guint8 *bytes, gsize size);

G_END_DECLS
