/* hr-origin.c: where a sample came from */
#include "hr-buffer.h"
#include "hr-ref.h"

G_DEFINE_BOXED_TYPE (HrOrigin, hr_origin, hr_origin_ref, hr_origin_unref)

static GRefString *
string_ref (GRefString *string)
{
  return string != NULL ? g_ref_string_acquire (string) : NULL;
}

/**
 * hr_origin_new: (skip)
 * @uri: the object
 * @root: the tree that links may not leave
 * @byte: offset of the line's first byte, -1 unknown
 * @length: bytes of the line without its end, -1 unknown
 * @line: physical line, the first is 1; -1 unknown
 *
 * Says where a sample came from.
 *
 * Returns: (transfer full): an origin; set its id before you share it
 */
HrOrigin *
hr_origin_new (GRefString *uri, GRefString *root, gint64 byte, gint64 length, gint64 line)
{
  HrOrigin *origin = g_new (HrOrigin, 1);

  *origin = (HrOrigin){ 1, string_ref (uri), string_ref (root), byte, length, line, NULL };
  return origin;
}

/**
 * hr_origin_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @origin
 */
HrOrigin *
hr_origin_ref (HrOrigin *origin)
{
  hr_ref_inc (&origin->ref_count);
  return origin;
}

/**
 * hr_origin_unref:
 * @origin: (transfer full): an origin
 *
 * Gives a reference back; with the last one it dies.
 */
void
hr_origin_unref (HrOrigin *origin)
{
  if (origin == NULL || !hr_ref_dec (&origin->ref_count))
    return;
  g_clear_pointer (&origin->uri, g_ref_string_release);
  g_clear_pointer (&origin->root, g_ref_string_release);
  g_free (origin->id);
  g_free (origin);
}

/**
 * hr_origin_to_string:
 *
 * Writes it for people.
 *
 * Returns: (transfer full): "s3://c/train/a.jsonl:1234"; "….jsonl byte 5678" where the line is not
 *   known
 */
char *
hr_origin_to_string (const HrOrigin *origin)
{
  const char *uri = origin->uri != NULL ? origin->uri : origin->id != NULL ? origin->id : "?";

  if (origin->line >= 0)
    return g_strdup_printf ("%s:%" G_GINT64_FORMAT, uri, origin->line);
  if (origin->byte >= 0)
    return g_strdup_printf ("%s byte %" G_GINT64_FORMAT, uri, origin->byte);
  return g_strdup (uri);
}
