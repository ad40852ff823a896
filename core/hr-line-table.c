/* hr-line-table.c: where the lines of one object begin, in some four bytes a line */
#include "hr-line-table.h"
#include "hr-ref.h"
#include <string.h>

/* A group of lines has one 64-bit base, and each line its 32-bit distance from that. */
#define GROUP 64

/* "HRLINES1", read by a machine of the other byte order it is another number */
#define MAGIC G_GUINT64_CONSTANT (0x3153454e494c5248)

/* from line @index on the physical numbers are @line, @line + 1, … */
typedef struct {
  guint64 index;
  gint64 line;
} Jump;

/* A frozen table is one block of bytes: this, the bases, the wide starts, the jumps, the distances
 */
typedef struct {
  guint64 magic;
  guint64 n;
  guint64 n_wide;
  guint64 n_jumps;
} Head;

struct _HrLineTable {
  gint ref_count;
  GBytes *frozen; /* owns the arrays then */
  guint64 n;
  guint64 n_wide; /* groups */
  guint64 n_jumps;
  gint64 *bases;      /* a group; negative: -1 - the number of its group of wide starts */
  gint64 *wide;       /* the starts of the lines of groups that span more than 4 GiB */
  Jump *jumps;        /* none as long as no line is blank */
  guint32 *distances; /* a line */
  gint64 last_byte;
  gint64 last_line;
};

gboolean
hr_line_is_blank (const char *text, gsize size)
{
  HrLineHead head = HR_LINE_START;

  for (gsize i = 0; i < size && head != HR_LINE_TEXT; i++)
    head = hr_line_head_step (head, (guint8)text[i]);
  return hr_line_head_is_blank (head);
}

HrLineTable *
hr_line_table_new (void)
{
  HrLineTable *table = g_new0 (HrLineTable, 1);

  table->ref_count = 1;
  table->last_byte = -1;
  return table;
}

HrLineTable *
hr_line_table_ref (HrLineTable *table)
{
  hr_ref_inc (&table->ref_count);
  return table;
}

void
hr_line_table_unref (HrLineTable *table)
{
  if (!hr_ref_dec (&table->ref_count))
    return;
  if (table->frozen != NULL) {
    g_bytes_unref (table->frozen);
  } else {
    g_free (table->bases);
    g_free (table->wide);
    g_free (table->jumps);
    g_free (table->distances);
  }
  g_free (table);
}

/* ---- while it is filled ---- */

/* items there is room for when there are @n: the next power of two */
static guint64
get_room (guint64 n, guint64 least)
{
  return n == 0 ? 0 : MAX (least, G_GUINT64_CONSTANT (1) << g_bit_storage (n - 1));
}

/* Returns: @array with room for one more than the @n items in it */
static gpointer
grow (gpointer array, guint64 n, guint64 least, gsize item)
{
  guint64 room = get_room (n, least);

  if (n < room)
    return array;
  return g_realloc_n (array, get_room (n + 1, least), item);
}

/* the last group, whose @used lines have distances so far, spans too much for them */
static void
widen_group (HrLineTable *table, guint64 group, guint used)
{
  gint64 *starts;

  table->wide = grow (table->wide, table->n_wide, 1, GROUP * sizeof *table->wide);
  starts = table->wide + table->n_wide * GROUP;
  memset (starts, 0, GROUP * sizeof *starts);
  for (guint i = 0; i < used; i++)
    starts[i] = table->bases[group] + table->distances[group * GROUP + i];
  table->bases[group] = -1 - (gint64)table->n_wide++;
}

static void
add_jump (HrLineTable *table, gint64 line)
{
  table->jumps = grow (table->jumps, table->n_jumps, 4, sizeof *table->jumps);
  table->jumps[table->n_jumps++] = (Jump){ table->n, line };
}

void
hr_line_table_add (HrLineTable *table, gint64 byte, gint64 line)
{
  guint64 group = table->n / GROUP;
  guint at = table->n % GROUP;

  g_return_if_fail (table->frozen == NULL && byte > table->last_byte && line > table->last_line);
  if (at == 0) {
    table->bases = grow (table->bases, group, 1, sizeof *table->bases);
    table->bases[group] = byte;
  }
  table->distances = grow (table->distances, table->n, GROUP, sizeof *table->distances);
  if (table->bases[group] >= 0 && byte - table->bases[group] > G_MAXUINT32)
    widen_group (table, group, at);
  if (table->bases[group] >= 0) {
    table->distances[table->n] = byte - table->bases[group];
  } else {
    table->wide[(-1 - table->bases[group]) * GROUP + at] = byte;
    table->distances[table->n] = 0;
  }
  if (line != table->last_line + 1)
    add_jump (table, line);
  table->n++;
  table->last_byte = byte;
  table->last_line = line;
}

/* ---- frozen ---- */

static guint64
count_groups (guint64 n)
{
  return n / GROUP + (n % GROUP != 0);
}

/* the arrays are what stands in @frozen, which is taken */
static void
set_frozen (HrLineTable *table, GBytes *frozen)
{
  const guint8 *at = g_bytes_get_data (frozen, NULL);

  table->frozen = frozen;
  at += sizeof (Head);
  table->bases = (gint64 *)at;
  at += count_groups (table->n) * sizeof (gint64);
  table->wide = (gint64 *)at;
  at += table->n_wide * GROUP * sizeof (gint64);
  table->jumps = (Jump *)at;
  at += table->n_jumps * sizeof (Jump);
  table->distances = (guint32 *)at;
}

/* what is left of @array is @to's: behind what was written */
static guint8 *
move (guint8 *to, gpointer array, gsize size)
{
  if (size > 0)
    memcpy (to, array, size);
  g_free (array);
  return to + size;
}

