/* cuda-run.h: pipelines on the stand-in, fed with images of our own */
#pragma once
#include <headrace.h>
#include "cudart.h"

/* points the plugin to the stand-in and to a kernel file for it; before anything else */
void cuda_run_init (void);
/* what the stand-in has to say: its own functions, and those of the runtime that it is */
void *cuda_run_symbol (const char *name);
void cuda_run_assert_no_misuse (void);

/* "SETTINGS appsrc name=in ! ELEMENTS", started, and fed by a thread of its own with @n samples:
 * sample i has i % 4 images of all kinds of sizes, multiples of @block, and "input_ids" */
typedef struct {
  HrPipeline *pipeline;
  pthread_t feeder;
  guint n, block;
} CudaRun;
CudaRun *cuda_run_new (const char *settings, const char *elements, guint n, guint block);
/* stops it if it runs */
void cuda_run_free (CudaRun *run);
/* pulls to the end. (element-type utf8): the digests of the batches; holes are in them */
GPtrArray *cuda_run_digests (CudaRun *run);
