/* hr-checksum.h: tells bytes from others; private to the core and the plugins */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* fast, of 64 bits. It guards against disks, crashes and files that have changed; who can write the
 * bytes can write a checksum, too. The same on all machines of one byte order. */
guint64 hr_checksum64 (const guint8 *bytes, gsize size);

G_END_DECLS
