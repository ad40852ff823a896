/* stdout.c */
#include "stdout.h"
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
check (int status, void *program)
{
  /* what is longer than the buffer has failed before, and is no longer there to be flushed */
  errno = 0;
  if (fflush (stdout) == 0 && !ferror (stdout))
    return;
  fprintf (stderr, "%s: stdout: %s\n", (const char *)program,
           errno != 0 ? g_strerror (errno) : "could not be written");
  if (status == EXIT_SUCCESS)
    _exit (EXIT_FAILURE);
}

void
stdout_watch (const char *program)
{
  on_exit (check, (void *)program);
}
