/* courier.c: takes batches to devices: what cudasink and cudaupload have in common */
#include "courier.h"
#include "hr-sync.h"
#include "pinned.h"
#include "send.h"

/* page-locked memory that is kept for the next batches */
#define MOST_IDLE ((gsize)1 << 30)
/* how often who waits looks whether the run is over */
#define LOOK_TIME (50 * G_GINT64_CONSTANT (1000000))

typedef struct {
  HrCudaUpload *upload;
  HrCudaDevice *device;
  GPtrArray *sources; /* HrMemory */
} Flight;

struct _HrCourier {
  const HrCudart *cudart;
  HrAllocator *pinned;
  HrCudaMeter *meter;
  HrCudaTarget targets[HR_CUDA_MOST_DEVICES];
  int indexes[HR_CUDA_MOST_DEVICES];
  guint n_targets;
  guint most; /* uploads under way */
  pthread_t thread;
  HrMutex lock;
  HrCond changed;
  GQueue flights;  /* Flight, the oldest first */
  guint in_flight; /* with the one that the thread waits for */
  gboolean ready, ending;
  GError *error; /* why devices could not be opened, or an upload failed */
  guint64 n_uploads, n_bytes;
};

/* ---- properties ---- */

static gboolean
is_number (const char *text)
{
  return *text != '\0' && strspn (text, "0123456789") == strlen (text) && strlen (text) <= 4;
}

gboolean
hr_courier_check (gconstpointer data, GError **error)
{
  const HrCudaProps *self = data;
  guint n = self->device != NULL ? g_strv_length (self->device) : 0;
  gboolean good = n > 0 && n <= HR_CUDA_MOST_DEVICES;

  for (guint i = 0; good && i < n; i++) {
    good = (n == 1 && g_str_equal (self->device[0], "current")) || is_number (self->device[i]);
    for (guint k = 0; good && k < i; k++)
      good = atoi (self->device[i]) != atoi (self->device[k]);
  }
  if (!good) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "device wants the number of a CUDA device, from 0, or up to %d different ones, "
                 "device=0,1, or \"current\"",
                 HR_CUDA_MOST_DEVICES);
    return FALSE;
  }
  return hr_patching_check (self, error);
}

void
hr_courier_lookahead (gconstpointer data, guint *steps, guint64 *bytes, guint *warm_up)
{
  const HrCudaProps *self = data;

  *steps = (guint)self->prefetch;
  *bytes = 0;
  *warm_up = 0;
}

/* ---- the thread ---- */

static void
flight_free (Flight *flight)
{
  hr_cuda_upload_unref (flight->upload);
  g_ptr_array_unref (flight->sources);
  g_free (flight);
}

static gboolean
open_devices (HrCourier *courier, GError **error)
{
  for (guint i = 0; i < courier->n_targets; i++) {
    courier->targets[i].device =
        hr_cuda_device_open (courier->cudart, courier->indexes[i], courier->pinned, error);
    if (courier->targets[i].device == NULL)
      return FALSE;
  }
  return TRUE;
}

static void
close_devices (HrCourier *courier)
{
  for (guint i = 0; i < courier->n_targets; i++) {
    HrCudaTarget *target = &courier->targets[i];

    if (target->device == NULL)
      continue;
    g_clear_pointer (&target->kernel, hr_patch_kernel_free);
    hr_allocator_unref (&target->device->parent);
  }
}

static Flight *
next_flight (HrCourier *courier)
{
  Flight *flight;

  hr_mutex_lock (&courier->lock);
  while ((flight = g_queue_pop_head (&courier->flights)) == NULL && !courier->ending)
    hr_cond_wait (&courier->changed, &courier->lock);
  hr_mutex_unlock (&courier->lock);
  return flight;
}

static void
set_error (HrCourier *courier, GError *error)
{
  if (error == NULL || courier->error != NULL)
    g_clear_error (&error);
  else
    courier->error = error;
}

