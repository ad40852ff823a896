/* hr-parse.c: from text to graph
 *
 *   text      = { setting } { chain }
 *   chain     = node { "!" node }
 *   node      = ELEMENT { setting } | NAME "." [ pad ]
 *   setting   = NAME "=" VALUE
 *
 * One pass reads elements and settings and sets properties at once, so errors come in the order of
 * the text; names and links are resolved after it, so references may point forward. */
#include "hr-parse-private.h"
#include "hr-registry.h"
#include "hr-suggest.h"
#include "hr-value.h"
#include <string.h>

static void
node_clear (gpointer data)
{
  Node *node = data;

  g_free (node->name);
  g_free (node->pad);
}

/* people count from 1 */
char *
hr_parse_describe_place (const char *text, gsize offset)
{
  guint line = 1;
  const char *start = text;

  for (const char *c = text; c < text + offset; c++)
    if (*c == '\n') {
      line++;
      start = c + 1;
    }
  if (line == 1 && strchr (text, '\n') == NULL)
    return g_strdup_printf ("column %ld", g_utf8_strlen (text, (gssize)offset) + 1);
  return g_strdup_printf ("line %u, column %ld", line,
                          g_utf8_strlen (start, text + offset - start) + 1);
}

static gboolean
next (Parser *p, HrTextMode mode, GError **error)
{
  return hr_text_next (&p->text, mode, &p->token, error);
}

/* What people bring along from GStreamer and from shells gets an answer of its own. NULL: it is
 * none of these. (transfer full) */
static char *
foreign_advice (const HrToken *word, char **headline)
{
  g_autofree char *value = g_strdelimit (g_strdup (word->value), "\n\r", ' ');

  if (*value == '@') {
    *headline = g_strdup ("presets are not supported: \"@\" is reserved");
    return g_strdup (
        "presets are not supported; write the properties out, or keep the pipeline in a file");
  }
  if (*value == ':') {
    *headline = g_strdup ("\":\" is reserved");
    return g_strdup ("link with \"!\", one link a pad");
  }
  if (strchr (value, ';') != NULL)
    return g_strdup ("chains just follow one another, with nothing between");
  if (g_str_has_prefix (value, "--")) {
    *headline = g_strdup_printf ("\"%s\" stands where an element is expected", value);
    return g_strdup ("options stand before the pipeline; inside it write name=value");
  }
  if (strstr (value, "://") != NULL) {
    *headline = g_strdup ("a URI stands where an element is expected");
    return g_strdup_printf ("name the source: %s location=%s",
                            g_str_has_prefix (value, "s3:") ? "s3src" : "filesrc", value);
  }
  if (strchr (value, '/') != NULL && strchr (value, '.') == NULL) {
    *headline = g_strdup ("filters between elements are not supported");
    return g_strdup ("what flows is checked from the elements' own tables; leave it out");
  }
  if (strchr (value, ',') != NULL && strchr (value, '.') != NULL) {
    *headline = g_strdup ("lists of pads are not supported");
    return g_strdup ("write one reference for each pad, each in its own chain");
  }
  if (strchr (value, '/') != NULL) {
    *headline = g_strdup ("a path stands where an element is expected");
    return g_strdup_printf ("name the source: filesrc location=%s", value);
  }
  if (strchr (value, '#') != NULL)
    return g_strdup ("a comment has a blank before \"#\"");
  if (word->variable && strpbrk (value, " \t\n!") != NULL)
    return g_strdup ("a variable stands for one word, or for a part of one");
  return NULL;
}

/* ---- settings ---- */

/* "name, silent, sync-every … did you mean "silent"?" */
static char *
list_props (const HrProp *first, const HrProp *props, const char *near)
{
  GString *list = g_string_new ("properties:");
  gboolean any = FALSE;

  if (first != NULL) {
    g_string_append_printf (list, " %s", hr_prop_name (first));
    any = TRUE;
  }
  for (; props != NULL && props->field != NULL && list->len < 70; props++) {
    g_string_append_printf (list, "%s %s", any ? "," : "", hr_prop_name (props));
    any = TRUE;
  }
  /* the dots stand for the rest, of which every element has some */
  if (first != NULL || (props != NULL && props->field != NULL))
    g_string_append (list, " …");
  if (near != NULL)
    g_string_append_printf (list, " did you mean \"%s\"?", near);
  return g_string_free (list, FALSE);
}

