/* body-sum.c: the checksum that a server gives of a body, and the body's own */
#include "body-sum.h"
#include "crc.h"
#include "hr-error.h"
#include <string.h>

#define MOST_BYTES 32

typedef struct {
  const char *name;
  gsize size;
  gboolean is_crc;
  int kind; /* HrCrcKind or GChecksumType */
} Sort;

/* in the order of HrHttpSum, which is that of their speed */
static const Sort sorts[HR_HTTP_N_SUMS] = {
  [HR_HTTP_SUM_CRC64NVME] = { "CRC64NVME", 8, TRUE, HR_CRC64NVME },
  [HR_HTTP_SUM_CRC32C] = { "CRC32C", 4, TRUE, HR_CRC32C },
  [HR_HTTP_SUM_CRC32] = { "CRC32", 4, TRUE, HR_CRC32 },
  [HR_HTTP_SUM_SHA1] = { "SHA1", 20, FALSE, G_CHECKSUM_SHA1 },
  [HR_HTTP_SUM_SHA256] = { "SHA256", 32, FALSE, G_CHECKSUM_SHA256 },
};
static const Sort md5 = { "MD5 (its ETag)", 16, FALSE, G_CHECKSUM_MD5 };

struct _HrBodySum {
  const Sort *sort;
  guint8 expected[MOST_BYTES];
  guint64 crc;
  GChecksum *checksum;
};

static HrBodySum *
sum_new (const Sort *sort, const guint8 *expected)
{
  HrBodySum *sum = g_new0 (HrBodySum, 1);

  sum->sort = sort;
  memcpy (sum->expected, expected, sort->size);
  if (!sort->is_crc)
    sum->checksum = g_checksum_new (sort->kind);
  return sum;
}

/* in base64; anything else, "…-7" above all, is no checksum of the whole */
static HrBodySum *
sum_of_header (const Sort *sort, const char *value)
{
  g_autofree guint8 *bytes = NULL;
  g_autofree char *again = NULL;
  gsize size;

  if (!*value)
    return NULL;
  bytes = g_base64_decode (value, &size);
  again = g_base64_encode (bytes, size);
  return size == sort->size && strcmp (again, value) == 0 ? sum_new (sort, bytes) : NULL;
}

/* "0123…": 32 digits, with their quotes; the ETag of an object that came in parts, or was encrypted
 * with a key of the owner's, is something else */
static HrBodySum *
sum_of_etag (const char *etag)
{
  guint8 bytes[16];

  if (!etag || strlen (etag) != 34 || etag[0] != '"' || etag[33] != '"')
    return NULL;
  for (guint i = 0; i < 32; i++) {
    int digit = g_ascii_xdigit_value (etag[1 + i]);

    if (digit < 0)
      return NULL;
    bytes[i / 2] = i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit;
  }
  return sum_new (&md5, bytes);
}

HrBodySum *
hr_body_sum_new (const HrHttpResponse *response, HrVerify verify)
{
  if (verify == HR_VERIFY_NONE)
    return NULL;
  for (guint i = 0; i < HR_HTTP_N_SUMS && !response->sums_of_parts; i++) {
    HrBodySum *sum = response->sums[i] ? sum_of_header (&sorts[i], response->sums[i]) : NULL;

    if (sum)
      return sum;
  }
  return verify == HR_VERIFY_MD5 ? sum_of_etag (response->etag) : NULL;
}

void
hr_body_sum_free (HrBodySum *sum)
{
  g_clear_pointer (&sum->checksum, g_checksum_free);
  g_free (sum);
}

void
hr_body_sum_add (HrBodySum *sum, const guint8 *bytes, gsize size)
{
  if (sum->sort->is_crc)
    sum->crc = hr_crc (sum->sort->kind, sum->crc, bytes, size);
  else
    g_checksum_update (sum->checksum, bytes, size);
}

static char *
to_hex (const guint8 *bytes, gsize size)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < size; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  return g_string_free (text, FALSE);
}

gboolean
hr_body_sum_check (HrBodySum *sum, GError **error)
{
  g_autofree char *is = NULL, *should = NULL;
  guint8 bytes[MOST_BYTES];
  gsize size = sum->sort->size;

  if (sum->sort->is_crc)
    for (gsize i = 0; i < size; i++)
      bytes[i] = sum->crc >> 8 * (size - 1 - i);
  else
    g_checksum_get_digest (sum->checksum, bytes, &size);
  if (memcmp (bytes, sum->expected, sum->sort->size) == 0)
    return TRUE;
  is = to_hex (bytes, sum->sort->size);
  should = to_hex (sum->expected, sum->sort->size);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
               "the bytes that came are not those that the server has: their %s is %s, not %s",
               sum->sort->name, is, should);
  return FALSE;
}
