/* courier.h: takes batches to devices: what cudasink and cudaupload have in common
 *
 * The element's worker puts copies into streams and hands the batch on at once. A thread of the
 * courier sleeps until each upload is over, and lets the CPU memory go that it was copied from. */
#pragma once
#include "patching.h"

G_BEGIN_DECLS

#define HR_CUDA_MOST_DEVICES 16

/* what cudasink and cudaupload are told; begins with a HrPatching */
typedef struct {
  HR_PATCHING_FIELDS
  char **device;
  guint64 prefetch;
} HrCudaProps;

#define HR_CUDA_PROPS                                                                              \
  HR_PATCHING_PROPS (HrCudaProps),                                                                 \
      HR_PROP_STRV (HrCudaProps, device, "current",                                                \
                    "Number of the CUDA device, from 0; several: batches take turns; current: "    \
                    "the one that the thread has chosen that starts the pipeline, as "             \
                    "torch.cuda.set_device() does"),                                               \
      HR_PROP_UINT (HrCudaProps, prefetch, 1, 64, 2,                                               \
                    "Batches that may wait on the device for the trainer", .unit = "batches")

typedef struct _HrCourier HrCourier;

/* the shared memory of the element */
typedef struct {
  HrCourier *courier;
} HrCudaShared;

/* functions of the tables */
gboolean hr_courier_check (gconstpointer self, GError **error);
gboolean hr_courier_start (gconstpointer self, gpointer shared, HrElement *element, GError **error);
void hr_courier_stop (gconstpointer self, gpointer shared);
gboolean hr_courier_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out,
                             GError **error);
void hr_courier_lookahead (gconstpointer self, guint *steps, guint64 *bytes, guint *warm_up);
void hr_courier_transfers (gconstpointer self, gpointer shared, gint64 *copied, gint64 *waited);
void hr_courier_metrics (gconstpointer self, gpointer shared, JsonBuilder *into);
guint64 hr_courier_waits_for (gconstpointer self, gpointer worker, GString *into);

G_END_DECLS
