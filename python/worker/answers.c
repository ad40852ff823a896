/* answers.c: errors and messages as JSON */
#include "answers.h"

void
answers_add_text (JsonBuilder *into, const char *name, const char *value)
{
  json_builder_set_member_name (into, name);
  if (value != NULL)
    json_builder_add_string_value (into, value);
  else
    json_builder_add_null_value (into);
}

void
answers_add_error (JsonBuilder *into, const GError *error)
{
  if (error == NULL) {
    json_builder_add_null_value (into);
    return;
  }
  json_builder_begin_object (into);
  answers_add_text (into, "domain", g_quark_to_string (error->domain));
  json_builder_set_member_name (into, "code");
  json_builder_add_int_value (into, error->code);
  answers_add_text (into, "message", error->message);
  json_builder_end_object (into);
}

char *
answers_from_message (const HrMessage *message)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autoptr (JsonNode) node = NULL;
  g_autofree char *origin = message->origin != NULL ? hr_origin_to_string (message->origin) : NULL;

  json_builder_begin_object (into);
  answers_add_text (into, "type", hr_message_type_name (message->type));
  answers_add_text (into, "element", message->element);
  json_builder_set_member_name (into, "error");
  answers_add_error (into, message->error);
  answers_add_text (into, "origin", origin);
  answers_add_text (into, "text", message->text);
  json_builder_end_object (into);
  node = json_builder_get_root (into);
  return hr_json_write (node, FALSE);
}
