/* stdout.h: at its end a program says if not all of its output could be written */
#pragma once

/* First thing in main(): it holds whoever ends the process, as GLib does behind --help. Status 0
 * becomes 1. */
void stdout_watch (const char *program);
