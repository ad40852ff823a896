/* hr-process.h: things of which a process has one, whichever plugins use them */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * hr_process_get: (skip)
 * @name: whose; plugins that are built together agree on what it is
 * @create: makes it when the first asks
 *
 * Each plugin has the libraries that it is linked with to itself, with their static variables: what
 * several plugins must share (what is known of a server) lies here. Any thread may ask; what was
 * made lives as long as the process.
 *
 * Returns: (transfer none)
 */
gpointer hr_process_get (const char *name, gpointer (*create) (void));

G_END_DECLS
