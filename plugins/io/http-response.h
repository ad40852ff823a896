/* http-response.h: the head of an answer, and whether it answers what was asked */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* checksums that S3 gives of an object, the quickest to compute first */
typedef enum {
  HR_HTTP_SUM_CRC64NVME,
  HR_HTTP_SUM_CRC32C,
  HR_HTTP_SUM_CRC32,
  HR_HTTP_SUM_SHA1,
  HR_HTTP_SUM_SHA256,
  HR_HTTP_N_SUMS
} HrHttpSum;

/* numbers are -1 and strings NULL where the answer does not say */
typedef struct {
  guint status;
  gint64 content_length;
  gboolean chunked;
  gboolean contradicts; /* two Content-Lengths */
  gint64 range_first;   /* of Content-Range */
  gint64 range_last;
  gint64 range_total;
  char *etag;
  char *content_type;
  char *content_encoding;
  char *retry_after;
  char *location;
  char *date;
  char *region;               /* x-amz-bucket-region */
  char *sums[HR_HTTP_N_SUMS]; /* x-amz-checksum-crc32 and so on, in base64 */
  gboolean sums_of_parts;     /* … of the checksums of the parts it was uploaded in */
} HrHttpResponse;

void hr_http_response_init (HrHttpResponse *response);
void hr_http_response_clear (HrHttpResponse *response);
/* one line of the head with its end; a status line starts anew */
void hr_http_response_line (HrHttpResponse *response, const char *line, gsize length);

typedef struct {
  gint64 first; /* the range asked for; -1: the whole */
  gint64 last;
  gint64 size;           /* of the whole object, -1 unknown */
  const char *etag;      /* (nullable): what it must still be */
  gboolean close_is_end; /* a body without length that ends with the connection is accepted */
  gboolean or_whole;     /* a range from 0 on: the whole is accepted instead, and a part of what
                            does not say how large it is */
} HrHttpQuestion;

/**
 * hr_http_response_check:
 * @response: the head of an answer with status 200 or 206
 * @error: #HR_RESOURCE_ERROR: _CHANGED if the object is another one than it was, _FAILED if it is
 *   stored in a way that is not supported, _READ for what another try may mend
 *
 * Looks for the faults that are no errors to HTTP: another range than asked for, a range ignored,
 * two lengths, no length, another object.
 */
gboolean hr_http_response_check (const HrHttpResponse *response, const HrHttpQuestion *question,
                                 GError **error);
/* the body is the whole object, whatever was asked for */
gboolean hr_http_response_is_whole (const HrHttpResponse *response);
/* bytes the body must have, -1 unknown */
gint64 hr_http_response_body_length (const HrHttpResponse *response);

/* "Not Found"; "" for one that is not known */
const char *hr_http_status_text (guint status);
/* which code fits an HTTP status */
int hr_http_status_error (guint status);

G_END_DECLS
