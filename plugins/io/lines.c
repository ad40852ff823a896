/* lines.c: cuts a stream of bytes into buffers of whole lines */
#include "lines.h"
#include "hr-line-table.h"
#include <string.h>

#define SCRATCH_BYTES (64 * 1024)
#define TAIL_BYTES 4096

struct _HrLines {
  const HrLinesFuncs *funcs;
  gpointer data;
  gsize block_bytes;
  gsize max_line_bytes;

  GRefString *uri;
  GRefString *root;
  gint64 byte;    /* of the next block */
  gint64 line;    /* -1 unknown */
  gint64 end;     /* lines that begin there or later are not wanted; -1: none */
  gboolean seek;  /* the first line began before the start: to be dropped */
  gboolean ended; /* read() has said so */
  gboolean done;
  GByteArray *carry; /* read, and not yet in a block: the beginning of a line */
  gsize copied;
};

HrLines *
hr_lines_new (const HrLinesFuncs *funcs, gpointer data, gsize block_bytes, gsize max_line_bytes)
{
  HrLines *lines = g_new0 (HrLines, 1);

  lines->funcs = funcs;
  lines->data = data;
  lines->block_bytes = MAX (block_bytes, 1);
  lines->max_line_bytes = max_line_bytes;
  lines->carry = g_byte_array_new ();
  lines->done = TRUE;
  return lines;
}

void
hr_lines_free (HrLines *lines)
{
  g_clear_pointer (&lines->uri, g_ref_string_release);
  g_clear_pointer (&lines->root, g_ref_string_release);
  g_byte_array_unref (lines->carry);
  g_free (lines);
}

void
hr_lines_begin (HrLines *lines, GRefString *uri, GRefString *root, gint64 start, gint64 end)
{
  g_ref_string_acquire (uri);
  g_ref_string_acquire (root);
  g_clear_pointer (&lines->uri, g_ref_string_release);
  g_clear_pointer (&lines->root, g_ref_string_release);
  lines->uri = uri;
  lines->root = root;
  lines->seek = start > 0;
  lines->byte = start - lines->seek;
  lines->line = start > 0 ? -1 : 1;
  lines->end = end;
  lines->ended = FALSE;
  lines->done = end >= 0 && start >= end; /* an empty object */
  g_byte_array_set_size (lines->carry, 0);
}

void
hr_lines_extend (HrLines *lines, gint64 end)
{
  lines->end = end;
  lines->done = end >= 0 && lines->byte >= end;
}

gsize
hr_lines_take_copied (HrLines *lines)
{
  gsize copied = lines->copied;

  lines->copied = 0;
  return copied;
}

static gssize
read_some (HrLines *lines, guint8 *into, gsize size, GError **error)
{
  gssize n = lines->funcs->read (lines->data, into, size, error);

  lines->ended |= n == 0;
  return n;
}

/* reads until @memory is full or the object ends; @used: bytes in it, before and after */
static gboolean
fill (HrLines *lines, HrMemory *memory, gsize *used, GError **error)
{
  while (*used < memory->size && !lines->ended) {
    gssize n = read_some (lines, memory->data + *used, memory->size - *used, error);

    if (n < 0)
      return FALSE;
    *used += n;
  }
  return TRUE;
}

static gint64
count_ends (const guint8 *bytes, gsize size)
{
  gint64 n = 0;

  for (gsize i = 0; i < size; i++)
    n += bytes[i] == '\n';
  return n;
}

static void
step_over (HrLines *lines, gint64 bytes)
{
  lines->byte += bytes;
  lines->done = lines->end >= 0 && lines->byte >= lines->end;
}

/* takes @memory; the block is its first @size bytes, which stand for @consumed bytes of the object
 */
static HrBuffer *
make_block (HrLines *lines, HrMemory *memory, gsize size, gint64 length, gint64 consumed)
{
  HrBuffer *block = hr_buffer_new ();
  gint64 shape = size;

  hr_buffer_set_origin (block,
                        hr_origin_new (lines->uri, lines->root, lines->byte, length, lines->line));
  if (lines->line >= 0)
    lines->line += consumed > (gint64)size ? 1 : count_ends (memory->data, size);
  step_over (lines, consumed);
  hr_buffer_set_tensor (block, "lines", hr_tensor_new (memory, 0, HR_UINT8, 1, &shape));
  return block;
}

static void
keep (HrLines *lines, const guint8 *bytes, gsize size)
{
  g_byte_array_set_size (lines->carry, 0);
  g_byte_array_append (lines->carry, bytes, size);
  lines->copied += size;
}

/* of a line */
typedef struct {
  guint8 last; /* its last byte before the line end */
  gboolean ended;
  HrLineHead head;
} Seen;

static void
see (Seen *seen, const guint8 *bytes, gsize size)
{
  if (size > 0)
    seen->last = bytes[size - 1];
  for (gsize i = 0; i < size && seen->head != HR_LINE_TEXT; i++)
    seen->head = hr_line_head_step (seen->head, bytes[i]);
}

/* drops bytes up to and with the next line end, keeps what was read behind it.
 * Returns: the number of bytes dropped, -1 with an error */