static char *
value_advice (const HrProp *prop, const char *value)
{
  g_autofree char *takes = hr_prop_describe (prop);
  const char *near = NULL;

  if (prop == &hr_common_props[0])
    return g_strdup ("name takes a word such as t or branch-2");
  if (g_str_equal (prop->field, "max_errors"))
    return g_strdup ("max-errors takes a count such as 10 or a percentage such as 1%");
  if (prop->type == HR_PROP_TYPE_ENUM)
    near = hr_suggest (value, prop->choices, g_strv_length ((char **)prop->choices));
  if (near != NULL)
    return g_strdup_printf ("%s takes %s; did you mean \"%s\"?", hr_prop_name (prop), takes, near);
  return g_strdup_printf ("%s takes %s", hr_prop_name (prop), takes);
}

static const char *
suggest_setting (const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (const HrProp *prop = hr_pipeline_props; prop->field != NULL; prop++)
    g_ptr_array_add (names, (gpointer)hr_prop_name (prop));
  return hr_suggest (name, (const char *const *)names->pdata, names->len);
}

static gboolean
try_setting (Parser *p, const HrProp *prop, const char *value, HrParseError *code, char **why)
{
  guint64 count;
  double rate;

  if (p->current != NULL)
    return hr_element_try_string (p->current, prop, value, code, why);
  if (g_str_equal (prop->field, "max_errors")) {
    HrValueStatus status = hr_value_parse_limit (value, &count, &rate, why);

    if (status != HR_VALUE_OK) {
      *code = status == HR_VALUE_BAD ? HR_PARSE_ERROR_BAD_VALUE : HR_PARSE_ERROR_OUT_OF_RANGE;
      if (*why == NULL)
        *why = g_strdup ("out of range");
      return FALSE;
    }
  }
  return hr_prop_try_string (hr_pipeline_get_settings (p->pipeline), prop, value, code, why);
}

/* @name has been read and "=" is the token */
static gboolean
read_setting (Parser *p, const HrToken *name, GError **error)
{
  const HrProp *prop;
  g_autofree char *why = NULL;
  g_autofree char *owner =
      p->current != NULL ? g_strdup_printf ("element \"%s\"", hr_element_get_factory (p->current))
                         : g_strdup ("the pipeline");
  g_autofree char *key = NULL;
  gpointer before;
  HrParseError code;

  if (name->quoted)
    return FAIL (p, SYNTAX, name->offset, name->length, g_strdup ("only values are quoted"), error,
                 "\"%s\" is no name of a property", name->value);
  if (!hr_element_name_is_valid (name->value)) {
    g_autofree char *headline = NULL;
    char *advice = foreign_advice (name, &headline);

    if (advice == NULL)
      advice = g_strdup ("names of properties have letters, digits and \"-\", and no dots");
    return FAIL (p, SYNTAX, name->offset, name->length, advice, error,
                 "\"%s\" is no name of a property", name->value);
  }
  prop = p->current != NULL ? hr_element_find_prop (p->current, name->value, NULL)
                            : hr_props_find (hr_pipeline_props, name->value);
  if (prop == NULL) {
    char *advice =
        p->current == NULL && hr_registry_find (name->value, NULL) != NULL ? g_strdup_printf (
            "\"%s\" is an element: what stands behind \"=\" belongs to a property", name->value)
        : p->current != NULL ? list_props (&hr_common_props[0], p->current->def->props,
                                           hr_element_suggest_prop (p->current->def, name->value))
                             : list_props (NULL, hr_pipeline_props, suggest_setting (name->value));

    return FAIL (p, UNKNOWN_PROPERTY, name->offset, name->length, advice, error,
                 "no property \"%s\" in %s", name->value, owner);
  }
  key = g_strdup_printf ("%p %s", (gpointer)p->current, hr_prop_name (prop));
  if (g_hash_table_lookup_extended (p->places, key, NULL, &before)) {
    g_autofree char *place = hr_parse_describe_place (p->text.text, GPOINTER_TO_SIZE (before));

    return FAIL (p, DUPLICATE, name->offset, name->length,
                 g_strdup_printf ("the first is at %s", place), error,
                 "property \"%s\" of %s is given twice", name->value, owner);
  }
  g_hash_table_insert (p->places, g_steal_pointer (&key), GSIZE_TO_POINTER (name->offset));
  if (!next (p, HR_TEXT_VALUE, error))
    return FALSE;
  if (p->token.type != HR_TOKEN_WORD)
    return FAIL (p, SYNTAX, name->offset, name->length,
                 g_strdup_printf ("for an empty value write %s=\"\"", name->value), error,
                 "property \"%s\" has no value", name->value);
  if (!try_setting (p, prop, p->token.value, &code, &why))
    return hr_text_fail (
        &p->text, code, p->token.offset, p->token.length, value_advice (prop, p->token.value),
        error, "bad value \"%s\" for \"%s\" of %s: %s", p->token.value, name->value, owner, why);
  if (prop == &hr_common_props[0]) {
    node_at (p, p->nodes->len - 1)->name_offset = p->token.offset;
    node_at (p, p->nodes->len - 1)->name_length = p->token.length;
  }
  return TRUE;
}

