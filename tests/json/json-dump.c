/* json-dump: reads lines from stdin and writes what each of them is, for check-json.py: the kind of
 * the error, or the value in JSON, twice: our tree of it, and json-glib's of the checked line ("-"
 * where the two cannot agree) */
#include <stdio.h>
#include <string.h>
#include "hr-error.h"
#include "hr-json.h"
#include "json-value.h"

/* json-glib cuts texts at \u0000 and bends numbers that it cannot hold */
static gboolean
json_glib_can (const HrJson *json)
{
  for (guint i = 0; i < json->n_values; i++) {
    const HrJsonValue *value = &json->values[i];

    if ((value->flags & HR_JSON_NUL) != 0)
      return FALSE;
    if (value->type == HR_JSON_NUMBER) {
      g_autofree char *text = hr_json_dup_text (json, i);

      if (strpbrk (text, ".eE") != NULL || strlen (text) > 17)
        return FALSE;
    }
  }
  return TRUE;
}

static void
print_node (JsonNode *node)
{
  g_autofree char *text = hr_json_write (node, FALSE);

  puts (text);
}

static void
print_line (HrJson *json, const char *line, gsize length)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = NULL;

  if (!hr_json_scan (json, line, length, 64, NULL, &error)) {
    printf ("%s\n-\n", hr_data_error_kind (error->code));
    return;
  }
  node = hr_json_to_node (json, 0);
  if (node == NULL)
    puts ("nul");
  else
    print_node (node);
  if (json_glib_can (json)) {
    g_autoptr (JsonParser) parser = json_parser_new_immutable ();

    if (length >= 3 && memcmp (line, "\xef\xbb\xbf", 3) == 0) { /* which json-glib does not know */
      line += 3;
      length -= 3;
    }
    if (json_parser_load_from_data (parser, line, length, &error))
      print_node (json_parser_get_root (parser));
    else
      printf ("json-glib: %s\n", error->message);
  } else {
    puts ("-");
  }
}

int
main (void)
{
  HrJson json = { 0 };
  char *line = NULL;
  size_t room = 0;
  ssize_t length;

  while ((length = getline (&line, &room, stdin)) > 0) {
    /* a copy of just its length, so that sanitizers see a look behind its end */
    g_autofree char *copy = NULL;

    if (line[length - 1] == '\n')
      length--;
    copy = g_memdup2 (line, length);
    print_line (&json, copy, length);
  }
  hr_json_clear (&json);
  free (line);
  return 0;
}
