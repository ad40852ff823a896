/* found-lines.c */
#include "found-lines.h"
#include "hr-line-table.h"
#include <string.h>

struct _FoundLines {
  GPtrArray *blocks; /* HrBuffer */
  GArray *lines;     /* FoundLine */
};

FoundLines *
found_lines_new (void)
{
  FoundLines *found = g_new (FoundLines, 1);

  found->blocks = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  found->lines = g_array_new (FALSE, FALSE, sizeof (FoundLine));
  return found;
}

void
found_lines_free (FoundLines *found)
{
  g_ptr_array_unref (found->blocks);
  g_array_unref (found->lines);
  g_free (found);
}

void
found_lines_clear (FoundLines *found)
{
  g_ptr_array_set_size (found->blocks, 0);
  g_array_set_size (found->lines, 0);
}

/* of a line over the limit only the beginning is there */
static void
add_cut_line (FoundLines *found, HrBuffer *block, guint extent)
{
  const HrOrigin *origin = hr_buffer_get_origin (block);
  FoundLine line = { .block = block,
                     .uri = origin->uri,
                     .root = origin->root,
                     .extent = extent,
                     .length = hr_tensor_get_n_bytes (hr_buffer_get_tensor (block, "lines")),
                     .bytes = origin->length,
                     .byte = origin->byte,
                     .line = origin->line };

  g_array_append_val (found->lines, line);
}

void
found_lines_add_block (FoundLines *found, HrBuffer *block, guint extent)
{
  const HrOrigin *origin = hr_buffer_get_origin (block);
  HrTensor *tensor = hr_buffer_get_tensor (block, "lines");
  const char *text = hr_tensor_get_data (tensor), *end = text + hr_tensor_get_n_bytes (tensor);
  gint64 number = origin->line;

  g_ptr_array_add (found->blocks, block);
  if (hr_buffer_get_string (block, "line-limit") != NULL) {
    add_cut_line (found, block, extent);
    return;
  }
  for (const char *p = text, *next; p < end; p = next, number += number >= 0) {
    const char *stop = memchr (p, '\n', end - p);
    FoundLine line = { .block = block,
                       .uri = origin->uri,
                       .root = origin->root,
                       .extent = extent,
                       .offset = p - text,
                       .line = number };

    next = stop != NULL ? stop + 1 : end;
    line.length = (stop != NULL ? stop : end) - p;
    if (line.length > 0 && p[line.length - 1] == '\r')
      line.length--;
    if (hr_line_is_blank (p, line.length))
      continue;
    line.bytes = (gint64)line.length;
    line.byte = origin->byte + (p - text);
    g_array_append_val (found->lines, line);
  }
}

guint
found_lines_get_length (const FoundLines *found)
{
  return found->lines->len;
}

const FoundLine *
found_lines_get (const FoundLines *found, guint index)
{
  return &g_array_index (found->lines, FoundLine, index);
}

const FoundLine *
found_lines_find (const FoundLines *found, guint extent, gint64 byte)
{
  guint low = 0, high = found->lines->len;

  while (low < high) {
    guint middle = low + (high - low) / 2;
    const FoundLine *line = found_lines_get (found, middle);

    if (line->extent == extent && line->byte == byte)
      return line;
    if (line->extent < extent || (line->extent == extent && line->byte < byte))
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}
