/* nfc.h: Unicode's normal form C, with the data of Unicode 9 */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* A quick look: TRUE if the text is in form C for sure. Nearly all text is. */
gboolean hr_nfc_is_certain (const guint8 *text, gsize size);

/**
 * hr_nfc_append:
 * @into: where to put the text in form C
 * @text: UTF-8
 * @size: its bytes
 *
 * The same as Hugging Face's tokenizers, whose data are of Unicode 9: what is newer stays as it is,
 * whatever GLib knows. Takes n log n time at most, however the marks stand.
 */
void hr_nfc_append (GByteArray *into, const guint8 *text, gsize size);

G_END_DECLS
