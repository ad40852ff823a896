/* fakesink.c: takes everything, keeps nothing */
#include <errno.h>
#include <stdio.h>
#include "headrace.h"
#include "show.h"

typedef struct {
  gboolean silent;
  guint64 sync_every;
} FakeSink;

typedef struct {
  guint64 n_lines;
} State;

static const HrProp props[] = {
  HR_PROP_BOOL (FakeSink, silent, TRUE, "false: one line on stdout for each buffer"),
  HR_PROP_UINT (FakeSink, sync_every, 0, G_MAXINT64, 1,
                "Flush stdout after so many lines; 0: when the buffer of stdio is full",
                .unit = "lines"),
  HR_PROP_END
};

static gboolean
fakesink_consume (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  const FakeSink *self = data;
  State *state = worker;
  gboolean good = TRUE;

  if (!self->silent) {
    g_autofree char *text = show_buffer (in);

    good = printf ("%s: %s\n", hr_element_get_name (hr_out_get_element (out)), text) >= 0;
    if (good && self->sync_every > 0 && ++state->n_lines % self->sync_every == 0)
      good = fflush (stdout) == 0;
    if (!good) /* nobody reads any more: going on would be for nothing, and for ever */
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE, "stdout: %s",
                   g_strerror (errno));
  }
  hr_buffer_unref (in);
  return good;
}

static void
fakesink_stop (gconstpointer data, gpointer shared G_GNUC_UNUSED)
{
  if (!((const FakeSink *)data)->silent)
    fflush (stdout);
}

HR_ELEMENT (
    fakesink, FakeSink, .summary = "Take buffers and let them go",
    .description = "The end of a pipeline that is run for its own sake: to measure it, to "
                   "check a data set, or, with silent=false, to look at what arrives: number, "
                   "sample, fields with dtypes and shapes.",
    .examples = (const char *const[]){ "fakesrc num-buffers=10 ! fakesink",
                                       "fakesrc num-buffers=2 ! fakesink silent=false", NULL },
    .props = props, .shared_size = sizeof (State), .light = TRUE, .takes_holes = TRUE,
    .consume = fakesink_consume, .stop = fakesink_stop)
