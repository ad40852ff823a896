/* inflate.c */
#include "inflate.h"
#include <gio/gio.h>
#include <zstd.h>
#include "hr-error.h"

struct _HrInflater {
  GConverter *gzip; /* one of these … */
  ZSTD_DStream *zstd;
  gboolean inside; /* … and it is inside a member or frame */
  gboolean begun;  /* there has been one */
};

HrStored
hr_stored_of (const char *key)
{
  return g_str_has_suffix (key, ".gz")    ? HR_STORED_GZIP
         : g_str_has_suffix (key, ".zst") ? HR_STORED_ZSTD
                                          : HR_STORED_PLAIN;
}

gboolean
hr_stored_is_jsonl (const char *key)
{
  return g_str_has_suffix (key, ".jsonl") || g_str_has_suffix (key, ".jsonl.gz")
         || g_str_has_suffix (key, ".jsonl.zst");
}

HrInflater *
hr_inflater_new (HrStored how)
{
  HrInflater *inflater = g_new0 (HrInflater, 1);

  if (how == HR_STORED_GZIP)
    inflater->gzip = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  else
    inflater->zstd = ZSTD_createDStream ();
  return inflater;
}

void
hr_inflater_free (HrInflater *inflater)
{
  if (inflater == NULL)
    return;
  g_clear_object (&inflater->gzip);
  g_clear_pointer (&inflater->zstd, ZSTD_freeDStream);
  g_free (inflater);
}

static gsize
count_zeros (const guint8 *bytes, gsize size)
{
  gsize n = 0;

  while (n < size && bytes[n] == 0)
    n++;
  return n;
}

static gboolean
step_gzip (HrInflater *inflater, const guint8 *in, gsize n_in, gsize *used, guint8 *out,
           gsize n_out, gsize *made, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (!inflater->inside && inflater->begun && (*used = count_zeros (in, n_in)) > 0)
    return TRUE; /* tapes are filled up so */
  switch (g_converter_convert (inflater->gzip, in, n_in, out, n_out, G_CONVERTER_NO_FLAGS, used,
                               made, &failure)) {
  case G_CONVERTER_FINISHED:
    g_converter_reset (inflater->gzip);
    inflater->inside = FALSE;
    inflater->begun = TRUE;
    return TRUE;
  case G_CONVERTER_ERROR:
    *used = *made = 0;
    if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
      return TRUE;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "is no gzip: %s",
                 failure->message);
    return FALSE;
  default:
    inflater->inside = TRUE;
    return TRUE;
  }
}

static gboolean
step_zstd (HrInflater *inflater, const guint8 *in, gsize n_in, gsize *used, guint8 *out,
           gsize n_out, gsize *made, GError **error)
{
  ZSTD_inBuffer from = { in, n_in, 0 };
  ZSTD_outBuffer to = { out, n_out, 0 };
  gsize result = ZSTD_decompressStream (inflater->zstd, &to, &from);

  *used = from.pos;
  *made = to.pos;
  if (ZSTD_isError (result)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "is no zstd: %s",
                 ZSTD_getErrorName (result));
    return FALSE;
  }
  inflater->inside = result != 0;
  inflater->begun = TRUE;
  return TRUE;
}

gboolean
hr_inflater_step (HrInflater *inflater, const guint8 *in, gsize n_in, gsize *used, guint8 *out,
                  gsize n_out, gsize *made, GError **error)
{
  *used = *made = 0;
  return inflater->gzip != NULL ? step_gzip (inflater, in, n_in, used, out, n_out, made, error)
                                : step_zstd (inflater, in, n_in, used, out, n_out, made, error);
}

gboolean
hr_inflater_may_end (const HrInflater *inflater)
{
  return !inflater->inside;
}
