/* leg.h: a part of a run: from a checkpoint or the beginning, to the end or a cut */
#pragma once
#include "headrace.h"

/* what may change when a run goes on */
typedef struct {
  guint64 world;
  guint64 rank;
  guint64 workers; /* of each parallel element; 0: in one thread, sample by sample */
} VerifyWay;

/**
 * VerifyStep:
 * @number: in its run; without batches what was left out counts, and is not delivered
 * @content: sha256 of names, dtypes, shapes and bytes
 * @origins: where its samples come from, a line each
 */
typedef struct {
  gint64 number;
  guint epoch;
  char *content;
  char *origins;
} VerifyStep;

/* samples of all ranks in a step, and whether the rows are packed */
guint64 verify_step_size (HrPipeline *pipeline, gboolean *packed);
/* packed rows that all ranks share, to the end of the last epoch */
gboolean verify_has_numbered_rows (HrPipeline *pipeline);
/* has it epochs without end, and nothing else that ends it? */
gboolean verify_is_endless (HrPipeline *pipeline);

/**
 * verify_leg:
 * @text: of verify_pulled()
 * @checkpoint: (nullable): where to go on
 * @n_steps: after so many it is cut; -1: none
 * @steps: (element-type VerifyStep): those that were delivered are added
 * @behind: (out) (optional) (transfer full): the checkpoint behind the last
 */
gboolean verify_leg (const char *text, const VerifyWay *way, const char *checkpoint, gint64 n_steps,
                     GArray *steps, char **behind, GError **error);
/* the same in a process that is killed as soon as it has delivered so many; more may have come. The
 * checkpoint is the last that it had written */
gboolean verify_leg_killed (const char *text, const VerifyWay *way, gint64 n_steps, GArray *steps,
                            char **behind, GError **error);
/* … and what that process does: writes its steps to stdout, its checkpoint into @file behind each
 */
gboolean verify_leg_child (const char *text, const VerifyWay *way, const char *file,
                           GError **error);

/* empty */
GArray *verify_steps_new (void);
