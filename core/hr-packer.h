/* hr-packer.h: what the core knows of blocks that become rows: how many, which, and what was left
 * out of them; private to the core */
#pragma once
#include "hr-pipeline-private.h"

gboolean hr_packer_is (const HrRun *run);
/* (transfer none) (nullable): the first one of the pipeline */
HrRun *hr_packer_find (const HrPipeline *pipeline);
/* takes @in, a sample or a hole that a packer gets next. A run that goes on from a checkpoint
 * leaves out of an open block what was left out before, else its rows would be others */
HrBuffer *hr_packer_admit (HrRun *run, HrBuffer *in);
/* What a packer has made of its input. Before the rows are handed on: whoever gets one finds it
 * counted. */
void hr_packer_count (HrOut *out);
/* … and of a last block that is short */
void hr_packer_finish (HrOut *out);
/* places that were holes in the block that begins at that place; (transfer full) (nullable) */
GArray *hr_packer_get_skipped (HrRun *run, gint64 epoch, gint64 block);
void hr_skipped_free (gpointer skipped);
