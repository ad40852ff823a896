/* image-run.h: a pipeline run to its end, and what came out of it */
#pragma once
#include "headrace.h"

/* a sample without images yet; its origin has @id */
HrBuffer *sample_new (const char *id);
void sample_add (HrBuffer *sample, const char *name, GBytes *file);
/* a sample of one image of tests/data; its id is @name */
HrBuffer *sample_of (const char *name, const char *first, ...) G_GNUC_NULL_TERMINATED;

typedef struct {
  HrPipeline *pipeline;
  GPtrArray *samples; /* given */
  GPtrArray *out;     /* HrBuffer */
  GPtrArray *skipped; /* HrMessage */
} Run;

/* @samples (taken) through @elements, to the end. WORKERS in @elements becomes @setting, or nothing
 * when that is "serial=true". */
Run run_new (const char *setting, const char *elements, GPtrArray *samples, GError **error);
/* the same, with a source of its own */
Run run_new_from (const char *setting, const char *source, const char *elements, GError **error);
/* nothing may be left of it */
void run_clear (Run *run);
/* (transfer none) (nullable): image @index of the sample, or why it was skipped */
HrTensor *find_image (const Run *run, const char *id, guint index);
const HrMessage *find_skipped (const Run *run, const char *id);
/* uint8 [h, w, 3] with that checksum */
void assert_pixels (HrTensor *tensor, JsonArray *hw, const char *sha);

/* All of case @id, sample by sample: delivered pixels and sizes, refusals with their kinds and what
 * their messages must name. */
void assert_case (const Run *run, const char *id, guint refused);
