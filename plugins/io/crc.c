/* crc.c: cyclic redundancy checks, as S3 has them */
#include "crc.h"
#include "crc-fold.h"
#include <pthread.h>
#include <string.h>

typedef struct {
  guint64 polynomial; /* reflected */
  guint64 mask;       /* of its bits */
  guint bits;
  guint64 tables[8][256];
  HrCrcFold fold;
} Crc;

static Crc crcs[HR_N_CRCS] = {
  [HR_CRC32] = { .polynomial = 0xedb88320, .mask = G_MAXUINT32, .bits = 32 },
  [HR_CRC32C] = { .polynomial = 0x82f63b78, .mask = G_MAXUINT32, .bits = 32 },
  [HR_CRC64NVME] = { .polynomial = G_GUINT64_CONSTANT (0x9a6c9329ac4bc9b5),
                     .mask = G_MAXUINT64,
                     .bits = 64 },
};
#ifdef HR_HAVE_X86
static gboolean can_fold;
#endif

static guint64
times_x (const Crc *crc, guint64 value)
{
  return value >> 1 ^ (value & 1 ? crc->polynomial : 0);
}

/* x^n modulo the polynomial, in the upper bits of 64 */
static guint64
power_of_x (const Crc *crc, guint n)
{
  guint64 value = G_GUINT64_CONSTANT (1) << (crc->bits - 1);

  while (n-- > 0)
    value = times_x (crc, value);
  return value << (64 - crc->bits);
}

static void
prepare (Crc *crc)
{
  for (guint i = 0; i < 256; i++) {
    guint64 value = i;

    for (guint bit = 0; bit < 8; bit++)
      value = times_x (crc, value);
    crc->tables[0][i] = value;
  }
  for (guint k = 1; k < 8; k++)
    for (guint i = 0; i < 256; i++) {
      guint64 value = crc->tables[k - 1][i];

      crc->tables[k][i] = value >> 8 ^ crc->tables[0][value & 0xff];
    }
  crc->fold = (HrCrcFold){ { power_of_x (crc, 512 + 63), power_of_x (crc, 512 - 1) },
                           { power_of_x (crc, 128 + 63), power_of_x (crc, 128 - 1) } };
}

static void
prepare_all (void)
{
#ifdef HR_HAVE_X86
  const char *wanted = g_getenv ("HR_CPU");

  can_fold = !(g_strcmp0 (wanted, "baseline") == 0 || g_strcmp0 (wanted, "plain") == 0)
             && __builtin_cpu_supports ("pclmul");
#endif
  for (guint i = 0; i < HR_N_CRCS; i++)
    prepare (&crcs[i]);
}

static const Crc *
get_crc (HrCrcKind kind)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once (&once, prepare_all);
  return &crcs[kind];
}

static guint64
by_tables (const Crc *crc, guint64 state, const guint8 *bytes, gsize size)
{
  for (; size >= 8; size -= 8, bytes += 8) {
    guint64 value;

    memcpy (&value, bytes, 8);
    value = GUINT64_FROM_LE (value) ^ state;
    state = crc->tables[7][value & 0xff] ^ crc->tables[6][value >> 8 & 0xff]
            ^ crc->tables[5][value >> 16 & 0xff] ^ crc->tables[4][value >> 24 & 0xff]
            ^ crc->tables[3][value >> 32 & 0xff] ^ crc->tables[2][value >> 40 & 0xff]
            ^ crc->tables[1][value >> 48 & 0xff] ^ crc->tables[0][value >> 56];
  }
  for (; size > 0; size--, bytes++)
    state = state >> 8 ^ crc->tables[0][(state ^ *bytes) & 0xff];
  return state;
}

guint64
hr_crc_plain (HrCrcKind kind, guint64 crc, const guint8 *bytes, gsize size)
{
  const Crc *of = get_crc (kind);

  return by_tables (of, crc ^ of->mask, bytes, size) ^ of->mask;
}

guint64
hr_crc (HrCrcKind kind, guint64 crc, const guint8 *bytes, gsize size)
{
  const Crc *of = get_crc (kind);
  guint64 state = crc ^ of->mask;

#ifdef HR_HAVE_X86
  if (can_fold && size >= 64) {
    gsize whole = size & ~(gsize)15;
    guint8 rest[16];

    hr_crc_fold_clmul (&of->fold, state, bytes, whole, rest);
    state = by_tables (of, 0, rest, sizeof rest);
    bytes += whole;
    size -= whole;
  }
#endif
  return by_tables (of, state, bytes, size) ^ of->mask;
}
