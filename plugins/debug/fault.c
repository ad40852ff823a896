/* fault.c: errors, delays, stalls and corruption by seed and rate, to try what is behind them */
#include <string.h>
#include "headrace.h"

typedef struct {
  guint64 seed;
  gdouble error_rate;
  char **kind;
  gdouble fatal_rate;
  gdouble corrupt_rate;
  gdouble delay_rate;
  gint64 delay;
  gdouble stall_rate;
} Fault;

static const HrProp props[] = {
  HR_PROP_UINT (Fault, seed, 0, G_MAXINT64, 0, "Which samples it hits", .flags = HR_PROP_STREAM),
  HR_PROP_DOUBLE (Fault, error_rate, 0, 1, 0, "Share of the samples that are bad",
                  .flags = HR_PROP_STREAM),
  HR_PROP_STRV (Fault, kind, NULL,
                "Kinds of errors they have, as many of each, such as media-not-found; unset: all"),
  HR_PROP_DOUBLE (Fault, fatal_rate, 0, 1, 0,
                  "Share of the samples at which the run ends, as if a server were gone",
                  .flags = HR_PROP_STREAM),
  HR_PROP_DOUBLE (Fault, corrupt_rate, 0, 1, 0,
                  "Share of the samples of which one bit of one tensor is turned",
                  .flags = HR_PROP_STREAM),
  HR_PROP_DOUBLE (Fault, delay_rate, 0, 1, 0, "Share of the samples that come late"),
  HR_PROP_DURATION (Fault, delay, 0, 3600 * HR_SECOND, 100 * HR_MSEC,
                    "… by so much at most, any time up to it being as likely"),
  HR_PROP_DOUBLE (Fault, stall_rate, 0, 1, 0,
                  "Share of the samples that never come: the run stands still there"),
  HR_PROP_END
};

/* what may happen to a sample; each has numbers of its own, so that one rate changes nothing of
 * another */
enum { ERROR, KIND, FATAL, CORRUPT, FIELD, BIT, DELAY, TIME, STALL };

/* of the sample alone: seed, epoch and place, never of a thread or of the run. Without a place the
 * number stands for it */
static guint64
draw (const Fault *self, const HrBuffer *in, guint64 what)
{
  gint64 place = in->place >= 0 ? in->place : in->sample >= 0 ? in->sample : in->number;

  return hr_mix64 (hr_mix64 (hr_mix64 (hr_mix64 (self->seed) ^ in->epoch) ^ (guint64)place) ^ what);
}

static gboolean
happens (const Fault *self, const HrBuffer *in, guint64 what, gdouble rate)
{
  return rate > 0 && hr_uniform64 (draw (self, in, what)) < rate;
}

static int
find_kind (const char *name)
{
  for (int i = 0; i < HR_N_DATA_ERRORS; i++)
    if (strcmp (name, hr_data_error_kind (i)) == 0)
      return i;
  return -1;
}

/* of those that an error can have: no-label is never one */
static HrDataError
choose_kind (const Fault *self, const HrBuffer *in)
{
  guint64 number = draw (self, in, KIND);
  guint n = self->kind != NULL ? g_strv_length (self->kind) : 0;
  int kind;

  if (n > 0)
    return (HrDataError)find_kind (self->kind[number % n]);
  kind = (int)(number % (HR_N_DATA_ERRORS - 1));
  return (HrDataError)(kind < HR_DATA_ERROR_NO_LABEL ? kind : kind + 1);
}

/* ---- corruption ---- */

/* tensors of the sample: fields, and members of lists */
static guint
count_tensors (const HrBuffer *in)
{
  guint n = 0;

  for (guint i = 0; i < hr_buffer_get_n_fields (in); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (in, i, &type);

    n += type == HR_FIELD_TENSOR ? 1
         : type == HR_FIELD_LIST ? hr_list_get_length (hr_buffer_get_list (in, name))
                                 : 0;
  }
  return n;
}

/* a copy: others may hold the same one. NULL: it has no bytes that we can turn */
static HrTensor *
turn_bit (const HrTensor *tensor, guint64 bit, HrOut *out)
{
  gsize size = tensor != NULL ? hr_tensor_get_n_bytes (tensor) : 0;
  HrMemory *memory;

  if (size == 0 || !hr_tensor_is_contiguous (tensor) || hr_tensor_get_data (tensor) == NULL)
    return NULL;
  memory = hr_memory_new (size);
  memcpy (memory->data, hr_tensor_get_data (tensor), size);
  hr_out_count_copy (out, size);
  memory->data[bit / 8 % size] ^= (guint8)(1 << bit % 8);
  return hr_tensor_new (memory, 0, hr_tensor_get_dtype (tensor), hr_tensor_get_n_dims (tensor),
                        hr_tensor_get_shape (tensor));
}

