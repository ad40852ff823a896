/* text-run.h: a pipeline run to its end, and what came out of it */
#pragma once
#include "headrace.h"

typedef struct {
  GPtrArray *samples; /* HrBuffer */
  GPtrArray *skipped; /* HrMessage */
  GPtrArray *dropped; /* HrMessage */
  JsonNode *stats;
  GError *error;
} TextRun;

/* serial, with 1 and with 4 workers */
extern const char *const text_settings[]; /* NULL-terminated */

/* Runs @text, which ends in appsink. WORKERS in it becomes @setting, or nothing when that is
 * "serial=true". VOCAB, CASES and GOLDEN become paths. */
TextRun text_run (const char *setting, const char *text);
/* the text with all that put in; (transfer full) */
char *text_run_expand (const char *setting, const char *text);
/* nothing may be left of it */
void text_run_clear (TextRun *run);

/* (transfer none) (nullable): the delivered sample of that line */
HrBuffer *text_run_find (const TextRun *run, gint64 line);
/* (transfer none): the one with that id; there must be one */
HrBuffer *text_run_find_id (const TextRun *run, const char *id);
const HrMessage *text_run_find_skipped (const TextRun *run, gint64 line);
/* number in {"skipped": …} or {"dropped": …} of the stats */
gint64 text_run_count (const TextRun *run, const char *object, const char *kind);

/* element @index of a tensor of whole numbers */
gint64 text_tensor_int (const HrTensor *tensor, gsize index);
gsize text_tensor_length (const HrTensor *tensor);
/* the tensor has these numbers, row by row where @expected is a list of lists */
void text_assert_numbers (const HrTensor *tensor, JsonArray *expected, const char *what);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TextRun, text_run_clear)