/* ---- nodes ---- */

static gboolean
check_word (Parser *p, const HrToken *word, GError **error)
{
  const char *value = word->value;
  g_autofree char *headline = NULL;
  g_autofree char *advice = NULL;
  gsize at = strcspn (value, "()");
  gsize offset = word->offset, length = word->length;

  if (word->quoted)
    return FAIL (p, SYNTAX, offset, length, g_strdup ("only values are quoted: name='a value'"),
                 error, "a quoted text stands where an element is expected");
  if (value[at] != '\0')
    return FAIL (
        p, SYNTAX, word->variable ? offset : offset + at, word->variable ? length : 1,
        g_strdup (
            "elements of one pipeline stand side by side; a value with brackets goes in quotes"),
        error, "bins are not supported: \"%c\" is reserved", value[at]);
  advice = foreign_advice (word, &headline);
  if (headline != NULL)
    return FAIL (p, SYNTAX, offset, length, g_steal_pointer (&advice), error, "%s", headline);
  if (*value == '\0' || (strchr (value, '.') == NULL && !hr_element_name_is_valid (value))) {
    if (advice == NULL)
      advice = g_strdup ("elements have names such as fakesrc or imagedecode");
    return FAIL (p, SYNTAX, offset, length, g_steal_pointer (&advice), error,
                 "\"%s\" is no name of an element", value);
  }
  return TRUE;
}