static HrList *
turn_in_list (const HrList *list, guint index, guint64 bit, HrOut *out)
{
  HrTensor *turned = turn_bit (hr_list_get_tensor (list, index), bit, out);
  HrList *copy;

  if (turned == NULL)
    return NULL;
  copy = hr_list_new (hr_list_get_length (list));
  hr_list_append_list (copy, list);
  hr_list_set_tensor (copy, index, turned);
  return copy;
}

/* takes @in */
static HrBuffer *
corrupt (const Fault *self, HrBuffer *in, HrOut *out)
{
  HrBuffer *sample = hr_buffer_make_writable (in);
  guint n = count_tensors (sample);
  guint64 which = n > 0 ? draw (self, sample, FIELD) % n : 0, bit = draw (self, sample, BIT);

  for (guint i = 0; n > 0 && i < hr_buffer_get_n_fields (sample); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (sample, i, &type);
    guint here = type == HR_FIELD_TENSOR ? 1
                 : type == HR_FIELD_LIST ? hr_list_get_length (hr_buffer_get_list (sample, name))
                                         : 0;

    if (which < here && type == HR_FIELD_TENSOR) {
      HrTensor *turned = turn_bit (hr_buffer_get_tensor (sample, name), bit, out);

      if (turned != NULL)
        hr_buffer_set_tensor (sample, name, turned);
      return sample;
    }
    if (which < here) {
      HrList *turned = turn_in_list (hr_buffer_get_list (sample, name), (guint)which, bit, out);

      if (turned != NULL)
        hr_buffer_set_list (sample, name, turned);
      return sample;
    }
    which -= here;
  }
  return sample;
}

/* ---- the element ---- */

static gboolean
is_hit (const Fault *self, HrBuffer *in, GError **error)
{
  if (happens (self, in, FATAL, self->fatal_rate)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "sample %" G_GINT64_FORMAT " cannot be had, as asked for", in->sample);
    return TRUE;
  }
  if (happens (self, in, ERROR, self->error_rate)) {
    hr_set_data_error (error, choose_kind (self, in),
                       "epoch %u, place %" G_GINT64_FORMAT " is bad, as asked for", in->epoch,
                       in->place >= 0 ? in->place : in->sample);
    return TRUE;
  }
  return FALSE;
}

static gboolean
fault_process (gconstpointer data, gpointer worker G_GNUC_UNUSED, HrBuffer *in, HrOut *out,
               GError **error)
{
  const Fault *self = data;

  if (happens (self, in, DELAY, self->delay_rate))
    hr_out_sleep (out, (gint64)((gdouble)self->delay * hr_uniform64 (draw (self, in, TIME))));
  if (happens (self, in, STALL, self->stall_rate)) {
    while (hr_out_sleep (out, 3600 * (gint64)HR_SECOND))
      ;
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
    hr_buffer_unref (in);
    return FALSE;
  }
  if (is_hit (self, in, error)) {
    hr_buffer_unref (in);
    return FALSE;
  }
  if (happens (self, in, CORRUPT, self->corrupt_rate))
    in = corrupt (self, in, out);
  hr_out_push (out, in);
  return TRUE;
}

static gboolean
fault_check (gconstpointer data, GError **error)
{
  const Fault *self = data;

  for (guint i = 0; self->kind != NULL && self->kind[i] != NULL; i++)
    if (find_kind (self->kind[i]) < 0) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                   "kind=%s: there is no such kind of error; docs/errors.md lists them",
                   self->kind[i]);
      return FALSE;
    }
  return TRUE;
}

HR_ELEMENT (
    fault, Fault, .summary = "Spoil some of the samples, by seed and rate",
    .description =
        "Rehearses a bad day: samples that are bad, with the kind of error that is wanted, "
        "that come late, that never come, and that have a bit turned. Which ones depends on "
        "seed, epoch and place in the order alone: they are the same for any number of "
        "workers and ranks, and after a resume.",
    .examples =
        (const char *const[]){
            "on-error=skip fakesrc num-buffers=100 ! fault error-rate=0.05 "
            "kind=media-not-found ! fakesink",
            "fakesrc num-buffers=100 ! fault delay-rate=0.1 delay=5ms workers=4 ! fakesink", NULL },
    .props = props, .parallel = HR_PARALLEL_YES, .light = TRUE, .check = fault_check,
    .process = fault_process)
