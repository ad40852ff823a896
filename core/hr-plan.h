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
 *
 * An object that is to be read.
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

/**
 * HrShuffle:
 * @HR_SHUFFLE_NONE: as they lie there
 * @HR_SHUFFLE_WINDOW: blocks in random order, lines mixed within windows of some blocks
 * @HR_SHUFFLE_FULL: each permutation of all lines
 *
 * How the lines of an epoch are put in order; docs/order.md has the rules.
 */
typedef enum { HR_SHUFFLE_NONE, HR_SHUFFLE_WINDOW, HR_SHUFFLE_FULL } HrShuffle;

/**
 * HrMixWeights:
 * @HR_MIX_RATIO: its weight
 * @HR_MIX_PASSES: weight x length: passes over it in an epoch of the mix
 * @HR_MIX_TEMPERATURE: weight x length ^ (1 / temperature)
 *
 * A member's share of the places of a mix.
 */
typedef enum { HR_MIX_RATIO, HR_MIX_PASSES, HR_MIX_TEMPERATURE } HrMixWeights;

/**
 * HrMixEnd:
 * @HR_MIX_LONGEST: when every member has given as many samples as it has
 * @HR_MIX_SHORTEST: when the first of them has. With #HR_MIX_PASSES neither counts: it ends with
 *   them
 *
 * When an epoch of a mix ends.
 */
typedef enum { HR_MIX_LONGEST, HR_MIX_SHORTEST } HrMixEnd;

/**
 * HrMixRules:
 * @random: places are in random order, in windows
 * @seed: of these, and of the members that have none of their own
 * @epochs: 0: no end
 * @shuffle: of the members that do not say how
 *
 * In which order a mix takes its members, and when its epoch ends.
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

/**
 * HrMixPlace:
 * @epoch: from 0
 * @place: in the order of the epoch
 * @input: which of them, from 0; #HR_NO_INPUT: padding
 * @row: the packed row that it is for
 *
 * What a mix gives next: the next line of an input, or padding.
 */
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
 *
 * In which order a source reads.
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

/**
 * HrExtent:
 * @object: its index in the plan
 * @start: byte
 * @end: byte; -1: to the object's end
 *
 * Lines that begin in [start, end) of an object.
 */
typedef struct {
  guint object;
  gint64 start;
  gint64 end;
} HrExtent;

#define HR_NO_EXTENT G_MAXUINT

/**
 * HrWanted:
 * @extent: of the read's: the line begins in it; #HR_NO_EXTENT: no line, a hole
 * @byte: where the line begins
 * @line: which of the object's it is, from 1
 * @place: in the order of its epoch
 * @row: the packed row that it is for
 * @left_out: with #HR_NO_EXTENT: there is a line, but it is known that it makes no sample
 * @dropped: … by a policy, not for an error
 * @kind: … #HrDataError, -1: nobody said
 * @object: … of the plan's
 *
 * A line that the source shall give on, or a place that is to be filled up.
 */
typedef struct {
  guint extent;
  gint64 byte;
  gint64 line;
  gint64 place;
  HrRowMark row;
  gboolean left_out;
  gboolean dropped;
  gint kind;
  guint object;
} HrWanted;

/**
 * HrReadMode:
 * @HR_READ_STREAM: give on what hr_plan_place() says of the lines as they come
 * @HR_READ_GROUP: the same, of all lines of all extents at once
 * @HR_READ_LINES: give on the lines that are wanted, in that order
 * @HR_READ_PADDING: the end of an epoch whose lines were found: each place wanted is a hole
 *
 * How a source reads what the plan says.
 */
typedef enum { HR_READ_STREAM, HR_READ_GROUP, HR_READ_LINES, HR_READ_PADDING } HrReadMode;

/**
 * HrRead:
 * @group: HR_READ_GROUP: which of the epoch's
 * @complete: HR_READ_PADDING: lines at this place and behind it are left out
 * @extents: (element-type HrExtent): read in this order
 * @wanted: (element-type HrWanted): in the order in which they are given on
 *
 * What to read, and what of it to give on.
 */
typedef struct {
  HrReadMode mode;
  guint epoch;
  guint64 group;
  gint64 complete;
  GArray *extents;
  GArray *wanted;
} HrRead;

/**
 * HrPlaced:
 * @index: which of those it was told of
 * @place: in the order of its epoch
 * @again: it has been delivered by the run that this one goes on from
 *
 * A line that hr_plan_place() wants.
 */
typedef struct {
  guint index;
  gint64 place;
  gboolean again;
} HrPlaced;

/**
 * HrPlanNext:
 * @HR_PLAN_READ: here is one
 * @HR_PLAN_LATER: not before a read that is out has ended
 * @HR_PLAN_END: there are no more
 *
 * What hr_plan_next() says.
 */
typedef enum { HR_PLAN_READ, HR_PLAN_LATER, HR_PLAN_END } HrPlanNext;

/**
 * hr_plan_add_object:
 * @uri: "s3://c/train/a.jsonl"
 * @key: its name relative to the location
 * @size: bytes of its text, -1 unknown
 * @etag: (nullable): its identity
 *
 * Adds an object to the list; all is copied. Before hr_plan_listed().
 */
void hr_plan_add_object (HrPlan *plan, const char *uri, const char *key, gint64 size,
                         const char *etag);

/**
 * hr_plan_mark_compressed:
 *
 * The object that was added last is compressed: its size is that, and how large its text is nobody
 * knows.
 */
void hr_plan_mark_compressed (HrPlan *plan);

/**
 * hr_plan_listed:
 *
 * The list is complete: sorts it.
 */
