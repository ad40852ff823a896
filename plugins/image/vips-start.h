/* vips-start.h: libvips, started when it is needed, without a trace in the host */
#pragma once
#include <glib.h>

/* With the first image that needs it, not with the pipeline: starting libvips takes 18 ms and
 * 20 MB, and nearly all data are JPEG. Any thread. Its global settings are touched only if the
 * program has not started it already. */
gboolean hr_vips_start (GError **error);
/* What libvips last warned of in this thread, "" if of nothing. Write to it to forget. */
#define HR_VIPS_WARNING 200
char *hr_vips_last_warning (void);
