/* text.c: the pipeline's text, from words or a file, and the values for its variables */
#include "text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "headrace.h"

#define MAX_TEXT (16 << 20) /* of a file */

/* "name=" at the start of a word: the length of what stands before the value, or 0 */
static gsize
property_length (const char *word)
{
  gsize n = 0;

  if (!g_ascii_isalpha (word[0]))
    return 0;
  while (g_ascii_isalnum (word[n]) || word[n] == '-' || word[n] == '_')
    n++;
  return word[n] == '=' ? n + 1 : 0;
}

static gboolean
is_quoted (const char *value)
{
  gsize length = strlen (value);

  return length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0];
}

/* The shell has taken the quotes of location="my data": what it left is one value. */
static void
append_word (GString *text, const char *word)
{
  gsize before = property_length (word);
  const char *value = word + before;

  if (before == 0 || strpbrk (value, " \t\n") == NULL || is_quoted (value)) {
    g_string_append (text, word);
    return;
  }
  g_string_append_len (text, word, (gssize)before);
  g_string_append_c (text, '"');
  for (const char *c = value; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_c (text, '\\');
    g_string_append_c (text, *c);
  }
  g_string_append_c (text, '"');
}

char *
launch_join_words (char **words)
{
  GString *text;

  /* one word is a whole pipeline, as it would stand in a file */
  if (words[1] == NULL)
    return g_strdup (words[0]);
  text = g_string_new (NULL);
  for (char **word = words; *word != NULL; word++) {
    if (text->len > 0)
      g_string_append_c (text, ' ');
    append_word (text, *word);
  }
  return g_string_free (text, FALSE);
}

char *
launch_read_file (const char *path, GError **error)
{
  FILE *file = strcmp (path, "-") != 0 ? fopen (path, "re") : stdin;
  const char *name = file == stdin ? "stdin" : path;
  GString *text = g_string_new (NULL);
  char block[4096];
  gsize n;

  /* a wrong name, such as that of a device or of a data set, must not fill the memory */
  while (file != NULL && text->len <= MAX_TEXT && (n = fread (block, 1, sizeof block, file)) > 0)
    g_string_append_len (text, block, (gssize)n);
  if (file == NULL || ferror (file)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "%s: %s", name,
                 g_strerror (errno));
  } else if (text->len > MAX_TEXT) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "%s: more than %d bytes: that is no pipeline", name, MAX_TEXT);
  } else if (strlen (text->str) < text->len) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "%s: byte %" G_GSIZE_FORMAT " is zero: that is no pipeline", name,
                 strlen (text->str));
  } else {
    if (file != stdin)
      fclose (file);
    return g_string_free (text, FALSE);
  }
  if (file != NULL && file != stdin)
    fclose (file);
  g_string_free (text, TRUE);
  return NULL;
}

GHashTable *
launch_read_variables (char **definitions, GError **error)
{
  g_autoptr (GHashTable) variables =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (char **v = definitions; v != NULL && *v != NULL; v++) {
    char *equals = strchr (*v, '=');

    if (equals == NULL || equals == *v) {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "-D %s: not NAME=VALUE", *v);
      return NULL;
    }
    g_hash_table_insert (variables, g_strndup (*v, (gsize)(equals - *v)), g_strdup (equals + 1));
  }
  return g_steal_pointer (&variables);
}

HrPipeline *
launch_read_pipeline (const char *file, char **words, char **definitions, GError **error)
{
  g_autoptr (GHashTable) variables = launch_read_variables (definitions, error);
  g_autofree char *text = NULL;

  if (variables == NULL)
    return NULL;
  text = file != NULL ? launch_read_file (file, error) : launch_join_words (words);
  return text != NULL ? hr_parse_launch_full (text, variables, error) : NULL;
}
