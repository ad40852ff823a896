/* cudasink.c: hands batches to a program on a GPU */
#include "courier.h"

static const HrProp props[] = { HR_CUDA_PROPS, HR_PROP_END };

HR_ELEMENT (
    cudasink, HrCudaProps,
    .summary = "Give batches to the program that runs the pipeline, on a GPU",
    .description =
        "cudaupload and appsink in one: in the place of \"patchify ! appsink\" it changes nothing "
        "but the device that the tensors are on, and headrace.Loader pulls from it likewise. As "
        "many batches as prefetch says are on the device before the trainer asks for them. What "
        "the trainer's streams wait for a copy counts as waiting in wait_ratio. docs/gpu.md says "
        "what is needed. Not yet run on a GPU.",
    .examples = (const char *const[]){ "filesrc location=train.jsonl ! jsonlparse ! imagefetch ! "
                                       "imagedecode ! resize max-pixels=262144 ! batch size=2 ! "
                                       "cudasink dtype=bfloat16 prefetch=3",
                                       NULL },
    .needs = "batch?", .takes = "images", .shared_size = sizeof (HrCudaShared), .props = props,
    .waits = TRUE, .pullable = TRUE, .check = hr_courier_check,
    .check_place = hr_patching_check_place, .start = hr_courier_start, .stop = hr_courier_stop,
    .process = hr_courier_process, .lookahead = hr_courier_lookahead,
    .transfers = hr_courier_transfers, .metrics = hr_courier_metrics,
    .waits_for = hr_courier_waits_for)