static gboolean
read_reference (Parser *p, const HrToken *word, GError **error)
{
  Node node = { .offset = word->offset, .length = word->length };
  const char *dot = strchr (word->value, '.');
  g_autofree char *name = g_strndup (word->value, (gsize)(dot - word->value));

  if (!hr_element_name_is_valid (name) || strchr (dot + 1, '.') != NULL
      || (dot[1] != '\0'
          && strspn (dot + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen (dot + 1)))
    return FAIL (p, SYNTAX, word->offset, word->length,
                 g_strdup ("a reference is NAME. or NAME.PAD, as in t. or t.1"), error,
                 "\"%s\" is no reference to an element", word->value);
  node.name = g_steal_pointer (&name);
  node.pad = dot[1] != '\0' ? g_strdup (dot + 1) : NULL;
  g_array_append_val (p->nodes, node);
  p->current = NULL;
  return TRUE;
}

/* A word that is no element may be a property whose "=" was forgotten. */
static char *
unknown_element_advice (Parser *p, const char *name)
{
  const char *near = hr_registry_suggest (name);
  const HrProp *prop = p->current != NULL ? hr_element_find_prop (p->current, name, NULL) : NULL;

  if (prop != NULL)
    return g_strdup_printf ("\"%s\" is a property of \"%s\": write %s=VALUE", name,
                            hr_element_get_factory (p->current), name);
  if (near != NULL)
    return g_strdup_printf ("did you mean \"%s\"?", near);
  return g_strdup ("hr-inspect lists the elements there are");
}

static gboolean
read_element (Parser *p, const HrToken *word, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  Node node = { .offset = word->offset, .length = word->length };
  const HrElementDef *def = hr_registry_find (word->value, &wrong);

  if (def == NULL && g_error_matches (wrong, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_ELEMENT))
    return FAIL (p, UNKNOWN_ELEMENT, word->offset, word->length,
                 unknown_element_advice (p, word->value), error, "no element \"%s\"", word->value);
  if (def == NULL)
    return FAIL (p, UNKNOWN_ELEMENT, word->offset, word->length, g_strdup (wrong->message), error,
                 "element \"%s\" cannot be used", word->value);
  node.element = hr_element_new (def);
  node.element->offset = word->offset;
  g_ptr_array_add (p->elements, node.element);
  g_array_append_val (p->nodes, node);
  p->current = node.element;
  return TRUE;
}

/* Reads all tokens into nodes and links. */
static gboolean
read_all (Parser *p, GError **error)
{
  g_auto (HrToken) word = { 0 };
  gsize link_offset = 0;
  gboolean linking = FALSE; /* a "!" waits for its right side */

  if (!next (p, HR_TEXT_NAME, error))
    return FALSE;
  while (p->token.type != HR_TOKEN_END) {
    if (p->token.type == HR_TOKEN_LINK) {
      if (linking)
        return FAIL (p, SYNTAX, p->token.offset, 1,
                     g_strdup ("take one of them away, or name what is between"), error,
                     "two \"!\" without an element between them");
      if (p->nodes->len == 0)
        return FAIL (p, SYNTAX, p->token.offset, 1,
                     g_strdup ("a chain begins with an element or a reference"), error,
                     "nothing stands before \"!\"");
      linking = TRUE;
      link_offset = p->token.offset;
      if (!next (p, HR_TEXT_NAME, error))
        return FALSE;
      continue;
    }
    if (p->token.type == HR_TOKEN_EQUALS)
      return FAIL (p, SYNTAX, p->token.offset, 1, g_strdup ("a setting is name=value"), error,
                   "no name stands before \"=\"");
    hr_token_clear (&word);
    word = p->token;
    p->token.value = NULL;
    if (!next (p, HR_TEXT_NAME, error))
      return FALSE;
    if (p->token.type == HR_TOKEN_EQUALS) {
      if (linking && !check_word (p, &word, error))
        return FALSE;
      if (linking)
        return FAIL (p, SYNTAX, word.offset, word.length,
                     g_strdup ("settings stand behind the element that they belong to"), error,
                     "an element is expected behind \"!\", not a setting");
      if (p->current == NULL && p->nodes->len > 0)
        return FAIL (p, SYNTAX, word.offset, word.length,
                     g_strdup ("set them where the element itself stands"), error,
                     "a reference takes no properties");
      if (!read_setting (p, &word, error) || !next (p, HR_TEXT_NAME, error))
        return FALSE;
      continue;
    }
    if (!check_word (p, &word, error))
      return FALSE;
    if (!(strchr (word.value, '.') != NULL ? read_reference (p, &word, error)
                                           : read_element (p, &word, error)))
      return FALSE;
    if (linking) {
      Link link = { p->nodes->len - 2, p->nodes->len - 1, ANY_PAD, ANY_PAD };

      node_at (p, link.left)->linked = node_at (p, link.right)->linked = TRUE;
      g_array_append_val (p->links, link);
      linking = FALSE;
    }
  }
  if (linking)
    return FAIL (p, SYNTAX, link_offset, 1,
                 g_strdup ("name the element that comes next, or take it away"), error,
                 "nothing stands behind \"!\"");
  if (p->nodes->len == 0)
    return FAIL (p, SYNTAX, strlen (p->text.text), 0,
                 g_strdup ("the shortest pipeline is fakesrc ! fakesink"), error,
                 "the pipeline has no elements");
  return TRUE;
}

static gboolean
check_encoding (Parser *p, GError **error)
{
  const char *end;

  if (g_utf8_validate (p->text.text, -1, &end))
    return TRUE;
  return FAIL (p, SYNTAX, (gsize)(end - p->text.text), 1, NULL, error,
               "the text is not UTF-8: byte 0x%02x", (guint)(guchar)*end);
}

HrPipeline *
hr_parse_text (const char *text, GHashTable *variables, gsize *offset, gsize *length,
               GError **error)
{
  Parser p = { .text = { .text = text, .variables = variables } };
  gboolean good;

  g_return_val_if_fail (text != NULL, NULL);
  p.pipeline = hr_pipeline_new ();
  p.elements = g_ptr_array_new_with_free_func (g_object_unref);
  p.nodes = g_array_new (FALSE, TRUE, sizeof (Node));
  g_array_set_clear_func (p.nodes, node_clear);
  p.links = g_array_new (FALSE, TRUE, sizeof (Link));
  p.names = g_hash_table_new (g_str_hash, g_str_equal);
  p.places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  good = check_encoding (&p, error) && read_all (&p, error) && hr_parse_build (&p, error);
  if (!good) {
    g_clear_object (&p.pipeline);
    if (offset != NULL)
      *offset = p.text.wrong_offset;
    if (length != NULL)
      *length = p.text.wrong_length;
  }
  hr_token_clear (&p.token);
  g_hash_table_unref (p.places);
  g_hash_table_unref (p.names);
  g_array_unref (p.links);
  g_array_unref (p.nodes);
  g_ptr_array_unref (p.elements);
  return p.pipeline;
}

HrPipeline *
hr_parse_launch_full (const char *text, GHashTable *variables, GError **error)
{
  return hr_parse_text (text, variables, NULL, NULL, error);
}

HrPipeline *
hr_parse_launch (const char *text, GError **error)
{
  return hr_parse_text (text, NULL, NULL, NULL, error);
}
