/* s3-list.h: the answer to ListObjectsV2 */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *key; /* decoded */
  gint64 size;
  char *etag; /* (nullable) */
} HrS3Entry;

/* one page */
typedef struct {
  GArray *entries; /* HrS3Entry */
  char *next;      /* continuation token, NULL: this was the last page */
} HrS3Page;

/**
 * hr_s3_list_query:
 * @prefix: raw
 * @token: (nullable): continuation token of the last page
 * @max_keys: keys a page, 0: as many as the server gives
 *
 * Returns: (transfer full): the canonical query of the request
 */
char *hr_s3_list_query (const char *prefix, const char *token, guint max_keys);

/**
 * hr_s3_list_parse:
 * @page: (out): cleared with hr_s3_page_clear()
 * @error: #HR_RESOURCE_ERROR_READ
 *
 * Strict: a document that is cut, is no ListBucketResult, or lacks what a key must have is an
 * error, never a shorter list.
 */
gboolean hr_s3_list_parse (HrS3Page *page, const char *text, gsize size, GError **error);
void hr_s3_page_clear (HrS3Page *page);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Page, hr_s3_page_clear)

G_END_DECLS