/* Devices are opened here: the thread that starts the pipeline keeps its own. */
static void *
thread_main (void *data)
{
  HrCourier *courier = data;
  GError *error = NULL;
  Flight *flight;

  pthread_setname_np (pthread_self (), "cuda");
  open_devices (courier, &error);
  hr_mutex_lock (&courier->lock);
  set_error (courier, error);
  courier->ready = TRUE;
  hr_cond_broadcast (&courier->changed);
  hr_mutex_unlock (&courier->lock);
  while ((flight = next_flight (courier)) != NULL) {
    error = NULL;
    if (!hr_cuda_upload_wait (flight->upload, &error)) /* sources stay as long as need be */
      hr_cuda_device_settle (flight->device);
    flight_free (flight);
    hr_mutex_lock (&courier->lock);
    set_error (courier, error);
    courier->in_flight--;
    hr_cond_broadcast (&courier->changed);
    hr_mutex_unlock (&courier->lock);
  }
  close_devices (courier);
  return NULL;
}

/* ---- start and stop ---- */

static void
read_devices (HrCourier *courier, const HrCudaProps *self)
{
  courier->n_targets = g_strv_length (self->device);
  for (guint i = 0; i < courier->n_targets; i++)
    courier->indexes[i] = atoi (self->device[i]);
  /* without a driver it says nothing, and opening the device says why */
  if (g_str_equal (self->device[0], "current")
      && courier->cudart->GetDevice (&courier->indexes[0]) != HR_CUDA_SUCCESS)
    courier->cudart->GetLastError ();
}

static gboolean
wait_until_ready (HrCourier *courier, GError **error)
{
  gboolean ok;

  hr_mutex_lock (&courier->lock);
  while (!courier->ready)
    hr_cond_wait (&courier->changed, &courier->lock);
  ok = courier->error == NULL;
  if (!ok)
    g_propagate_error (error, g_error_copy (courier->error));
  hr_mutex_unlock (&courier->lock);
  return ok;
}

gboolean
hr_courier_start (gconstpointer data, gpointer shared, HrElement *element, GError **error)
{
  const HrCudaProps *self = data;
  const HrCudart *cudart = hr_cudart_get (error);
  HrPatchShape shape;
  HrPatchTable table;
  HrCourier *courier;
  int failed;

  if (cudart == NULL
      || !hr_patching_start ((const HrPatching *)self, element, &shape, &table, error))
    return FALSE;
  courier = g_new0 (HrCourier, 1);
  ((HrCudaShared *)shared)->courier = courier;
  courier->cudart = cudart;
  courier->pinned = hr_pinned_new (cudart, MOST_IDLE);
  courier->meter = hr_cuda_meter_new ();
  courier->most = (guint)self->prefetch + 1;
  hr_mutex_init (&courier->lock);
  hr_cond_init (&courier->changed);
  read_devices (courier, self);
  for (guint i = 0; i < courier->n_targets; i++)
    courier->targets[i] = (HrCudaTarget){ .shape = shape, .table = table, .meter = courier->meter };
  failed = pthread_create (&courier->thread, NULL, thread_main, courier);
  if (failed != 0) {
    courier->n_targets = 0;
    courier->ready = courier->ending = TRUE;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "cannot start a thread: %s",
                 g_strerror (failed));
    courier->thread = 0;
    hr_courier_stop (self, shared);
    return FALSE;
  }
  if (!wait_until_ready (courier, error)) {
    hr_courier_stop (self, shared);
    return FALSE;
  }
  hr_element_propose_allocator (element, "images", courier->pinned);
  hr_element_propose_allocator (element, "pixel_values", courier->pinned);
  return TRUE;
}

void
hr_courier_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  HrCourier *courier = g_steal_pointer (&((HrCudaShared *)shared)->courier);

  if (courier == NULL)
    return;
  hr_mutex_lock (&courier->lock);
  courier->ending = TRUE;
  hr_cond_broadcast (&courier->changed);
  hr_mutex_unlock (&courier->lock);
  if (courier->thread != 0)
    pthread_join (courier->thread, NULL);
  hr_cuda_meter_unref (courier->meter);
  hr_allocator_unref (courier->pinned);
  g_clear_error (&courier->error);
  hr_cond_clear (&courier->changed);
  hr_mutex_clear (&courier->lock);
  g_free (courier);
}

