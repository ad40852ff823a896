/* data-uri.h: links that hold their bytes themselves */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

gboolean hr_data_uri_is (const char *link);
/* at most so many bytes come out of it */
gsize hr_data_uri_max_size (const char *link);

/**
 * hr_data_uri_decode:
 * @link: "data:image/png;base64,iVBOR…", or with %XX instead of base64
 * @into: room for hr_data_uri_max_size() bytes
 * @error: #HR_DATA_ERROR_MEDIA_UNDECODABLE
 *
 * Strict: white space is skipped, anything else that is no base64 is an error. Padding may lack.
 *
 * Returns: the number of bytes, -1 with an error
 */
gssize hr_data_uri_decode (const char *link, guint8 *into, GError **error);

G_END_DECLS
