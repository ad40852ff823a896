/* s3-error.h: what an S3 server says when it refuses */
#pragma once
#include "http.h"

G_BEGIN_DECLS

/* all may be NULL */
typedef struct {
  char *code; /* "NoSuchKey" */
  char *message;
  char *region; /* of a redirect */
} HrS3Error;

/* FALSE if the text is no <Error> document */
gboolean hr_s3_error_parse (HrS3Error *parsed, const char *text, gsize size);
void hr_s3_error_clear (HrS3Error *parsed);

/**
 * hr_s3_error_judge:
 * @code: (nullable): the server's word
 * @status: HTTP's
 * @error_code: (out): the #HrResourceError that fits
 *
 * Returns: whether the same request may succeed later
 */
HrRetry hr_s3_error_judge (const char *code, guint status, int *error_code);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Error, hr_s3_error_clear)

G_END_DECLS
