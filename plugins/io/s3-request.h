/* s3-request.h: HTTP requests that are S3's: signed anew at each try, mended when they are refused
 */
#pragma once
#include "http.h"
#include "s3-config.h"

G_BEGIN_DECLS

/**
 * hr_s3_get:
 * @key: raw, not empty
 *
 * Returns: (transfer full): a request for the object; set range, identity, room, done before it is
 *   submitted. An empty object may answer a range with 416: that is a success without a body.
 *   Errors are #HR_RESOURCE_ERROR: _NOT_FOUND and _FORBIDDEN only if they are about this key,
 *   _CHANGED if it was replaced, _FAILED where the settings are wrong. The message names the key,
 *   HTTP's status, the server's code and the number of tries.
 */
HrHttpRequest *hr_s3_get (HrS3Config *config, const char *bucket, const char *key);
/* HEAD: response.content_length and etag tell of the object */
HrHttpRequest *hr_s3_head (HrS3Config *config, const char *bucket, const char *key);
/* one page of keys; @query from hr_s3_list_query(). A body that is no list is an error. */
HrHttpRequest *hr_s3_list (HrS3Config *config, const char *bucket, const char *query);
/* (nullable) (transfer none): the server's word in the last answer, "NoSuchKey" */
const char *hr_s3_request_get_code (HrHttpRequest *request);

G_END_DECLS
