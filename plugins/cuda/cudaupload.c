/* cudaupload.c: puts batches on a GPU */
#include "courier.h"

static const HrProp props[] = { HR_CUDA_PROPS, HR_PROP_END };

/* who reads tensors on the CPU finds none there */
static const char *const carriers[] = { "appsink", "fakesink", "identity", "prefetchqueue",
                                        "tee",     "trainsim", NULL };

static HrWalk
end_at_reader (HrElement *element, gpointer data G_GNUC_UNUSED)
{
  return g_strv_contains (carriers, hr_element_get_factory (element)) ? HR_WALK_ON : HR_WALK_END;
}

static gboolean
check_behind (HrElement *element, GError **error)
{
  HrElement *reader = hr_element_walk_downstream (element, end_at_reader, NULL);

  if (reader == NULL)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "\"%s\" behind it reads bytes that are on the GPU then\nput it before "
               "cudaupload; behind it may stand appsink, fakesink, identity, prefetchqueue, "
               "tee and trainsim",
               hr_element_get_factory (reader));
  return FALSE;
}

static gboolean
cudaupload_check_place (gconstpointer self, HrElement *element, GError **error)
{
  return hr_patching_check_place (self, element, error) && check_behind (element, error);
}

HR_ELEMENT (
    cudaupload, HrCudaProps, .summary = "Put batches on a GPU, images as patches",
    .description =
        "All tensors of a batch become tensors of the device, with the same names, shapes and "
        "dtypes; \"images\" become \"pixel_values\" and \"image_grid_thw\" as patchify makes them, "
        "to the last bit: their bytes are copied as uint8, and a kernel on the device normalises "
        "and writes the patches. Everything is put into a stream of the element's own, from "
        "page-locked memory, which resize writes into at once; nobody waits for it here, but "
        "whoever takes a tensor by DLPack gets it behind the copy, in his own stream. With several "
        "devices batch k goes to the k-th, in turn. docs/gpu.md says what is needed. Not yet run "
        "on a GPU.\n\n"
        "In the stats: uploads, uploaded_bytes, transfer_s (copies and kernels, by the device's "
        "clock), transfer_wait_s (of that, what the trainer's streams stood still for).",
    .examples = (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                                       "imagedecode ! resize max-pixels=262144 ! batch size=2 ! "
                                       "cudaupload dtype=bfloat16 ! fakesink",
                                       NULL },
    .needs = "batch?", .gives = "pixel_values, image_grid_thw", .takes = "images",
    .shared_size = sizeof (HrCudaShared), .props = props, .waits = TRUE, .check = hr_courier_check,
    .check_place = cudaupload_check_place, .start = hr_courier_start, .stop = hr_courier_stop,
    .process = hr_courier_process, .lookahead = hr_courier_lookahead,
    .transfers = hr_courier_transfers, .metrics = hr_courier_metrics,
    .waits_for = hr_courier_waits_for)
