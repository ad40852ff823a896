/* hr-plan.h: what to read, and in which order: sources ask, the plan answers */
#pragma once
#include <glib-object.h>

G_BEGIN_DECLS

/**
 * HrPlan:
 *
 * Objects with their identity, and the order of their parts. Sources list objects into it and then
 * ask for extents one after the other; they decide nothing themselves. Not locked: a plan belongs
 * to its source's thread.
 */
typedef struct _HrPlan HrPlan;

/**
 * HrObject:
 * @uri: "s3://c/train/a.jsonl"
 * @key: the name relative to the location; objects are ordered by its bytes
 * @size: bytes, -1 unknown
 * @etag: (nullable): identity: ETag, or size and mtime of a file
 */
typedef struct {
  GRefString *uri;
  char *key;
  gint64 size;
  char *etag;
} HrObject;

/* lines that begin in [start, end) of an object; end = -1: to its end */
typedef struct {
  guint object;
  gint64 start;
  gint64 end;
} HrExtent;

/* copies all; before hr_plan_listed() */
void hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size,
                         const char *etag);
/* the list is complete: sorts it */
void hr_plan_listed (HrPlan *plan);
gboolean hr_plan_is_listed (const HrPlan *plan);
guint hr_plan_get_n_objects (const HrPlan *plan);
/* (transfer none) */
const HrObject *hr_plan_get_object (const HrPlan *plan, guint index);
/* the next extent of at most @block_bytes; FALSE at the end */
gboolean hr_plan_next (HrPlan *plan, gint64 block_bytes, HrExtent *extent);

/**
 * hr_plan_new: (skip)
 *
 * Private to the core and its tests.
 */
HrPlan *hr_plan_new (void);
void hr_plan_free (HrPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrPlan, hr_plan_free)

G_END_DECLS
