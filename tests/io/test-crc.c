/* test-crc.c: the published check values, and every way of computing against a bit at a time */
#include "crc.h"
#include <string.h>

typedef struct {
  guint64 polynomial; /* reflected */
  guint bits;
  guint64 check; /* of "123456789" */
} Definition;

/* from the catalogue of parametrised CRC algorithms: CRC-32/ISO-HDLC, CRC-32/ISCSI, CRC-64/NVME */
static const Definition definitions[HR_N_CRCS] = {
  [HR_CRC32] = { 0xedb88320, 32, 0xcbf43926 },
  [HR_CRC32C] = { 0x82f63b78, 32, 0xe3069283 },
  [HR_CRC64NVME] = { G_GUINT64_CONSTANT (0x9a6c9329ac4bc9b5), 64,
                     G_GUINT64_CONSTANT (0xae8b14860a799888) },
};

static guint64
bit_by_bit (const Definition *of, const guint8 *bytes, gsize size)
{
  guint64 mask = of->bits == 64 ? G_MAXUINT64 : G_MAXUINT32, state = mask;

  for (gsize i = 0; i < size; i++) {
    state ^= bytes[i];
    for (guint bit = 0; bit < 8; bit++)
      state = state >> 1 ^ (state & 1 ? of->polynomial : 0);
  }
  return state ^ mask;
}

static void
test_check (void)
{
  const guint8 *text = (const guint8 *)"123456789";

  for (guint kind = 0; kind < HR_N_CRCS; kind++) {
    g_assert_cmphex (bit_by_bit (&definitions[kind], text, 9), ==, definitions[kind].check);
    g_assert_cmphex (hr_crc (kind, 0, text, 9), ==, definitions[kind].check);
    g_assert_cmphex (hr_crc_plain (kind, 0, text, 9), ==, definitions[kind].check);
    g_assert_cmphex (hr_crc (kind, 0, text, 0), ==, 0);
    g_assert_cmphex (hr_crc (kind, 77, text, 0), ==, 77);
  }
}

/* all lengths up to some loops, at all alignments */
static void
test_lengths (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  guint8 bytes[600];

  for (guint i = 0; i < sizeof bytes; i++)
    bytes[i] = g_rand_int (random);
  for (guint kind = 0; kind < HR_N_CRCS; kind++)
    for (guint size = 0; size <= 500; size++) {
      guint at = g_rand_int_range (random, 0, 64);
      guint64 crc = bit_by_bit (&definitions[kind], bytes + at, size);

      g_assert_cmphex (hr_crc (kind, 0, bytes + at, size), ==, crc);
      g_assert_cmphex (hr_crc_plain (kind, 0, bytes + at, size), ==, crc);
    }
}

/* cut anywhere it is the same, and one bit makes it another */
static void
test_pieces (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  gsize size = 1 << 20;
  g_autofree guint8 *bytes = g_malloc (size);

  for (gsize i = 0; i < size; i++)
    bytes[i] = g_rand_int (random);
  for (guint kind = 0; kind < HR_N_CRCS; kind++) {
    guint64 whole = hr_crc (kind, 0, bytes, size), crc = 0;
    gsize bit = g_rand_int_range (random, 0, size * 8);

    g_assert_cmphex (hr_crc_plain (kind, 0, bytes, size), ==, whole);
    for (gsize at = 0, n; at < size; at += n) {
      n = g_rand_int_range (random, 0, 70000);
      n = MIN (n, size - at);
      crc = hr_crc (kind, crc, bytes + at, n);
    }
    g_assert_cmphex (crc, ==, whole);
    bytes[bit / 8] ^= 1 << bit % 8;
    g_assert_cmphex (hr_crc (kind, 0, bytes, size), !=, whole);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/crc/check", test_check);
  g_test_add_func ("/io/crc/lengths", test_lengths);
  g_test_add_func ("/io/crc/pieces", test_pieces);
  return g_test_run ();
}
