/* hr-text.c: the words of a pipeline text
 *
 * One level of quoting, the same everywhere: '…' is taken as it stands, in "…" a backslash goes
 * before " \ and $, outside quotes it makes the next character ordinary. ${NAME} and
 * ${NAME:-default} are replaced outside quotes and in "…"; what they stand for is never read again.
 */
#include "hr-text.h"
#include "hr-secrets.h"
#include <string.h>

typedef struct {
  HrText *text;
  HrToken *token;
  GString *value;
} Word;

static gboolean
is_blank (char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* bytes of the line end that a backslash at @p hides; 0: none. People paste from shells. */
static gsize
continued_line (const char *p)
{
  if (p[0] == '\\' && p[1] == '\n')
    return 2;
  return p[0] == '\\' && p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

/* A comment begins with a "#" at the start of the text or behind a blank, so that s3://b/#1 has
 * none. */
static void
skip_blanks (HrText *text)
{
  const char *t = text->text;
  gboolean blank = text->at == 0 || is_blank (t[text->at - 1]);

  /* some editors put a byte order mark first */
  if (text->at == 0 && g_str_has_prefix (t, "\xef\xbb\xbf"))
    text->at = 3;
  for (;;) {
    if (is_blank (t[text->at])) {
      text->at++;
      blank = TRUE;
    } else if (continued_line (t + text->at) > 0) {
      text->at += continued_line (t + text->at);
      blank = TRUE;
    } else if (t[text->at] == '#' && blank) {
      text->at += strcspn (t + text->at, "\n");
    } else {
      return;
    }
  }
}

static gboolean
is_variable_char (char c, gboolean first)
{
  return g_ascii_isalpha (c) || c == '_' || (!first && g_ascii_isdigit (c));
}

static char *
variable_advice (const char *name)
{
  return g_strdup_printf (
      "give it one: -D %s=value on the command line, a variable of the environment, or "
      "${%s:-default} here",
      name, name);
}

/* at "${" */
static gboolean
read_variable (Word *word, GError **error)
{
  HrText *text = word->text;
  gsize start = text->at;
  const char *p = text->text + start + 2;
  const char *name_start = p;
  g_autofree char *name = NULL;
  g_autoptr (GString) initial = NULL;
  const char *value = NULL;

  while (is_variable_char (*p, p == name_start))
    p++;
  name = g_strndup (name_start, (gsize)(p - name_start));
  if (*p == ':' && p[1] == '-' && *name != '\0') {
    initial = g_string_new (NULL);
    for (p += 2; *p != '\0' && *p != '}'; p++) {
      if (p[0] == '$' && p[1] == '{')
        return hr_text_fail (
            text, HR_PARSE_ERROR_SYNTAX, (gsize)(p - text->text), 2,
            g_strdup ("a default is plain text; write \\${ for the two characters"), error,
            "a variable inside the default of ${%s}", name);
      if (*p == '\\' && (p[1] == '}' || p[1] == '\\' || p[1] == '$'))
        p++;
      g_string_append_c (initial, *p);
    }
  }
  if (*p == '\0' && *name != '\0')
    return hr_text_fail (text, HR_PARSE_ERROR_SYNTAX, start, (gsize)(p - text->text) - start,
                         g_strdup ("write ${NAME} or ${NAME:-default}"), error,
                         "no \"}\" ends \"${%s\"", name);
  if (*p != '}' || *name == '\0') {
    gsize length = (gsize)(p - text->text) - start;

    /* the character that is wrong belongs to what is shown */
    if (*p != '\0' && !is_blank (*p))
      length += (gsize)(g_utf8_next_char (p) - p);
    return hr_text_fail (
        text, HR_PARSE_ERROR_SYNTAX, start, length,
        g_strdup ("write ${NAME} or ${NAME:-default}; \\${ stands for the two characters"), error,
        "this is no name of a variable");
  }
  if (text->variables != NULL)
    value = g_hash_table_lookup (text->variables, name);
  if (value == NULL)
    value = g_getenv (name);
  /* an empty value counts as none where there is a default, as in a shell */
  if (initial != NULL && (value == NULL || *value == '\0'))
    value = initial->str;
  text->at = (gsize)(p + 1 - text->text);
  if (value == NULL)
    return hr_text_fail (text, HR_PARSE_ERROR_VARIABLE, start, text->at - start,
                         variable_advice (name), error, "variable \"%s\" has no value", name);
  if (!g_utf8_validate (value, -1, NULL))
    return hr_text_fail (text, HR_PARSE_ERROR_VARIABLE, start, text->at - start, NULL, error,
                         "the value of variable \"%s\" is not UTF-8", name);
  g_string_append (word->value, value);
  word->token->variable = TRUE;
  return TRUE;
}

static gboolean
read_quotes (Word *word, GError **error)
{
  HrText *text = word->text;
  const char *t = text->text;
  gsize start = text->at;
  char quote = t[start];

  word->token->quoted = TRUE;
  for (text->at++; t[text->at] != quote;) {
    const char *p = t + text->at;

    if (*p == '\0')
      return hr_text_fail (text, HR_PARSE_ERROR_SYNTAX, start, 1,
                           g_strdup_printf ("put %c where the value ends", quote), error,
                           "a quote is opened and not closed");
    if (quote == '"' && p[0] == '$' && p[1] == '{') {
      if (!read_variable (word, error))
        return FALSE;
      continue;
    }
    if (quote == '"' && p[0] == '\\' && (p[1] == '"' || p[1] == '\\' || p[1] == '$'))
      text->at++;
    g_string_append_c (word->value, t[text->at++]);
  }
  text->at++;
  return TRUE;
}

static gboolean
read_word (HrText *text, HrTextMode mode, HrToken *token, GError **error)
{
  g_autoptr (GString) value = g_string_new (NULL);
  Word word = { text, token, value };
  const char *t = text->text;

  while (t[text->at] != '\0') {
    const char *p = t + text->at;

    if (is_blank (*p) || *p == '!' || continued_line (p) > 0 || (*p == '=' && mode == HR_TEXT_NAME))
      break;
    if (*p == '"' || *p == '\'') {
      if (!read_quotes (&word, error))
        return FALSE;
    } else if (p[0] == '$' && p[1] == '{') {
      if (!read_variable (&word, error))
        return FALSE;
    } else if (*p == '\\') {
      if (p[1] == '\0')
        return hr_text_fail (text, HR_PARSE_ERROR_SYNTAX, text->at, 1,
                             g_strdup ("\\\\ stands for one backslash"), error,
                             "the text ends with a backslash");
      token->quoted = TRUE;
      g_string_append_c (value, p[1]);
      text->at += 2;
    } else if ((guchar)*p < 0x20 || *p == 0x7f) {
      return hr_text_fail (text, HR_PARSE_ERROR_SYNTAX, text->at, 1,
                           g_strdup ("such a character can only stand in quotes"), error,
                           "control character 0x%02x", (guint)(guchar)*p);
    } else {
      g_string_append_c (value, *p);
      text->at++;
    }
  }
  token->value = g_string_free (g_steal_pointer (&value), FALSE);
  return TRUE;
}

gboolean
hr_text_next (HrText *text, HrTextMode mode, HrToken *token, GError **error)
{
  hr_token_clear (token);
  skip_blanks (text);
  token->offset = text->at;
  switch (text->text[text->at]) {
  case '\0':
    token->type = HR_TOKEN_END;
    break;
  case '!':
    token->type = HR_TOKEN_LINK;
    text->at++;
    break;
  case '=':
    if (mode == HR_TEXT_NAME) {
      token->type = HR_TOKEN_EQUALS;
      text->at++;
      break;
    }
    /* a value may begin with it */
    G_GNUC_FALLTHROUGH;
  default:
    token->type = HR_TOKEN_WORD;
    if (!read_word (text, mode, token, error))
      return FALSE;
    break;
  }
  token->length = text->at - token->offset;
  return TRUE;
}

void
hr_token_clear (HrToken *token)
{
  g_free (token->value);
  *token = (HrToken){ HR_TOKEN_END, 0, 0, NULL, FALSE, FALSE };
}

/* Words of the text that are told in a headline may hold anything, and be of any length. */
static void
make_one_line (char *text)
{
  const glong most = 240;

  for (char *c = text; *c != '\0'; c++)
    if ((guchar)*c < 0x20 || *c == 0x7f)
      *c = ' ';
  if (g_utf8_strlen (text, -1) > most) {
    char *end = g_utf8_offset_to_pointer (text, most - 1);

    /* what follows is longer than the three bytes of "…" or just as long */
    if (strlen (end) >= 3)
      strcpy (end, "…");
  }
}

gboolean
hr_text_fail (HrText *text, HrParseError code, gsize offset, gsize length, char *advice,
              GError **error, const char *format, ...)
{
  g_autofree char *lines = hr_text_show (text->text, offset, length);
  g_autofree char *headline = NULL;
  g_autofree char *shown = NULL;
  g_autoptr (GString) message = NULL;
  va_list args;

  va_start (args, format);
  headline = g_strdup_vprintf (format, args);
  va_end (args);
  make_one_line (headline);
  text->wrong_offset = offset;
  text->wrong_length = length;
  shown = hr_secrets_hide (headline, HR_SECRETS_IN_TEXT);
  message = g_string_new (shown);
  g_string_append_printf (message, "\n%s", lines);
  for (char *line = advice; line != NULL;) {
    char *end = strchr (line, '\n');

    if (end != NULL)
      *end++ = '\0';
    g_string_append_printf (message, "\n  %s", line);
    line = end;
  }
  g_set_error_literal (error, HR_PARSE_ERROR, (gint)code, message->str);
  g_free (advice);
  return FALSE;
}

/* ---- the way back ---- */

/* what needs no quotes: letters of all scripts, digits and what paths and numbers are made of */
static gboolean
is_ordinary (char c)
{
  return g_ascii_isalnum (c) || (guchar)c >= 0x80
         || strchr ("_-./:,+%@*?=~[]{}^;<>|&()", c) != NULL;
}

char *
hr_text_quote (const char *value)
{
  gboolean ordinary = *value != '\0';
  GString *quoted;

  for (const char *c = value; *c != '\0'; c++)
    ordinary = ordinary && is_ordinary (*c);
  if (ordinary)
    return g_strdup (value);
  if (strchr (value, '\'') == NULL)
    return g_strdup_printf ("'%s'", value);
  quoted = g_string_new ("\"");
  for (const char *c = value; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\' || *c == '$')
      g_string_append_c (quoted, '\\');
    g_string_append_c (quoted, *c);
  }
  g_string_append_c (quoted, '"');
  return g_string_free (quoted, FALSE);
}
