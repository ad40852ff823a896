/* letters.h: the lines of a file of dead letters, docs/errors.md */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * Letter:
 * @file_line: where it stands in the file of letters
 * @byte: of the line's first byte in its object
 * @length: of the line, without its end; -1: unknown
 * @line: its number there, -1: unknown
 * @place: in the order of the run that skipped it; -1: it had none
 * @size: of the object; -1: unknown
 * @identity: (nullable): of the object
 */
typedef struct {
  guint file_line;
  GRefString *uri;
  GRefString *root;
  gint64 byte;
  gint64 length;
  gint64 line;
  guint epoch;
  gint64 place;
  gint64 size;
  char *identity;
} Letter;

void letter_free (gpointer letter);

/**
 * letters_read:
 * @path: the file
 * @kinds: (nullable): those that are wanted; NULL: all
 *
 * Of letters about the same sample only the first counts. A last line that a crash has cut is
 * refused like any other that is no letter.
 *
 * Returns: (transfer full) (element-type Letter): in the order of the file; #HR_RESOURCE_ERROR that
 *   names file and line
 */
GPtrArray *letters_read (const char *path, const char *const *kinds, GError **error);

G_END_DECLS
