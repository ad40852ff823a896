/* fuzz-s3.c: any bytes as what an S3 server answers: a list of keys, or an error */
#include "s3-error.h"
#include "s3-list.h"
#include "hr-error.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
read_list (const char *text, gsize size)
{
  g_auto (HrS3Page) page = { 0 };
  g_autoptr (GError) error = NULL;

  if (!hr_s3_list_parse (&page, text, size, &error)) {
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
    g_assert_null (page.entries);
    g_assert_null (page.next);
    return;
  }
  g_assert_no_error (error);
  for (guint i = 0; i < page.entries->len; i++) {
    const HrS3Entry *entry = &g_array_index (page.entries, HrS3Entry, i);

    g_assert_nonnull (entry->key);
    g_assert_cmpint (entry->size, >=, 0);
    g_assert_true (!entry->etag || *entry->etag == '"' || g_str_has_prefix (entry->etag, "W/"));
  }
  g_assert_true (!page.next || *page.next);
}

static void
read_error (const char *text, gsize size)
{
  g_auto (HrS3Error) parsed = { 0 };
  int code = -1;

  if (!hr_s3_error_parse (&parsed, text, size)) {
    g_assert_null (parsed.code);
    g_assert_null (parsed.message);
    g_assert_null (parsed.region);
    return;
  }
  g_assert_true (parsed.code && *parsed.code);
  hr_s3_error_judge (parsed.code, 403, &code);
  g_assert_cmpint (code, >=, 0);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  read_list ((const char *)data, size);
  read_error ((const char *)data, size);
  return 0;
}
