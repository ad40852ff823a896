/* hr-json.c: JSON trees as text */
#include "hr-json.h"
#include <math.h>
#include <string.h>

/* json-glib 1.6 writes U+001F as it is, 1e+55 as 1e+55.0, infinities as inf, and every double with
 * 17 digits: not what other programs can read, or people want to. */

typedef struct {
  GString *text;
  gboolean pretty;
  guint depth;
} Writer;

void
hr_json_append_string (GString *text, const char *string)
{
  g_autofree char *valid = NULL;
  const char *p;

  if (!g_utf8_validate (string, -1, NULL)) /* a file's name may be anything */
    string = valid = g_utf8_make_valid (string, -1);
  g_string_append_c (text, '"');
  for (p = string; *p != '\0';) {
    gsize plain = 0;

    while ((guchar)p[plain] >= 0x20 && p[plain] != '"' && p[plain] != '\\')
      plain++;
    g_string_append_len (text, p, plain);
    p += plain;
    if (*p == '\0')
      break;
    switch (*p) {
    case '\n':
      g_string_append (text, "\\n");
      break;
    case '\t':
      g_string_append (text, "\\t");
      break;
    case '\r':
      g_string_append (text, "\\r");
      break;
    case '"':
    case '\\':
      g_string_append_c (text, '\\');
      g_string_append_c (text, *p);
      break;
    default:
      g_string_append_printf (text, "\\u%04x", (guchar)*p);
    }
    p++;
  }
  g_string_append_c (text, '"');
}

/* the fewest digits that are read back as the same number */
static void
write_double (GString *text, double number)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (number)) {
    g_string_append (text, "null");
    return;
  }
  for (guint n = 15; n <= 17; n++) {
    char format[] = "%.15g";

    format[3] = (char)('0' + n - 10);
    g_ascii_formatd (digits, sizeof digits, format, number);
    if (g_ascii_strtod (digits, NULL) == number)
      break;
  }
  g_string_append (text, digits);
  if (strpbrk (digits, ".e") == NULL)
    g_string_append (text, ".0");
}

static void
write_value (GString *text, JsonNode *node)
{
  GType type = json_node_get_value_type (node);

  if (type == G_TYPE_STRING)
    hr_json_append_string (text, json_node_get_string (node));
  else if (type == G_TYPE_BOOLEAN)
    g_string_append (text, json_node_get_boolean (node) ? "true" : "false");
  else if (type == G_TYPE_DOUBLE)
    write_double (text, json_node_get_double (node));
  else
    g_string_append_printf (text, "%" G_GINT64_FORMAT, json_node_get_int (node));
}

static void
new_line (const Writer *writer)
{
  if (writer->pretty)
    g_string_append_printf (writer->text, "\n%*s", (int)writer->depth * 2, "");
}

static void
write_node (Writer *writer, JsonNode *node)
{
  GString *text = writer->text;

  if (node == NULL || JSON_NODE_HOLDS_NULL (node)) {
    g_string_append (text, "null");
  } else if (JSON_NODE_HOLDS_ARRAY (node)) {
    JsonArray *array = json_node_get_array (node);
    guint n = json_array_get_length (array);

    g_string_append_c (text, '[');
    writer->depth++;
    for (guint i = 0; i < n; i++) {
      if (i > 0)
        g_string_append_c (text, ',');
      new_line (writer);
      write_node (writer, json_array_get_element (array, i));
    }
    writer->depth--;
    if (n > 0)
      new_line (writer);
    g_string_append_c (text, ']');
  } else if (JSON_NODE_HOLDS_OBJECT (node)) {
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    guint n = 0;

    g_string_append_c (text, '{');
    writer->depth++;
    json_object_iter_init_ordered (&iter, json_node_get_object (node));
    while (json_object_iter_next_ordered (&iter, &name, &member)) {
      if (n++ > 0)
        g_string_append_c (text, ',');
      new_line (writer);
      hr_json_append_string (text, name);
      g_string_append (text, writer->pretty ? ": " : ":");
      write_node (writer, member);
    }
    writer->depth--;
    if (n > 0)
      new_line (writer);
    g_string_append_c (text, '}');
  } else {
    write_value (text, node);
  }
}

/**
 * hr_json_write:
 * @node: (nullable): a tree; %NULL is null
 * @pretty: over several lines, two spaces a level
 *
 * RFC 8259, in UTF-8, whatever the locale: bytes that are no UTF-8 become U+FFFD, infinities null.
 * Members stand in the order in which they were set.
 *
 * Returns: (transfer full): the text, without a line end
 */
char *
hr_json_write (JsonNode *node, gboolean pretty)
{
  Writer writer = { g_string_new (NULL), pretty, 0 };

  write_node (&writer, node);
  return g_string_free (writer.text, FALSE);
}

void
hr_json_add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  if (value != NULL)
    json_builder_add_string_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

void
hr_json_add_int (JsonBuilder *builder, const char *name, gint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, value);
}

void
hr_json_add_double (JsonBuilder *builder, const char *name, gdouble value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_double_value (builder, value);
}

void
hr_json_add_bool (JsonBuilder *builder, const char *name, gboolean value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_boolean_value (builder, value);
}
