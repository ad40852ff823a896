/* hr-sequence.c */
#include "hr-sequence.h"
#include "hr-permute.h"

struct _HrSequence {
  const GArray *objects; /* HrObject */
  GPtrArray *tables;     /* HrLineTable */
  HrPlanRules rules;
  guint64 seed;
  GArray *first_line; /* guint64: of each object, and the number of all */

  /* shuffle=window */
  GArray *first_block; /* guint64: of each object, and the number of all */
  /* Groups of the last even and the last odd epoch: where one ends and the next begins, a mix may
   * go to and fro between them. */
  struct {
    GArray *first_place; /* guint64: of each group, and the number of all; NULL: of no epoch yet */
    guint64 epoch;
  } groups[2];
};

guint64
hr_sequence_count_blocks (gint64 size, guint64 block_bytes)
{
  return ((guint64)size + block_bytes - 1) / block_bytes;
}

static guint64
get (const GArray *array, guint64 index)
{
  return g_array_index (array, guint64, index);
}

static guint64
last (const GArray *array)
{
  return get (array, array->len - 1);
}

static void
add (GArray *sums, guint64 n)
{
  guint64 sum = last (sums) + n;

  g_array_append_val (sums, sum);
}

static GArray *
new_sums (void)
{
  GArray *sums = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 none = 0;

  g_array_append_val (sums, none);
  return sums;
}

/* the last index with sums[index] <= value: of what several share, the one that is not empty */
static guint64
find (const GArray *sums, guint64 value)
{
  guint64 low = 0, high = sums->len - 1;

  while (high - low > 1) {
    guint64 middle = low + (high - low) / 2;

    if (get (sums, middle) <= value)
      low = middle;
    else
      high = middle;
  }
  return low;
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
  sequence->first_line = new_sums ();
  sequence->first_block = new_sums ();
  for (guint i = 0; i < objects->len; i++) {
    add (sequence->first_line, hr_line_table_get_length (table (sequence, i)));
    if (rules->shuffle == HR_SHUFFLE_WINDOW)
      add (
          sequence->first_block,
          hr_sequence_count_blocks (g_array_index (objects, HrObject, i).size, rules->block_bytes));
  }
  return sequence;
}

void
hr_sequence_free (HrSequence *sequence)
{
  g_array_unref (sequence->first_line);
  g_array_unref (sequence->first_block);
  for (guint i = 0; i < G_N_ELEMENTS (sequence->groups); i++)
    g_clear_pointer (&sequence->groups[i].first_place, g_array_unref);
  g_ptr_array_unref (sequence->tables);
  g_free (sequence);
}

guint64
hr_sequence_get_length (const HrSequence *sequence)
{
  return last (sequence->first_line);
}

/* ---- shuffle=window ---- */

typedef struct {
  guint object;
  guint64 first; /* of the object's lines */
  guint64 n;
} Block;

/* the block that is read as number @index of the epoch */
static Block
get_block (const HrSequence *sequence, guint64 epoch, guint64 index)
{
  guint64 key = hr_permute_key (sequence->seed, epoch, HR_KEY_BLOCKS, 0);
  guint64 number = hr_permute (key, last (sequence->first_block), index);
  Block block = { .object = (guint)find (sequence->first_block, number) };
  gint64 start =
      (gint64)((number - get (sequence->first_block, block.object)) * sequence->rules.block_bytes);

  block.first = hr_line_table_find (table (sequence, block.object), start);
  block.n = hr_line_table_find (table (sequence, block.object),
                                start + (gint64)sequence->rules.block_bytes)
            - block.first;
  return block;
}

/* (element-type guint64) (transfer none): the first place of each group, and the number of all */
static const GArray *
find_groups (HrSequence *sequence, guint64 epoch)
{
  guint64 n_blocks = last (sequence->first_block), per_group = sequence->rules.window_blocks;
  GArray **sums = &sequence->groups[epoch & 1].first_place;

  if (*sums != NULL && sequence->groups[epoch & 1].epoch == epoch)
    return *sums;
  g_clear_pointer (sums, g_array_unref);
  *sums = new_sums ();
  sequence->groups[epoch & 1].epoch = epoch;
  for (guint64 i = 0; i < n_blocks; i += per_group) {
    guint64 n = 0;

    for (guint64 k = i; k < MIN (i + per_group, n_blocks); k++)
      n += get_block (sequence, epoch, k).n;
    add (*sums, n);
  }
  return *sums;
}

static void
locate_in_window (HrSequence *sequence, guint64 epoch, guint64 place, guint *object, guint64 *line)
{
  const GArray *sums = find_groups (sequence, epoch);
  guint64 group = find (sums, place), first = get (sums, group), n = get (sums, group + 1) - first;
  guint64 index;

  index =
      hr_permute (hr_permute_key (sequence->seed, epoch, HR_KEY_GROUP, group), n, place - first);
  for (guint64 i = group * sequence->rules.window_blocks;; i++) {
    Block block = get_block (sequence, epoch, i);

    if (index < block.n) {
      *object = block.object;
      *line = block.first + index;
      return;
    }
    index -= block.n;
  }
}

/* ---- all of them ---- */

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
  *object = (guint)find (sequence->first_line, index);
  *line = index - get (sequence->first_line, *object);
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
    const GArray *sums = find_groups (sequence, epoch);

    *unit = find (sums, place);
    *byte = 0;
    *first = get (sums, *unit);
    return;
  }
  hr_sequence_locate (sequence, epoch, place, &object, &line);
  hr_sequence_get_extent (sequence, object, line, byte, &end);
  *unit = object;
  *first = place;
}
