/* json-value.c: looking at the values of a line that has been checked */
#include "json-value.h"
#include <errno.h>
#include <math.h>
#include <string.h>

const char *
hr_json_type_name (const HrJson *json, guint value)
{
  static const char *const names[] = { "null",     "a boolean", "a boolean", "a number",
                                       "a string", "a list",    "an object" };

  return names[hr_json_type (json, value)];
}

guint
hr_json_first (const HrJson *json, guint container)
{
  return json->values[container].next > container + 1 ? container + 1 : 0;
}

guint
hr_json_next (const HrJson *json, guint container, guint item)
{
  guint next = json->values[item].next;

  if (hr_json_type (json, container) == HR_JSON_OBJECT) /* it was a name: pass its value, too */
    next = json->values[next].next;
  return next < json->values[container].next ? next : 0;
}

guint
hr_json_length (const HrJson *json, guint container)
{
  guint n = 0;

  for (guint i = hr_json_first (json, container); i != 0; i = hr_json_next (json, container, i))
    n++;
  return n;
}

/* writes the content of a string without escapes; @into has room for @size bytes, which is enough
 * for none is longer than what it was written as */
static gsize
unescape (const char *text, gsize size, char *into)
{
  const char *p = text, *end = text + size;
  char *out = into;

  while (p < end) {
    const char *slash = memchr (p, '\\', end - p);
    gsize plain = (slash != NULL ? slash : end) - p;
    gunichar c;

    memcpy (out, p, plain);
    out += plain;
    if (slash == NULL)
      break;
    p = slash + 2;
    switch (slash[1]) {
    case 'b':
      *out++ = '\b';
      break;
    case 'f':
      *out++ = '\f';
      break;
    case 'n':
      *out++ = '\n';
      break;
    case 'r':
      *out++ = '\r';
      break;
    case 't':
      *out++ = '\t';
      break;
    case 'u':
      c = 0;
      for (guint i = 0; i < 4; i++)
        c = c << 4 | (gunichar)g_ascii_xdigit_value (p[i]);
      p += 4;
      if (c >= 0xd800 && c <= 0xdfff) { /* a pair: the scan has seen to that */
        gunichar low = 0;

        for (guint i = 2; i < 6; i++)
          low = low << 4 | (gunichar)g_ascii_xdigit_value (p[i]);
        p += 6;
        c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
      }
      out += g_unichar_to_utf8 (c, out);
      break;
    default:
      *out++ = slash[1];
    }
  }
  return out - into;
}

char *
hr_json_dup_string (const HrJson *json, guint value, gsize *length)
{
  const HrJsonValue *v = &json->values[value];
  gsize size = v->end - v->start, written = size;
  char *content = g_malloc (size + 1);

  if ((v->flags & HR_JSON_ESCAPED) != 0)
    written = unescape (json->text + v->start, size, content);
  else
    memcpy (content, json->text + v->start, size);
  content[written] = '\0';
  if (length != NULL)
    *length = written;
  return content;
}

char *
hr_json_dup_text (const HrJson *json, guint value)
{
  const HrJsonValue *v = &json->values[value];

  if (v->type == HR_JSON_STRING)
    return hr_json_dup_string (json, value, NULL);
  return g_strndup (json->text + v->start, v->end - v->start);
}

gboolean
hr_json_equals (const HrJson *json, guint value, const char *content)
{
  const HrJsonValue *v = &json->values[value];
  gsize size = v->end - v->start, length = strlen (content), written;
  g_autofree char *own = NULL;

  if (v->type != HR_JSON_STRING || size < length)
    return FALSE;
  if ((v->flags & HR_JSON_ESCAPED) == 0)
    return size == length && memcmp (json->text + v->start, content, size) == 0;
  if (size > 6 * length) /* all escaped, it would still be longer */
    return FALSE;
  own = hr_json_dup_string (json, value, &written);
  return written == length && memcmp (own, content, length) == 0;
}

gboolean
hr_json_is_empty_list (const HrJson *json, guint value)
{
  return hr_json_type (json, value) == HR_JSON_ARRAY && hr_json_first (json, value) == 0;
}

guint
hr_json_member (const HrJson *json, guint object, const char *name)
{
  guint found = 0;

  for (guint i = hr_json_first (json, object); i != 0; i = hr_json_next (json, object, i))
    if (hr_json_equals (json, i, name))
      found = i + 1;
  return found;
}

guint
hr_json_get (const HrJson *json, guint object, const char *name)
{
  guint value = hr_json_member (json, object, name);

  return value != 0 && hr_json_type (json, value) != HR_JSON_NULL ? value : 0;
}

static JsonNode *
number_to_node (const HrJson *json, guint value)
{
  g_autofree char *text = hr_json_dup_text (json, value);
  JsonNode *node = json_node_alloc ();

  if (strpbrk (text, ".eE") == NULL) {
    gint64 integer;

    errno = 0;
    integer = g_ascii_strtoll (text, NULL, 10);
    if (errno == 0)
      return json_node_init_int (node, integer);
  } else {
    double real = g_ascii_strtod (text, NULL);

    if (isfinite (real))
      return json_node_init_double (node, real);
  }
  return json_node_init_string (node, text);
}

JsonNode *
hr_json_to_node (const HrJson *json, guint value)
{
  const HrJsonValue *v = &json->values[value];
  JsonNode *node;

  switch ((HrJsonType)v->type) {
  case HR_JSON_FALSE:
  case HR_JSON_TRUE:
    return json_node_init_boolean (json_node_alloc (), v->type == HR_JSON_TRUE);
  case HR_JSON_NUMBER:
    return number_to_node (json, value);
  case HR_JSON_STRING: {
    g_autofree char *content = NULL;

    if ((v->flags & HR_JSON_NUL) != 0)
      return NULL;
    content = hr_json_dup_string (json, value, NULL);
    return json_node_init_string (json_node_alloc (), content);
  }
  case HR_JSON_ARRAY: {
    g_autoptr (JsonArray) array = json_array_new ();

    for (guint i = hr_json_first (json, value); i != 0; i = hr_json_next (json, value, i)) {
      node = hr_json_to_node (json, i);
      if (node == NULL)
        return NULL;
      json_array_add_element (array, node);
    }
    return json_node_init_array (json_node_alloc (), array);
  }
  case HR_JSON_OBJECT: {
    g_autoptr (JsonObject) object = json_object_new ();

    for (guint i = hr_json_first (json, value); i != 0; i = hr_json_next (json, value, i)) {
      g_autofree char *name = NULL;

      if ((json->values[i].flags & HR_JSON_NUL) != 0
          || (node = hr_json_to_node (json, i + 1)) == NULL)
        return NULL;
      name = hr_json_dup_string (json, i, NULL);
      json_object_set_member (object, name, node);
    }
    return json_node_init_object (json_node_alloc (), object);
  }
  case HR_JSON_NULL:
    break;
  }
  return json_node_init_null (json_node_alloc ());
}
