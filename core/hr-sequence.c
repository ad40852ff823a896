/* hr-sequence.c */
#include "hr-sequence.h"
#include "hr-permute.h"
#include "hr-sums.h"

typedef struct {
  guint object;
  guint64 first; /* of the object's lines */
  guint64 n;
} Block;

/* what is known of an epoch with shuffle=window */
typedef struct {
  GArray *first_place; /* sums: of the lines of each group; NULL: of no epoch yet */
  guint64 epoch;
  /* the group that was asked for last */
  guint64 group;
  GArray *blocks; /* Block, in the order in which they are read */
  GArray *lines;  /* sums: of the lines of each of them; NULL: of no group yet */
} Groups;

struct _HrSequence {
  const GArray *objects; /* HrObject */
  GPtrArray *tables;     /* HrLineTable */
  HrPlanRules rules;
  guint64 seed;
  GArray *first_line; /* guint64: of each object, and the number of all */

  /* shuffle=window */
  GArray *first_block; /* guint64: of each object, and the number of all */
  Groups groups[2];    /* of the last even and the last odd epoch: a mix may go to and fro */
};

GArray *
hr_sequence_sum_blocks (const GArray *objects, guint64 block_bytes)
{
  GArray *sums = hr_sums_new ();

  for (guint i = 0; i < objects->len; i++)
    hr_sums_add (sums, ((guint64)g_array_index (objects, HrObject, i).size + block_bytes - 1)
                           / block_bytes);
  return sums;
}

HrExtent
hr_sequence_get_block (const GArray *objects, const GArray *sums, guint64 block_bytes, guint64 seed,
                       guint64 epoch, guint64 index)
{
  guint64 key = hr_permute_key (seed, epoch, HR_KEY_BLOCKS, 0);
  guint64 number = hr_permute (key, hr_sums_get_last (sums), index);
  HrExtent extent = { .object = (guint)hr_sums_find (sums, number) };

  extent.start = (gint64)((number - hr_sums_get (sums, extent.object)) * block_bytes);
  extent.end = MIN (g_array_index (objects, HrObject, extent.object).size,
                    extent.start + (gint64)block_bytes);
  return extent;
}

static const HrLineTable *
table (const HrSequence *sequence, guint object)
{
  return sequence->tables->pdata[object];
}

HrSequence *
hr_sequence_new (const GArray *objects, GPtrArray *tables, const HrPlanRules *rules, guint64 seed)
{
  HrSequence *sequence = g_new0 (HrSequence, 1);

  sequence->objects = objects;
  sequence->tables = g_ptr_array_ref (tables);
  sequence->rules = *rules;
  sequence->seed = seed;
  sequence->first_line = hr_sums_new ();
  sequence->first_block = rules->shuffle == HR_SHUFFLE_WINDOW
                              ? hr_sequence_sum_blocks (objects, rules->block_bytes)
                              : hr_sums_new ();
  for (guint i = 0; i < objects->len; i++)
    hr_sums_add (sequence->first_line, hr_line_table_get_length (table (sequence, i)));
  return sequence;
}

guint64
hr_sequence_get_length (const HrSequence *sequence)
{
  return hr_sums_get_last (sequence->first_line);
}

/* ---- shuffle=window ---- */

/* the block that is read as number @index of the epoch */
static Block
get_block (const HrSequence *sequence, guint64 epoch, guint64 index)
{
  HrExtent extent =
      hr_sequence_get_block (sequence->objects, sequence->first_block, sequence->rules.block_bytes,
                             sequence->seed, epoch, index);
  Block block = { .object = extent.object };

  block.first = hr_line_table_find (table (sequence, block.object), extent.start);
  block.n = hr_line_table_find (table (sequence, block.object), extent.end) - block.first;
  return block;
}

static void
clear_groups (Groups *groups)
{
  g_clear_pointer (&groups->first_place, g_array_unref);
  g_clear_pointer (&groups->blocks, g_array_unref);
  g_clear_pointer (&groups->lines, g_array_unref);
}

