/* load.h: the whole of one object, wherever it is */
#pragma once
#include "hr-memory.h"
#include "http.h"
#include "s3-config.h"

G_BEGIN_DECLS

/**
 * hr_io_load:
 * @uri: a path, file:///PATH, s3://bucket/key, http(s)://host/path
 * @settings: for S3
 * @options: for all transfers
 * @max_bytes: a larger object is an error
 * @wake_fd: when this becomes readable, the wait ends with #HR_CORE_ERROR_STOPPED; -1: none
 * @size: (out): its bytes; the memory may be larger
 * @error: #HR_RESOURCE_ERROR, naming the object; #HR_PARSE_ERROR_BAD_VALUE for what is no URI
 *
 * Waits until it is there, within the options' timeouts.
 */
HrMemory *hr_io_load (const char *uri, const HrS3Settings *settings, const HrHttpOptions *options,
                      gsize max_bytes, int wake_fd, gsize *size, GError **error);

G_END_DECLS
