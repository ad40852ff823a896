/* test-wrong.c: the corpus of wrong pipelines: kind, place, headline and advice of each */
#include "cast.h"
#include "hr-parse.h"
#include <string.h>

static const char *const kinds[] = {
  "syntax",       "unknown-element", "unknown-property", "bad-value",
  "out-of-range", "duplicate",       "unknown-name",     "link",
  "type",         "variable",        "conflict",         "required"
};

typedef struct {
  guint line; /* in the file */
  char *text;
  char *mark; /* NULL: offset and word */
  gsize offset;
  char *word;
  char *kind;
  char *says;
  GPtrArray *advice;
  GHashTable *variables;
} Case;

static void
case_free (gpointer data)
{
  Case *c = data;

  g_free (c->text);
  g_free (c->mark);
  g_free (c->word);
  g_free (c->kind);
  g_free (c->says);
  g_ptr_array_unref (c->advice);
  g_hash_table_unref (c->variables);
  g_free (c);
}

static Case *
case_new (guint line)
{
  Case *c = g_new0 (Case, 1);

  c->line = line;
  c->advice = g_ptr_array_new_with_free_func (g_free);
  c->variables = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return c;
}

static void
read_line (Case *c, const char *line)
{
  g_autofree char *key = g_strndup (line, strcspn (line, ":"));
  const char *raw =
      line + strlen (key) + 1; /* all values begin in column 9 of "text:" and "mark:" */
  const char *value = raw + strspn (raw, " ");

  if (g_str_equal (key, "text"))
    c->text = g_strdup (line + 8);
  else if (g_str_equal (key, "mark"))
    c->mark = g_strdup (line + 8);
  else if (g_str_equal (key, "escaped"))
    c->text = g_strcompress (value);
  else if (g_str_equal (key, "at"))
    c->offset = g_ascii_strtoull (value, NULL, 10);
  else if (g_str_equal (key, "word"))
    c->word = g_strcompress (value);
  else if (g_str_equal (key, "kind"))
    c->kind = g_strdup (value);
  else if (g_str_equal (key, "says"))
    c->says = g_strdup (value);
  else if (g_str_equal (key, "advice")) {
    if (*value != '\0')
      g_ptr_array_add (c->advice, g_strdup (value));
  } else if (g_str_equal (key, "define")) {
    const char *equals = strchr (value, '=');

    g_hash_table_insert (c->variables, g_strndup (value, (gsize)(equals - value)),
                         g_strdup (equals + 1));
  } else
    g_error ("wrong.txt:%u: what is \"%s\"?", c->line, key);
}

static GPtrArray *
read_cases (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "parser", "wrong.txt", NULL);
  g_autofree char *content = NULL;
  g_auto (GStrv) lines = NULL;
  GPtrArray *cases = g_ptr_array_new_with_free_func (case_free);
  Case *c = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  lines = g_strsplit (content, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    if (lines[i][0] == '#')
      continue;
    if (lines[i][0] == '\0') {
      c = NULL;
      continue;
    }
    if (c == NULL) {
      c = case_new (i + 1);
      g_ptr_array_add (cases, c);
    }
    read_line (c, lines[i]);
  }
  for (guint i = 0; i < cases->len; i++) {
    c = g_ptr_array_index (cases, i);
    if (c->mark != NULL) {
      c->offset = strspn (c->mark, " ");
      /* behind the end of the text the caret stands under nothing */
      c->word = c->offset < strlen (c->text)
                    ? g_strndup (c->text + c->offset, strlen (c->mark + c->offset))
                    : g_strdup ("");
    }
    g_assert_true (c->text != NULL && c->word != NULL && c->kind != NULL && c->says != NULL);
  }
  return cases;
}

/* the word above the caret in the message's own lines */
static void
check_shape (const Case *c, char **lines)
{
  glong column = (glong)strspn (lines[2], " ");
  glong length = g_utf8_strlen (lines[2], -1) - column;
  const char *above;

  g_assert_true (g_str_has_prefix (lines[1], "  "));
  g_assert_cmpint (lines[2][column], ==, '^');
  g_assert_cmpuint (strspn (lines[2] + column + 1, "~"), ==, strlen (lines[2]) - (gsize)column - 1);
  g_assert_cmpint (g_utf8_strlen (lines[1], -1), <=, 100);
  g_assert_true (g_utf8_validate (lines[1], -1, NULL));
  if (*c->word == '\0' || !g_ascii_isprint (*c->word))
    return;
  above = g_utf8_offset_to_pointer (lines[1], column);
  g_assert_cmpint (
      strncmp (above, c->word, (gsize)(g_utf8_offset_to_pointer (above, length) - above)), ==, 0);
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) again = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  g_auto (GStrv) lines = NULL;
  g_autofree char *advice = NULL;
  g_autofree char *word = NULL;
  gsize offset = 12345, length = 12345;

  pipeline = hr_parse_text (c->text, c->variables, &offset, &length, &error);
  g_assert_null (pipeline);
  g_test_message ("%s", error->message);
  g_assert_true (error->domain == HR_PARSE_ERROR);
  g_assert_cmpstr (kinds[error->code], ==, c->kind);
  g_assert_cmpuint (offset, ==, c->offset);
  g_assert_cmpuint (offset + length, <=, strlen (c->text));
  word = g_strndup (c->text + offset, length);
  g_assert_cmpstr (word, ==, c->word);
  lines = g_strsplit (error->message, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), >=, 3);
  g_assert_nonnull (strstr (lines[0], c->says));
  check_shape (c, lines);
  advice = g_strjoinv ("\n", lines + 3);
  for (guint i = 0; i < c->advice->len; i++) {
    const char *part = g_ptr_array_index (c->advice, i);

    if (strstr (advice, part) == NULL)
      g_error ("wrong.txt:%u: no \"%s\" in the advice:\n%s", c->line, part, advice);
  }
  /* the text that ends an error about fields is a pipeline */
  if (strstr (advice, "this fits:") != NULL) {
    g_autoptr (GError) none = NULL;
    g_autoptr (HrPipeline) corrected = hr_parse_launch (lines[g_strv_length (lines) - 1], &none);

    g_assert_no_error (none);
    g_assert_nonnull (corrected);
  }
  g_assert_null (hr_parse_launch_full (c->text, c->variables, &again));
  g_assert_cmpstr (again->message, ==, error->message);
  /* nobody has to ask why */
  g_assert_null (hr_parse_launch_full (c->text, c->variables, NULL));
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) cases = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  g_unsetenv ("DATA");
  cast_register ();
  cases = read_cases ();
  g_assert_cmpuint (cases->len, >=, 120);
  for (guint i = 0; i < cases->len; i++) {
    const Case *c = g_ptr_array_index (cases, i);
    g_autofree char *path = g_strdup_printf ("/wrong/%03u", c->line);

    g_test_add_data_func (path, c, test_case);
  }
  status = g_test_run ();
  return status;
}