void hr_plan_listed (HrPlan *plan);

/**
 * hr_plan_is_listed:
 *
 * Asks whether the list is complete.
 *
 * Returns: %TRUE after hr_plan_listed()
 */
gboolean hr_plan_is_listed (const HrPlan *plan);

/**
 * hr_plan_get_n_objects:
 *
 * Counts its objects.
 *
 * Returns: number of objects
 */
guint hr_plan_get_n_objects (const HrPlan *plan);

/**
 * hr_plan_get_object:
 * @index: below hr_plan_get_n_objects()
 *
 * Gives an object, in the order of keys once they are listed.
 *
 * Returns: (transfer none): the object
 */
const HrObject *hr_plan_get_object (const HrPlan *plan, guint index);

/**
 * hr_plan_begin:
 * @rules: those of the source; what the pipeline says goes before them
 * @error: return location: #HR_RESOURCE_ERROR
 *
 * The list is complete; from here on reads can be asked for. #HR_RESOURCE_ERROR if these objects
 * cannot be read in this order.
 *
 * Returns: %TRUE, or %FALSE with an error
 */
gboolean hr_plan_begin (HrPlan *plan, const HrPlanRules *rules, GError **error);

/**
 * hr_plan_needs_sizes:
 * @rules: those of the source; what the pipeline says goes before them
 *
 * Asks, before hr_plan_begin(), whether it must be known how large the text of each object is.
 *
 * Returns: %TRUE if it must
 */
gboolean hr_plan_needs_sizes (const HrPlan *plan, const HrPlanRules *rules);

/**
 * hr_plan_set_size:
 * @object: its index
 * @size: bytes
 *
 * Says how large the text of an object is; between hr_plan_listed() and hr_plan_begin().
 */
void hr_plan_set_size (HrPlan *plan, guint object, gint64 size);

/**
 * hr_plan_has_samples:
 *
 * Asks whether lines are samples.
 *
 * Returns: %FALSE: nobody behind the source reads lines; its blocks themselves are the samples
 */
gboolean hr_plan_has_samples (const HrPlan *plan);

/**
 * hr_plan_needs_scan:
 *
 * Asks whether all lines must be found before the first is read.
 *
 * Returns: %TRUE: where all lines begin must be known, and is not
 */
gboolean hr_plan_needs_scan (const HrPlan *plan);

/**
 * hr_plan_needs_lengths:
 *
 * Asks whether it must be known how long all samples are.
 *
 * Returns: %TRUE if it must
 */
gboolean hr_plan_needs_lengths (const HrPlan *plan);

/**
 * hr_plan_knows_lines:
 * @object: its index
 *
 * Asks whether it is known where the lines of an object begin.
 *
 * Returns: %TRUE if it is
 */
gboolean hr_plan_knows_lines (const HrPlan *plan, guint object);

/**
 * hr_plan_set_lines:
 * @object: its index
 * @lines: (transfer none): an HrLineTable
 *
 * Says where the lines of an object begin.
 */
void hr_plan_set_lines (HrPlan *plan, guint object, gpointer lines);

/**
 * hr_plan_settle:
 * @error: return location: #HR_RESOURCE_ERROR if there is nothing where something must be
 *
 * What can be known beforehand is: if a scan was needed, it is done.
 *
 * Returns: %TRUE, or %FALSE with an error
 */
gboolean hr_plan_settle (HrPlan *plan, GError **error);

/**
 * hr_plan_next:
 * @read: (out) (transfer full): what to read; hr_plan_end_read() it. Reads are asked for ahead, and
 *   end in the order in which they were asked for
 *
 * Says what to read next.
 *
 * Returns: #HR_PLAN_READ: @read is set; #HR_PLAN_LATER: not before a read that is out has ended;
 *   #HR_PLAN_END: there are no more
 */
HrPlanNext hr_plan_next (HrPlan *plan, HrRead **read);

/**
 * hr_plan_mark:
 * @read: one that is out
 * @byte: of its object
 *
 * What hr_plan_place() will be told of next begins here: a resumed run begins here as well.
 */
void hr_plan_mark (HrPlan *plan, const HrRead *read, gint64 byte);

/**
 * hr_plan_place:
 * @read: one that is out
 * @n: lines of the read that were found, behind those of earlier calls
 * @placed: (element-type HrPlaced): those that are ours, in the order in which they are given on;
 * and those, anybody's, that a run that goes on has to read again
 *
 * For HR_READ_STREAM, again and again, and HR_READ_GROUP, once.
 *
 * Returns: %FALSE: no further line of the read is wanted
 */
gboolean hr_plan_place (HrPlan *plan, HrRead *read, guint n, GArray *placed);

/**
 * hr_plan_count_again:
 * @n_lines: their number
 * @n_bytes: their bytes
 *
 * Counts lines that were read again by a run that goes on, and not given on.
 */
void hr_plan_count_again (HrPlan *plan, guint64 n_lines, guint64 n_bytes);

/**
 * hr_plan_get_complete:
 *
 * Lines of the reads so far at places below this may be given on: their step is one that is made.
 *
 * Returns: a place
 */
gint64 hr_plan_get_complete (const HrPlan *plan);

/**
 * hr_plan_end_read:
 * @read: (transfer full): the oldest that is out
 *
 * The read is done with.
 */
void hr_plan_end_read (HrPlan *plan, HrRead *read);

/**
 * hr_read_free:
 *
 * Frees a read that nobody will end.
 */
void hr_read_free (HrRead *read);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrRead, hr_read_free)

G_END_DECLS
