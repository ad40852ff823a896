/* letters.c */
#include "letters.h"
#include <errno.h>
#include <string.h>
#include "headrace.h"

typedef struct {
  const char *path;
  const char *const *kinds;
  GPtrArray *letters;
  GHashTable *seen; /* what samples they are of: the set */
} Reader;

void
letter_free (gpointer data)
{
  Letter *letter = data;

  g_clear_pointer (&letter->uri, g_ref_string_release);
  g_clear_pointer (&letter->root, g_ref_string_release);
  g_free (letter->identity);
  g_free (letter);
}

static gboolean
refuse (const Reader *reader, guint line, const char *why, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "%s:%u: %s", reader->path, line,
               why);
  return FALSE;
}

/* A letter is one flat object. A deep one is none, and the parser would not survive the deepest. */
static gboolean
is_flat (const char *text, gsize length)
{
  gboolean quoted = FALSE;

  for (gsize i = 0; i < length; i++) {
    if (quoted && text[i] == '\\')
      i++;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text[i] == '[' || (text[i] == '{' && i > 0)))
      return FALSE;
  }
  return length > 0 && text[0] == '{';
}

static const char *
get_string (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node)
                 && json_node_get_value_type (node) == G_TYPE_STRING
             ? json_node_get_string (node)
             : NULL;
}

/* -1: there is none; numbers that 63 bits do not hold come out of json-glib as negative ones */
static gint64
get_number (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node)
                 && json_node_get_value_type (node) == G_TYPE_INT64
             ? MAX (json_node_get_int (node), -1)
             : -1;
}

static gboolean
is_wanted (const Reader *reader, const char *kind)
{
  return reader->kinds == NULL || *reader->kinds == NULL || g_strv_contains (reader->kinds, kind);
}

static gboolean
add_letter (Reader *reader, JsonObject *object, guint line, GError **error)
{
  const char *uri = get_string (object, "uri"), *root = get_string (object, "root");
  gint64 byte = get_number (object, "byte"), epoch = get_number (object, "epoch");
  Letter *letter;
  char *key;

  /* no object is half as large as what 63 bits count, and sums of such numbers do not overflow */
  if (uri == NULL || byte < 0 || byte > G_MAXINT64 / 4
      || get_number (object, "length") > G_MAXINT64 / 4)
    return refuse (reader, line,
                   "tells no object and byte that its sample could be read from again; take the "
                   "line out, or choose others by kind=",
                   error);
  key = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %s", epoch,
                         get_number (object, "place"), byte, uri);
  if (!g_hash_table_add (reader->seen, key))
    return TRUE;
  letter = g_new0 (Letter, 1);
  letter->file_line = line;
  letter->uri = g_ref_string_new_intern (uri);
  letter->root = root != NULL ? g_ref_string_new_intern (root) : NULL;
  letter->byte = byte;
  letter->length = get_number (object, "length");
  letter->line = get_number (object, "line");
  letter->epoch = (guint)CLAMP (epoch, 0, G_MAXINT32);
  letter->place = get_number (object, "place");
  letter->size = get_number (object, "size");
  letter->identity = g_strdup (get_string (object, "identity"));
  g_ptr_array_add (reader->letters, letter);
  return TRUE;
}

static gboolean
read_line (Reader *reader, const char *text, gsize length, guint line, gboolean ended,
           GError **error)
{
  g_autofree char *copy = g_strndup (text, length);
  g_autoptr (JsonNode) node = is_flat (copy, strlen (copy)) && strlen (copy) == length
                                  ? json_from_string (copy, NULL)
                                  : NULL;
  JsonObject *object =
      node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *kind = object != NULL ? get_string (object, "kind") : NULL;

  if (kind == NULL)
    return refuse (reader, line,
                   ended ? "is no dead letter"
                         : "is no whole dead letter: its run was killed while it wrote it; let the "
                           "run go on, or take the line out",
                   error);
  return !is_wanted (reader, kind) || add_letter (reader, object, line, error);
}

GPtrArray *
letters_read (const char *path, const char *const *kinds, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  g_autoptr (GPtrArray) letters = g_ptr_array_new_with_free_func (letter_free);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Reader reader = { path, kinds, letters, seen };
  gsize size;
  guint line = 1;

  if (!g_file_get_contents (path, &text, &size, &failure)) {
    g_set_error_literal (error, HR_RESOURCE_ERROR,
                         g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOENT)
                             ? HR_RESOURCE_ERROR_NOT_FOUND
                             : HR_RESOURCE_ERROR_READ,
                         failure->message);
    return NULL;
  }
  for (const char *p = text, *end = text + size, *stop; p < end; p = stop + 1, line++) {
    gboolean ended = (stop = memchr (p, '\n', (gsize)(end - p))) != NULL;

    if (!ended) /* whole, after an editor, or cut */
      stop = end;
    if (!read_line (&reader, p, (gsize)(stop - p), line, ended, error))
      return NULL;
  }
  return g_steal_pointer (&letters);
}
