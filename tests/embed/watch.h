/* watch.h: what of a program a library could change behind its back */
#pragma once
#include <glib.h>

/* ---- calls of functions that change the process; from anywhere in it ---- */

/* Counts from now on. One call is let pass, of a library that offers no way round it and puts
 * back what it found: libcurl 7.88 ignores SIGPIPE while it closes its connections. */
void watch_begin (void);
/* no more; the names of what was called, NULL-terminated: (transfer full) */
char **watch_end (void);

/* ---- state ---- */

/**
 * State: a text for each thing that must be as it was: handlers of all signals, the signal mask,
 * the environment, the current folder, the locale, umask, limits, priority, processors, names,
 * rounding.
 */
typedef struct {
  char **lines;
} State;

State state_take (void);
void state_clear (State *state);
/* (transfer full) (nullable): the first line that differs, before and after */
char *state_compare (const State *before, const State *after);

guint count_threads (void);
/* (transfer full): "sleeper, gmain": names of all threads but the first */
char *name_threads (void);
guint count_files (void);
/* the open files that a program run by exec would inherit, as bits */
guint64 find_inherited (void);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (State, state_clear)
