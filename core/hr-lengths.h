/* hr-lengths.h: how long the sample of each line is, for plans that must know it; docs/plan.md.
 * Private to the core and to plugins/io */
#pragma once
#include "hr-element.h"
#include "hr-plan-cache.h"

G_BEGIN_DECLS

/* tokens of a line that makes no sample: image_tokens is its HrDataError then, HR_LENGTH_UNKNOWN if
 * nobody said, and decoded is 1 if a policy left it out, 0 if it was skipped for an error */
#define HR_LENGTH_HOLE G_MAXUINT32
#define HR_LENGTH_NO_KIND G_MAXUINT32

/* of a line's sample; pixels of all its images together, as they lie there and as they are given
 * on; what is more than fits is G_MAXUINT32 */
typedef struct {
  guint32 tokens; /* 0: nobody makes any */
  guint32 image_tokens;
  guint32 decoded;
  guint32 delivered;
} HrLength;

/* what stands at a place of an order, and how long it is */
typedef struct {
  guint input; /* of a mix, the member; else 0 */
  guint object;
  guint64 line;
  const HrLength *length;
} HrMeasured;

/* @place: one of the epoch, with a line */
typedef void (*HrMeasureFunc) (gpointer user, guint64 epoch, guint64 place, HrMeasured *at);

/**
 * hr_lengths_find:
 * @out: of a source whose plan knows all lines and needs their lengths
 * @error: #HR_CORE_ERROR_STOPPED also if the pipeline has been told another error
 *
 * Gives the plan the lengths of its lines: from the cache, and those that are not there by running
 * the front of the pipeline, in the order of the file, over the objects that lack them.
 */
gboolean hr_lengths_find (HrOut *out, HrPlanCache *cache, GError **error);

G_END_DECLS