static gint64
skip_line (HrLines *lines, Seen *seen, GError **error)
{
  g_autofree guint8 *scratch = g_malloc (SCRATCH_BYTES);
  gint64 dropped = 0;

  g_byte_array_set_size (lines->carry, 0);
  while (!seen->ended && !lines->ended) {
    gssize n = read_some (lines, scratch, MIN (SCRATCH_BYTES, lines->block_bytes), error);
    const guint8 *end;

    if (n < 0)
      return -1;
    end = n > 0 ? memchr (scratch, '\n', n) : NULL;
    if (end) {
      keep (lines, end + 1, n - (end + 1 - scratch));
      n = end - scratch;
      seen->ended = TRUE;
    }
    see (seen, scratch, n);
    dropped += n + seen->ended;
  }
  return dropped;
}

/* the start lies inside a line, or right behind one */
static gboolean
seek_line (HrLines *lines, GError **error)
{
  Seen seen = { 0, FALSE, HR_LINE_START };
  gint64 dropped = skip_line (lines, &seen, error);

  if (dropped < 0)
    return FALSE;
  lines->seek = FALSE;
  step_over (lines, dropped);
  return TRUE;
}

/* a line over the limit: its beginning is in @memory, the rest is read and dropped. Takes @memory.
 * @block: (out) (nullable): NULL if it is blank, however long */
static gboolean
cut_overlong (HrLines *lines, HrMemory *memory, HrBuffer **block, GError **error)
{
  g_autoptr (HrMemory) start = memory;
  g_autofree char *limit = NULL;
  Seen seen = { 0, FALSE, HR_LINE_START };
  gint64 dropped, length;

  see (&seen, start->data, start->size);
  dropped = skip_line (lines, &seen, error);
  if (dropped < 0)
    return FALSE;
  length = start->size + dropped;
  if (hr_line_head_is_blank (seen.head)) {
    lines->line += lines->line >= 0;
    step_over (lines, length);
    return TRUE;
  }
  *block = make_block (lines, g_steal_pointer (&start), lines->max_line_bytes + 1,
                       length - seen.ended - (seen.ended && seen.last == '\r'), length);
  limit = g_strdup_printf ("%" G_GSIZE_FORMAT, lines->max_line_bytes);
  hr_buffer_set_string (*block, "line-limit", limit);
  return TRUE;
}

/* how large the next block's memory has to be when @carried bytes are there already */
static gsize
choose_size (HrLines *lines, gsize carried)
{
  gsize size = lines->block_bytes;
  gint64 wanted = lines->end - lines->byte;

  if (lines->ended)
    return carried;
  if (carried >= size) /* a line longer than a block: grow, and stop just over the limit */
    size = MIN (carried * 2, MAX (lines->max_line_bytes, carried) + 1);
  if (lines->end < 0)
    return size;
  /* a small object makes a small block; behind the end only the last line's own is wanted */
  if (wanted <= (gint64)carried)
    wanted = carried + MAX (carried, TAIL_BYTES);
  return MIN ((gint64)size, wanted);
}

/* how many of the @used bytes are the next block: whole, wanted lines; 0: none yet */
static gsize
find_cut (HrLines *lines, const guint8 *bytes, gsize used)
{
  gsize room = MIN (used, lines->block_bytes);
  gint64 to_end = lines->end - lines->byte; /* > 0 if there is an end */
  const guint8 *cut;

  if (lines->end >= 0 && (gint64)room >= to_end) {
    cut = memchr (bytes + to_end - 1, '\n', used - to_end + 1);
    if (cut && (gsize)(cut - bytes) < room)
      return cut + 1 - bytes;
  }
  if (lines->ended && used == room)
    return used;
  cut = memrchr (bytes, '\n', room);
  if (!cut && used > room)
    cut = memchr (bytes + room, '\n', used - room);
  if (cut)
    return cut + 1 - bytes;
  return lines->ended ? used : 0;
}

gboolean
hr_lines_next (HrLines *lines, HrBuffer **block, GError **error)
{
  *block = NULL;
  if (lines->seek && !lines->done && !seek_line (lines, error))
    return FALSE;
  while (!lines->done && (!lines->ended || lines->carry->len > 0)) {
    gsize used = lines->carry->len, cut;
    g_autoptr (HrMemory) memory =
        lines->funcs->alloc (lines->data, choose_size (lines, used), error);

    if (!memory)
      return FALSE;
    if (used > 0)
      memcpy (memory->data, lines->carry->data, used);
    lines->copied += used;
    if (!fill (lines, memory, &used, error))
      return FALSE;
    cut = find_cut (lines, memory->data, used);
    if (cut > 0) {
      keep (lines, memory->data + cut, used - cut);
      *block = make_block (lines, g_steal_pointer (&memory), cut, cut, cut);
      return TRUE;
    }
    if (used <= lines->max_line_bytes)
      keep (lines, memory->data, used);
    else if (!cut_overlong (lines, g_steal_pointer (&memory), block, error))
      return FALSE;
    else if (*block != NULL)
      return TRUE;
  }
  lines->done = TRUE;
  return TRUE;
}
