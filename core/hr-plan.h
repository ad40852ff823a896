/* hr-plan.h: what to read, and in which order: sources ask, the plan answers. docs/order.md */
#pragma once
#include <glib-object.h>
#include "hr-rows.h"

G_BEGIN_DECLS

/**
 * HrPlan:
 *
 * Objects with their identity, and the order of their lines. Sources list objects into it and then
 * ask for one read after the other; they decide nothing themselves. A plan belongs to its source's
 * thread.
 */
typedef struct _HrPlan HrPlan;

/**
 * HrObject:
 * @uri: "s3://c/train/a.jsonl"
 * @key: the name relative to the location; objects are ordered by its bytes
 * @size: bytes of its text, -1 unknown
 * @etag: (nullable): identity: ETag, or size and mtime of a file
 * @stored: bytes, if they are not its text itself but have it compressed; else -1
 */
typedef struct {
  GRefString *uri;
  char *key;
  gint64 size;
  char *etag;
  gint64 stored;
} HrObject;

/* bytes of the object as it lies there, whatever they mean; -1 unknown */
static inline gint64
hr_object_get_bytes (const HrObject *object)
{
  return object->stored >= 0 ? object->stored : object->size;
}

typedef enum { HR_SHUFFLE_NONE, HR_SHUFFLE_WINDOW, HR_SHUFFLE_FULL } HrShuffle;

/* a member's share of the places of a mix */
typedef enum {
  HR_MIX_RATIO,      /* its weight */
  HR_MIX_PASSES,     /* weight x length: passes over it in an epoch of the mix */
  HR_MIX_TEMPERATURE /* weight x length ^ (1 / temperature) */
} HrMixWeights;

/* an epoch of a mix ends when … */
typedef enum {
  HR_MIX_LONGEST, /* … every member has given as many samples as it has */
  HR_MIX_SHORTEST /* … the first of them has. Of HR_MIX_PASSES neither counts: it ends with them */
} HrMixEnd;

/**
 * HrMixRules:
 * @random: places are in random order, in windows
 * @seed: of these, and of the members that have none of their own
 * @epochs: 0: no end
 * @shuffle: of the members that do not say how
 */
typedef struct {
  HrMixWeights weights;
  gdouble temperature;
  HrMixEnd end;
  gboolean random;
  guint64 seed;
  guint64 epochs;
  HrShuffle shuffle;
} HrMixRules;

/* what a mix gives next: the next line of that input, or, without one, padding; @row: for which
 * packed row */
typedef struct {
  guint epoch;
  gint64 place;
  guint input;
  HrRowMark row;
} HrMixPlace;

#define HR_NO_INPUT G_MAXUINT

/**
 * HrPlanRules:
 * @epochs: 0: no end
 * @block_bytes: shuffle=window: bytes of a block
 * @window_blocks: … and blocks whose lines are mixed
 * @read_bytes: bytes that one read of known lines takes at most, more or less
 * @weight: members of a mix: see HrMixWeights
 * @repeat: … begin again when they are used up
 */
typedef struct {
  HrShuffle shuffle;
  guint64 seed;
  guint64 epochs;
  guint64 block_bytes;
  guint64 window_blocks;
  guint64 read_bytes;
  gdouble weight;
  gboolean repeat;
} HrPlanRules;

/* lines that begin in [start, end) of an object; end = -1: to its end */
typedef struct {
  guint object;
  gint64 start;
  gint64 end;
} HrExtent;

#define HR_NO_EXTENT G_MAXUINT

/* a line that the source shall give on, or a place that is to be filled up */
typedef struct {
  guint extent; /* of the read's: the line begins in it … ; HR_NO_EXTENT: no line, a hole */
  gint64 byte;  /* … here … */
  gint64 line;  /* … and is this one of the object's, from 1 */
  gint64 place;
  HrRowMark row;
  /* HR_NO_EXTENT: there is a line, but it is known that it makes no sample, and why */
  gboolean left_out;
  gboolean dropped; /* by a policy, not for an error */
  gint kind;        /* HrDataError, -1: nobody said */
  guint object;
} HrWanted;

typedef enum {
  HR_READ_STREAM, /* give on what hr_plan_place() says of the lines as they come */
  HR_READ_GROUP,  /* the same, of all lines of all extents at once */
  HR_READ_LINES,  /* give on the lines that are wanted, in that order */
  HR_READ_PADDING /* the end of an epoch whose lines were found: each place wanted is a hole */
} HrReadMode;