void
hr_line_table_freeze (HrLineTable *table)
{
  Head head = { MAGIC, table->n, table->n_wide, table->n_jumps };
  gsize bases = count_groups (table->n) * sizeof (gint64);
  gsize wide = table->n_wide * GROUP * sizeof (gint64);
  gsize jumps = table->n_jumps * sizeof (Jump), distances = table->n * sizeof (guint32);
  gsize size = sizeof head + bases + wide + jumps + distances;
  guint8 *block, *at;

  if (table->frozen != NULL)
    return;
  block = at = g_malloc (size);
  memcpy (at, &head, sizeof head);
  at = move (at + sizeof head, table->bases, bases);
  at = move (at, table->wide, wide);
  at = move (at, table->jumps, jumps);
  move (at, table->distances, distances);
  set_frozen (table, g_bytes_new_take (block, size));
}

guint64
hr_line_table_get_length (const HrLineTable *table)
{
  return table->n;
}

gint64
hr_line_table_get_byte (const HrLineTable *table, guint64 index)
{
  gint64 base;

  g_return_val_if_fail (index < table->n, -1);
  base = table->bases[index / GROUP];
  return base >= 0 ? base + table->distances[index]
                   : table->wide[(-1 - base) * GROUP + (gint64)(index % GROUP)];
}

gint64
hr_line_table_get_line (const HrLineTable *table, guint64 index)
{
  guint64 low = 0, high = table->n_jumps;

  g_return_val_if_fail (index < table->n, -1);
  while (low < high) { /* jumps before @low are at or before the line */
    guint64 middle = low + (high - low) / 2;

    if (table->jumps[middle].index <= index)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return (gint64)index + 1;
  return table->jumps[low - 1].line + (gint64)(index - table->jumps[low - 1].index);
}

guint64
hr_line_table_find (const HrLineTable *table, gint64 byte)
{
  guint64 low = 0, high = table->n;

  while (low < high) { /* lines before @low begin before @byte */
    guint64 middle = low + (high - low) / 2;

    if (hr_line_table_get_byte (table, middle) < byte)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

gsize
hr_line_table_get_n_bytes (const HrLineTable *table)
{
  if (table->frozen != NULL)
    return sizeof *table + g_bytes_get_size (table->frozen);
  return sizeof *table + get_room (count_groups (table->n), 1) * sizeof (gint64)
         + get_room (table->n_wide, 1) * GROUP * sizeof (gint64)
         + get_room (table->n_jumps, 4) * sizeof (Jump)
         + get_room (table->n, GROUP) * sizeof (guint32);
}

GBytes *
hr_line_table_to_bytes (const HrLineTable *table)
{
  g_return_val_if_fail (table->frozen != NULL, NULL);
  return g_bytes_ref (table->frozen);
}

/* ---- from bytes that anybody may have written ---- */

/* are @size bytes those of a table with such a head? */
static gboolean
fits (const Head *head, gsize size)
{
  gsize left;

  if (size < sizeof *head || head->magic != MAGIC)
    return FALSE;
  left = size - sizeof *head;
  /* nothing below can overflow: each count is held against the bytes there are first */
  if (head->n > left / sizeof (guint32) || head->n_jumps > left / sizeof (Jump)
      || head->n_wide > left / (GROUP * sizeof (gint64)))
    return FALSE;
  return left
         == count_groups (head->n) * sizeof (gint64) + head->n_wide * GROUP * sizeof (gint64)
                + head->n_jumps * sizeof (Jump) + head->n * sizeof (guint32);
}

/* every line begins behind the one before it, and inside the object */
static gboolean
starts_are_sound (const HrLineTable *table, gint64 size)
{
  gint64 last = -1;
  guint64 n_wide = 0;

  for (guint64 i = 0; i < table->n; i++) {
    gint64 base = table->bases[i / GROUP], byte;

    if (i % GROUP == 0 && base < 0 && base != -1 - (gint64)n_wide++)
      return FALSE;
    if (n_wide > table->n_wide || base > size)
      return FALSE;
    byte = hr_line_table_get_byte (table, i);
    if (byte <= last || byte >= size)
      return FALSE;
    last = byte;
  }
  return n_wide == table->n_wide;
}

/* of a table whose starts are: numbers ascend, and each line before has its LF at least */
static gboolean
jumps_are_sound (const HrLineTable *table)
{
  Jump last = { 0, 1 }; /* the numbers as they are without jumps */

  for (guint64 i = 0; i < table->n_jumps; i++) {
    Jump jump = table->jumps[i];

    if (jump.index >= table->n || (i > 0 && jump.index <= last.index)
        || jump.line > hr_line_table_get_byte (table, jump.index) + 1
        || jump.line <= last.line + (gint64)(jump.index - last.index))
      return FALSE;
    last = jump;
  }
  return TRUE;
}

HrLineTable *
hr_line_table_from_bytes (GBytes *bytes, gint64 size)
{
  g_autoptr (HrLineTable) table = hr_line_table_new ();
  gsize n_bytes;
  gconstpointer data = g_bytes_get_data (bytes, &n_bytes);
  Head head;

  if (n_bytes < sizeof head)
    return NULL;
  memcpy (&head, data, sizeof head);
  if (!fits (&head, n_bytes))
    return NULL;
  table->n = head.n;
  table->n_wide = head.n_wide;
  table->n_jumps = head.n_jumps;
  /* a piece of other bytes may stand anywhere */
  set_frozen (table, (gsize)data % sizeof (gint64) == 0 ? g_bytes_ref (bytes)
                                                        : g_bytes_new (data, n_bytes));
  if (!starts_are_sound (table, size) || !jumps_are_sound (table))
    return NULL;
  return g_steal_pointer (&table);
}