static Groups *
find_groups (HrSequence *sequence, guint64 epoch)
{
  guint64 n_blocks = hr_sums_get_last (sequence->first_block);
  guint64 per_group = sequence->rules.window_blocks;
  Groups *groups = &sequence->groups[epoch & 1];

  if (groups->first_place != NULL && groups->epoch == epoch)
    return groups;
  clear_groups (groups);
  groups->first_place = hr_sums_new ();
  groups->epoch = epoch;
  for (guint64 i = 0; i < n_blocks; i += per_group) {
    guint64 n = 0;

    for (guint64 k = i; k < MIN (i + per_group, n_blocks); k++)
      n += get_block (sequence, epoch, k).n;
    hr_sums_add (groups->first_place, n);
  }
  return groups;
}

/* places follow each other: mostly it is the group of before */
static void
find_blocks (HrSequence *sequence, Groups *groups, guint64 group)
{
  guint64 first = group * sequence->rules.window_blocks;
  guint64 n_blocks = hr_sums_get_last (sequence->first_block);

  if (groups->lines != NULL && groups->group == group)
    return;
  g_clear_pointer (&groups->blocks, g_array_unref);
  g_clear_pointer (&groups->lines, g_array_unref);
  groups->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  groups->lines = hr_sums_new ();
  groups->group = group;
  for (guint64 i = first; i < MIN (first + sequence->rules.window_blocks, n_blocks); i++) {
    Block block = get_block (sequence, groups->epoch, i);

    g_array_append_val (groups->blocks, block);
    hr_sums_add (groups->lines, block.n);
  }
}

static void
locate_in_window (HrSequence *sequence, guint64 epoch, guint64 place, guint *object, guint64 *line)
{
  Groups *groups = find_groups (sequence, epoch);
  guint64 group = hr_sums_find (groups->first_place, place), index, number;
  const Block *block;

  find_blocks (sequence, groups, group);
  index = hr_permute (hr_permute_key (sequence->seed, epoch, HR_KEY_GROUP, group),
                      hr_sums_get_last (groups->lines),
                      place - hr_sums_get (groups->first_place, group));
  number = hr_sums_find (groups->lines, index);
  block = &g_array_index (groups->blocks, Block, number);
  *object = block->object;
  *line = block->first + index - hr_sums_get (groups->lines, number);
}

/* ---- all of them ---- */

void
hr_sequence_free (HrSequence *sequence)
{
  g_array_unref (sequence->first_line);
  g_array_unref (sequence->first_block);
  for (guint i = 0; i < G_N_ELEMENTS (sequence->groups); i++)
    clear_groups (&sequence->groups[i]);
  g_ptr_array_unref (sequence->tables);
  g_free (sequence);
}

void
hr_sequence_locate (HrSequence *sequence, guint64 epoch, guint64 place, guint *object,
                    guint64 *line)
{
  guint64 n = hr_sequence_get_length (sequence), index = place;

  g_return_if_fail (place < n);
  if (sequence->rules.shuffle == HR_SHUFFLE_WINDOW) {
    locate_in_window (sequence, epoch, place, object, line);
    return;
  }
  if (sequence->rules.shuffle == HR_SHUFFLE_FULL)
    index = hr_permute (hr_permute_key (sequence->seed, epoch, HR_KEY_LINES, 0), n, place);
  *object = (guint)hr_sums_find (sequence->first_line, index);
  *line = index - hr_sums_get (sequence->first_line, *object);
}

void
hr_sequence_get_extent (const HrSequence *sequence, guint object, guint64 line, gint64 *start,
                        gint64 *end)
{
  const HrLineTable *lines = table (sequence, object);

  *start = hr_line_table_get_byte (lines, line);
  *end = line + 1 < hr_line_table_get_length (lines)
             ? hr_line_table_get_byte (lines, line + 1)
             : g_array_index (sequence->objects, HrObject, object).size;
}

void
hr_sequence_find_unit (HrSequence *sequence, guint64 epoch, guint64 place, guint64 *unit,
                       gint64 *byte, guint64 *first)
{
  guint64 line;
  gint64 end;
  guint object;

  g_return_if_fail (sequence->rules.shuffle != HR_SHUFFLE_FULL);
  if (sequence->rules.shuffle == HR_SHUFFLE_WINDOW) {
    const GArray *first_place = find_groups (sequence, epoch)->first_place;

    *unit = hr_sums_find (first_place, place);
    *byte = 0;
    *first = hr_sums_get (first_place, *unit);
    return;
  }
  hr_sequence_locate (sequence, epoch, place, &object, &line);
  hr_sequence_get_extent (sequence, object, line, byte, &end);
  *unit = object;
  *first = place;
}
