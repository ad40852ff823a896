/* image-guess.h: what bytes seem to be that are none of the accepted formats */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* "a HEIC image", "an HTML page", "bytes that begin 00 11 22 33"; (transfer full) */
char *hr_image_guess (const guint8 *data, gsize size);

G_END_DECLS
