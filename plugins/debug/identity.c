/* identity.c: passes everything on; late or with errors if it is told to */
#include <math.h>
#include "headrace.h"

typedef struct {
  gint64 sleep;
  gdouble sleep_sigma;
  gint64 error_after;
  guint64 error_every;
} Identity;

static const HrProp props[] = {
  HR_PROP_DURATION (Identity, sleep, 0, 3600 * HR_SECOND, 0, "Sleep so long for each buffer",
                    .flags = HR_PROP_LIVE),
  HR_PROP_DOUBLE (
      Identity, sleep_sigma, 0, 4, 0,
      "Spread of the sleep: lognormal with this sigma, around the same mean; a sample's "
      "sleep is the same in every run"),
  HR_PROP_INT (Identity, error_after, -1, G_MAXINT64, -1,
               "Every sample behind the first N is bad; -1: none", .flags = HR_PROP_STREAM,
               .unit = "samples"),
  HR_PROP_UINT (Identity, error_every, 0, G_MAXINT64, 0, "Every N-th sample is bad; 0: none",
                .flags = HR_PROP_STREAM, .unit = "samples"),
  HR_PROP_END
};

/* A sample's place in the order, not on the link: the same ones are bad behind unordered elements,
 * on any number of ranks, and after a resume */
static gint64
place (const HrBuffer *in)
{
  if (!(in->flags & HR_BUFFER_BATCH) && in->place >= 0)
    return in->place;
  return in->flags & HR_BUFFER_BATCH || in->sample < 0 ? in->number : in->sample;
}

/* Box-Muller of two hashes */
static gint64
spread (gint64 sleep, gdouble sigma, gint64 number)
{
  gdouble u = 1 - hr_uniform64 ((guint64)number * 2);
  gdouble v = hr_uniform64 ((guint64)number * 2 + 1);
  gdouble normal = sqrt (-2 * log (u)) * cos (2 * G_PI * v);

  return (gint64)((gdouble)sleep * exp (sigma * normal - sigma * sigma / 2));
}

static gboolean
identity_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
                  GError **error)
{
  const Identity *self = data;
  gint64 sleep = hr_live_int (&self->sleep);
  gint64 number = place (in);

  if (sleep > 0)
    hr_out_sleep (out, self->sleep_sigma > 0 ? spread (sleep, self->sleep_sigma, number) : sleep);
  if ((self->error_after >= 0 && number >= self->error_after)
      || (self->error_every > 0 && ((guint64)number + 1) % self->error_every == 0)) {
    hr_set_data_error (error, HR_DATA_ERROR_OTHER,
                       "sample %" G_GINT64_FORMAT " is bad, as asked for", number);
    hr_buffer_unref (in);
    return FALSE;
  }
  hr_out_push (out, in);
  return TRUE;
}

HR_ELEMENT (identity, Identity, .summary = "Pass buffers on unchanged",
            .description =
                "For tests and measurements: it can sleep for each buffer, and it can call samples "
                "bad (kind \"other\", counted from 0 in the order of the samples of each epoch). "
                "With workers=N, N "
                "buffers sleep at once.",
            .examples =
                (const char *const[]){
                    "fakesrc num-buffers=10 ! identity ! fakesink",
                    "on-error=skip fakesrc num-buffers=10 ! identity error-every=4 "
                    "! fakesink",
                    "fakesrc num-buffers=8 ! identity sleep=1ms workers=4 ! fakesink", NULL },
            .props = props, .parallel = HR_PARALLEL_YES, .light = TRUE, .process = identity_process)