/* ---- a batch ---- */

/* Copies that are under way keep their sources; a device that is slower than we are holds us up. */
static gboolean
wait_for_room (HrCourier *courier, HrOut *out, GError **error)
{
  gboolean ok = FALSE, full = TRUE;

  while (full && !hr_out_is_closed (out)) {
    hr_mutex_lock (&courier->lock);
    if (courier->in_flight >= courier->most && courier->error == NULL)
      hr_cond_wait_until (&courier->changed, &courier->lock, hr_now () + LOOK_TIME);
    full = courier->in_flight >= courier->most && courier->error == NULL;
    ok = !full && courier->error == NULL;
    if (courier->error != NULL && error != NULL && *error == NULL)
      *error = g_error_copy (courier->error);
    hr_mutex_unlock (&courier->lock);
    hr_out_answer (out);
  }
  if (!ok && error != NULL && *error == NULL)
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return ok;
}

static void
add_flight (HrCourier *courier, HrCudaDevice *device, HrCudaUpload *upload, GPtrArray *sources,
            gsize n_bytes)
{
  Flight *flight = g_new0 (Flight, 1);

  *flight = (Flight){ upload, device, sources };
  hr_mutex_lock (&courier->lock);
  g_queue_push_tail (&courier->flights, flight);
  courier->in_flight++;
  courier->n_uploads++;
  courier->n_bytes += n_bytes;
  hr_cond_broadcast (&courier->changed);
  hr_mutex_unlock (&courier->lock);
}

gboolean
hr_courier_process (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in, HrOut *out,
                    GError **error)
{
  HrCourier *courier = ((HrCudaShared *)worker)->courier;
  HrBuffer *batch = hr_buffer_make_writable (in);
  HrCudaTarget *target = &courier->targets[(guint64)MAX (batch->number, 0) % courier->n_targets];
  gsize n_bytes = hr_buffer_get_n_bytes (batch);
  GPtrArray *sources;
  HrCudaUpload *upload = NULL;

  if (!wait_for_room (courier, out, error)) {
    hr_buffer_unref (batch);
    return FALSE;
  }
  sources = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_memory_unref);
  if (hr_cuda_device_use (target->device, error))
    upload = hr_cuda_send (target, batch, sources, out, error);
  if (upload == NULL) {
    g_ptr_array_unref (sources);
    hr_buffer_unref (batch);
    return FALSE;
  }
  add_flight (courier, target->device, upload, sources, n_bytes);
  hr_out_push (out, batch);
  return TRUE;
}

/* ---- numbers ---- */

void
hr_courier_transfers (gconstpointer self G_GNUC_UNUSED, gpointer shared, gint64 *copied,
                      gint64 *waited)
{
  hr_cuda_meter_get (((HrCudaShared *)shared)->courier->meter, copied, waited);
}

void
hr_courier_metrics (gconstpointer self, gpointer shared, JsonBuilder *into)
{
  HrCourier *courier = ((HrCudaShared *)shared)->courier;
  gint64 copied, waited;

  hr_courier_transfers (self, shared, &copied, &waited);
  hr_mutex_lock (&courier->lock);
  json_builder_set_member_name (into, "uploads");
  json_builder_add_int_value (into, (gint64)courier->n_uploads);
  json_builder_set_member_name (into, "uploaded_bytes");
  json_builder_add_int_value (into, (gint64)courier->n_bytes);
  hr_mutex_unlock (&courier->lock);
  json_builder_set_member_name (into, "transfer_s");
  json_builder_add_double_value (into, (double)copied / 1e9);
  json_builder_set_member_name (into, "transfer_wait_s");
  json_builder_add_double_value (into, (double)waited / 1e9);
}

guint64
hr_courier_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer worker, GString *into)
{
  HrCourier *courier = ((HrCudaShared *)worker)->courier;
  guint64 n;

  hr_mutex_lock (&courier->lock);
  n = courier->n_uploads - courier->in_flight;
  if (courier->in_flight >= courier->most)
    g_string_append_printf (into, "waits for the device: %u batches are being copied",
                            courier->in_flight);
  hr_mutex_unlock (&courier->lock);
  return n;
}
