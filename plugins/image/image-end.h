/* image-end.h: does a file end before its first picture does? */
#pragma once
#include "image-header.h"

G_BEGIN_DECLS

/* By structure alone, for PNG, GIF and TIFF whose decoders do not tell a cut file from a broken
 * one. FALSE where nothing is missing, or it cannot be told. */
gboolean hr_image_is_cut (HrImageFormat format, const guint8 *data, gsize size);

G_END_DECLS
