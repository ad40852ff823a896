/* screen.h: stderr with lines at its end that are redrawn in place, and what is printed above them
 */
#pragma once
#include <glib.h>

/* TRUE: stderr is a terminal that can redraw */
gboolean launch_screen_can_redraw (void);

/* from here on HR_DEBUG's lines and GLib's messages go above what is drawn, too */
void launch_screen_begin (void);
/* leaves nothing of what was drawn */
void launch_screen_end (void);

/* of the terminal, as it is now: @columns that a line may have, and @rows that may be drawn */
void launch_screen_get_size (guint *columns, guint *rows);
/* @lines: in the place of those of before; @strong: one that stands out, or -1. Where the cursor
 * cannot go up only the last is drawn */
void launch_screen_draw (const GPtrArray *lines, gint strong);
/* above what is drawn. Any thread */
void launch_screen_print (const char *format, ...) G_GNUC_PRINTF (1, 2);
