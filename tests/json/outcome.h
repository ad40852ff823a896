/* outcome.h: what became of the records of a run */
#pragma once
#include "headrace.h"

/**
 * Outcome:
 * @samples: (element-type HrBuffer): what was delivered
 * @skipped: (element-type HrMessage): bad samples, by line
 * @error: why the run failed
 */
typedef struct {
  GPtrArray *samples;
  GPtrArray *skipped;
  GError *error;
} Outcome;

/* a started pipeline, which ends in appsink; bad samples are skipped unless the text says otherwise
 */
HrPipeline *outcome_start (const char *text);
/* pulls all there is and waits for the end */
Outcome outcome_collect (HrPipeline *pipeline);
/* both */
Outcome outcome_run (const char *format, ...) G_GNUC_PRINTF (1, 2);
void outcome_clear (Outcome *outcome);

/* "one@1+0 two@2+107 !bad-json@3+213": id, line and byte of the delivered, then kind, line and byte
 * of the skipped; (transfer full) */
char *outcome_summary (const Outcome *outcome);
/* the message of the sample skipped at that line; NULL if there is none */
const GError *outcome_get_error (const Outcome *outcome, gint64 line);
/* (transfer full): the text of an input file of a case; @size may be NULL */
char *outcome_load_case (const char *file, gsize *size);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Outcome, outcome_clear)