/**
 * HrRead:
 * @group: HR_READ_GROUP: which of the epoch's
 * @complete: HR_READ_PADDING: lines at this place and behind it are left out
 * @extents: (element-type HrExtent): read in this order
 * @wanted: (element-type HrWanted): in the order in which they are given on
 */
typedef struct {
  HrReadMode mode;
  guint epoch;
  guint64 group;
  gint64 complete;
  GArray *extents;
  GArray *wanted;
} HrRead;

/* a line that hr_plan_place() wants: the @index-th of those it was told of */
typedef struct {
  guint index;
  gint64 place;
  gboolean again; /* it has been delivered by the run that this one goes on from */
} HrPlaced;

typedef enum {
  HR_PLAN_READ,  /* here is one */
  HR_PLAN_LATER, /* not before a read that is out has ended */
  HR_PLAN_END    /* there are no more */
} HrPlanNext;

/* copies all; before hr_plan_listed() */
void hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size,
                         const char *etag);
/* the object that was added last is compressed: its size is that, and how large its text is nobody
 * knows */
void hr_plan_mark_compressed (HrPlan *plan);
/* the list is complete: sorts it */
void hr_plan_listed (HrPlan *plan);
gboolean hr_plan_is_listed (const HrPlan *plan);
guint hr_plan_get_n_objects (const HrPlan *plan);
/* (transfer none) */
const HrObject *hr_plan_get_object (const HrPlan *plan, guint index);

/**
 * hr_plan_begin:
 * @rules: those of the source; what the pipeline says goes before them
 *
 * The list is complete; from here on reads can be asked for. #HR_RESOURCE_ERROR if these objects
 * cannot be read in this order.
 */
gboolean hr_plan_begin (HrPlan *plan, const HrPlanRules *rules, GError **error);
/* before hr_plan_begin(): TRUE: with these @rules, and what goes before them, it must be known how
 * large the text of each object is */
gboolean hr_plan_needs_sizes (const HrPlan *plan, const HrPlanRules *rules);
/* … it is that large; between hr_plan_listed() and hr_plan_begin() */
void hr_plan_set_size (HrPlan *plan, guint object, gint64 size);
/* FALSE: nobody behind the source reads lines; its blocks themselves are the samples */
gboolean hr_plan_has_samples (const HrPlan *plan);
/* TRUE: where all lines begin must be known, and is not */
gboolean hr_plan_needs_scan (const HrPlan *plan);
/* TRUE: how long all lines are must be known as well; hr_lengths_find() */
gboolean hr_plan_needs_lengths (const HrPlan *plan);
gboolean hr_plan_knows_lines (const HrPlan *plan, guint object);
/* takes a reference of @lines, an HrLineTable: where the lines of that object begin */
void hr_plan_set_lines (HrPlan *plan, guint object, gpointer lines);
/* what can be known beforehand is: if a scan was needed, it is done. #HR_RESOURCE_ERROR if there is
 * nothing where something must be */
gboolean hr_plan_settle (HrPlan *plan, GError **error);

/**
 * hr_plan_next:
 * @read: (out) (transfer full): what to read; hr_plan_end_read() it. Reads are asked for ahead, and
 *   end in the order in which they were asked for
 */
HrPlanNext hr_plan_next (HrPlan *plan, HrRead **read);
/* what hr_plan_place() will be told of next begins here: a resumed run begins here as well */
void hr_plan_mark (HrPlan *plan, const HrRead *read, gint64 byte);
/**
 * hr_plan_place:
 * @n: lines of the read that were found, behind those of earlier calls
 * @placed: (element-type HrPlaced): those that are ours, in the order in which they are given on;
 * and those, anybody's, that a run that goes on has to read again
 *
 * For HR_READ_STREAM, again and again, and HR_READ_GROUP, once. FALSE: no further line of the read
 * is wanted.
 */
gboolean hr_plan_place (HrPlan *plan, HrRead *read, guint n, GArray *placed);
/* lines that were read again, not to be given on */
void hr_plan_count_again (HrPlan *plan, guint64 n_lines, guint64 n_bytes);
/* lines of the reads so far at places below this may be given on: their step is one that is made */
gint64 hr_plan_get_complete (const HrPlan *plan);
/* takes @read */
void hr_plan_end_read (HrPlan *plan, HrRead *read);
void hr_read_free (HrRead *read);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrRead, hr_read_free)

G_END_DECLS
