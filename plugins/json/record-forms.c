/* record-forms.c: the forms in which people write conversations */
#include "record-private.h"
#include <string.h>

/* a string of a stranger's, cut to a length that fits in a message */
static char *
shown (const HrJson *json, guint value)
{
  g_autofree char *text = hr_json_dup_string (json, value, NULL);

  if (strlen (text) <= 40)
    return g_steal_pointer (&text);
  *g_utf8_find_prev_char (text, text + 41) = '\0';
  return g_strconcat (text, "…", NULL);
}

/* a turn's "loss": shall the model learn it? */
static gboolean
read_loss (HrReader *reader, guint item, const char *field, int index, gboolean *train)
{
  guint loss = hr_json_get (reader->json, item, "loss");

  *train = TRUE;
  if (loss == 0)
    return TRUE;
  if (hr_json_type (reader->json, loss) != HR_JSON_FALSE
      && hr_json_type (reader->json, loss) != HR_JSON_TRUE)
    return hr_record_fail_type (reader->json, loss, HR_PLACE (field, index, "loss", -1, NULL),
                                "a boolean", reader->error);
  *train = hr_json_type (reader->json, loss) == HR_JSON_TRUE;
  return TRUE;
}

/* ---- {"role": …, "content": text or parts} ---- */

/* the link of an image part: 0 if it has none of its own and draws on the pool */
static guint
image_part_link (const HrJson *json, guint part, const char **member)
{
  static const char *const members[] = { "image", "image_url", "url", "path", "base64" };

  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    guint link = hr_json_get (json, part, members[i]);

    if (link != 0) {
      *member = members[i];
      return link;
    }
  }
  return 0;
}

static gboolean
add_image_part (HrReader *reader, JsonArray *parts, HrRole role, guint part, HrPlace place)
{
  guint link = image_part_link (reader->json, part, &place.member);
  HrMediaRef ref;

  if (role == HR_ROLE_ASSISTANT || role == HR_ROLE_SYSTEM)
    return hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED, &place,
                          "is an image in %s turn: only users show images",
                          role == HR_ROLE_SYSTEM ? "a system" : "an assistant");
  if (link == 0) {
    hr_reader_add_pool_image (reader, parts);
    return TRUE;
  }
  if (strcmp (place.member, "base64") == 0) {
    /* the object around it reads like {"base64": …} */
    link = part;
    place.member = NULL;
  }
  if (!hr_media_ref_read (reader->json, link, &place, &ref, reader->error))
    return FALSE;
  hr_reader_add_image (reader, parts, &ref);
  return TRUE;
}

/* the rule of Qwen's template: what is no image and no video is text */
static gboolean
add_content_part (HrReader *reader, JsonArray *parts, HrRole role, guint part, HrPlace place)
{
  const HrJson *json = reader->json;
  guint type, text;
  g_autofree char *own = NULL;

  if (hr_json_type (json, part) != HR_JSON_OBJECT)
    return hr_record_fail_type (json, part, &place, "an object", reader->error);
  type = hr_json_get (json, part, "type");
  if ((type != 0 && hr_json_equals (json, type, "image")) || hr_json_get (json, part, "image") != 0
      || hr_json_get (json, part, "image_url") != 0)
    return add_image_part (reader, parts, role, part, place);
  if ((type != 0 && hr_json_equals (json, type, "video")) || hr_json_get (json, part, "video") != 0)
    return hr_reader_found_video (reader, &place);
  text = hr_json_get (json, part, "text");
  if (text == 0 && type != 0 && hr_json_type (json, type) == HR_JSON_STRING
      && !hr_json_equals (json, type, "text")) {
    g_autofree char *name = shown (json, type);

    return hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED, &place,
                          "is of type \"%s\"; known are text, image and image_url", name);
  }
  if (text == 0)
    return hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD, &place,
                          "has neither text nor image");
  place.member = "text";
  if (!hr_record_check_text (json, text, &place, reader->error))
    return FALSE;
  own = hr_json_dup_string (json, text, NULL);
  hr_reader_add_text (parts, own, strlen (own));
  return TRUE;
}

static gboolean
read_content (HrReader *reader, guint content, HrRole role, JsonArray *parts, int index)
{
  const HrJson *json = reader->json;
  HrPlace place = { "messages", index, "content", -1, NULL };

  if (hr_json_type (json, content) == HR_JSON_STRING)
    return hr_reader_add_string (reader, parts, role, content, &place);
  if (hr_json_type (json, content) != HR_JSON_ARRAY)
    return hr_record_fail_type (json, content, &place, "a string or a list of parts",
                                reader->error);
  for (guint i = hr_json_first (json, content); i != 0; i = hr_json_next (json, content, i)) {
    place.part++;
    if (!add_content_part (reader, parts, role, i, place))
      return FALSE;
    if (reader->record->left_out)
      break;
  }
  return TRUE;
}

/* ---- the forms ---- */

typedef struct {
  const char *name;
  HrRole role;
} RoleName;

/* the role of @item, whose name for it is @key */
static gboolean
read_role (HrReader *reader, guint item, const char *field, int index, const char *key,
           const RoleName *names, const char *known, HrRole *role)
{
  const HrJson *json = reader->json;
  HrPlace place = { field, index, NULL, -1, NULL };
  guint value;
  g_autofree char *name = NULL;

  if (hr_json_type (json, item) != HR_JSON_OBJECT)
    return hr_record_fail_type (json, item, &place, "an object", reader->error);
  value = hr_json_get (json, item, key);
  if (value == 0)
    return hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD, &place, "has no \"%s\"", key);
  place.key = key;
  if (!hr_record_check_text (json, value, &place, reader->error))
    return FALSE;
  for (guint i = 0; names[i].name != NULL; i++)
    if (hr_json_equals (json, value, names[i].name)) {
      *role = names[i].role;
      return TRUE;
    }
  name = shown (json, value);
  return hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED, &place, "is \"%s\"; known are %s",
                        name, known);
}

static gboolean
read_message (HrReader *reader, guint item, int index)
{
  static const RoleName names[] = { { "user", HR_ROLE_USER },
                                    { "assistant", HR_ROLE_ASSISTANT },
                                    { "system", HR_ROLE_SYSTEM },
                                    { "developer", HR_ROLE_SYSTEM },
                                    { NULL, 0 } };
  static const char *const calls[] = { "tool_calls", "function_call" };
  HrPlace place = { "messages", index, NULL, -1, NULL };
  HrRole role;
  gboolean train;
  guint content;
  JsonArray *parts;

  if (!read_role (reader, item, "messages", index, "role", names,
                  "system, developer, user and assistant", &role)
      || !read_loss (reader, item, "messages", index, &train))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++) {
    guint value = hr_json_get (reader->json, item, calls[i]);

    if (value != 0 && !hr_json_is_empty_list (reader->json, value)) {
      place.key = calls[i];
      return hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED, &place,
                            "is there, but calls of tools are not supported");
    }
  }
  content = hr_json_member (reader->json, item, "content");
  if (content == 0)
    return hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD, &place, "has no \"content\"");
  parts = hr_reader_begin_turn (reader, role, train, &place);
  return parts != NULL && read_content (reader, content, role, parts, index);
}

static gboolean
read_from_value (HrReader *reader, guint item, int index)
{
  static const RoleName names[] = { { "human", HR_ROLE_USER },
                                    { "gpt", HR_ROLE_ASSISTANT },
                                    { "user", HR_ROLE_USER },
                                    { "assistant", HR_ROLE_ASSISTANT },
                                    { "chatgpt", HR_ROLE_ASSISTANT },
                                    { "bing", HR_ROLE_ASSISTANT },
                                    { "bard", HR_ROLE_ASSISTANT },
                                    { "system", HR_ROLE_SYSTEM },
                                    { NULL, 0 } };
  HrRole role;
  gboolean train;
  guint value;

  if (!read_role (reader, item, "conversations", index, "from", names,
                  "human, user, gpt, assistant, chatgpt, bing, bard and system", &role)
      || !read_loss (reader, item, "conversations", index, &train))
    return FALSE;
  value = hr_json_member (reader->json, item, "value");
  if (value == 0)
    return hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD,
                          HR_PLACE ("conversations", index, NULL, -1, NULL), "has no \"value\"");
  return hr_reader_add_turn (reader, role, train, value,
                             HR_PLACE ("conversations", index, "value", -1, NULL));
}

/* {"human": text, "assistant": text} */
static gboolean
read_human_assistant (HrReader *reader, guint item, int index)
{
  static const char *const keys[] = { "human", "assistant" };
  HrPlace place = { "conversation", index, NULL, -1, NULL };
  gboolean train, any = FALSE;

  if (hr_json_type (reader->json, item) != HR_JSON_OBJECT)
    return hr_record_fail_type (reader->json, item, &place, "an object", reader->error);
  if (!read_loss (reader, item, "conversation", index, &train))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    guint value = hr_json_get (reader->json, item, keys[i]);

    if (value == 0)
      continue;
    any = TRUE;
    place.key = keys[i];
    if (!hr_reader_add_turn (reader, i == 0 ? HR_ROLE_USER : HR_ROLE_ASSISTANT, train, value,
                             &place))
      return FALSE;
  }
  return any
         || hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD, &place,
                           "has neither \"human\" nor \"assistant\"");
}

static gboolean
read_list (HrReader *reader, guint list, const char *field,
           gboolean (*read_item) (HrReader *reader, guint item, int index))
{
  const HrJson *json = reader->json;
  int index = 0;

  if (hr_json_type (json, list) != HR_JSON_ARRAY)
    return hr_record_fail_type (json, list, HR_PLACE (field, -1, NULL, -1, NULL), "a list",
                                reader->error);
  for (guint i = hr_json_first (json, list); i != 0; i = hr_json_next (json, list, i)) {
    if (!read_item (reader, i, index++))
      return FALSE;
    if (reader->record->left_out)
      break;
  }
  return TRUE;
}

/* [question, answer] */
static gboolean
read_history_pair (HrReader *reader, guint item, int index)
{
  const HrJson *json = reader->json;
  HrPlace place = { "history", index, NULL, -1, NULL };

  if (hr_json_type (json, item) != HR_JSON_ARRAY || hr_json_length (json, item) != 2)
    return hr_place_fail (reader->error, HR_DATA_ERROR_BAD_RECORD, &place,
                          "is not a list of a question and its answer");
  for (guint i = hr_json_first (json, item); i != 0; i = hr_json_next (json, item, i)) {
    place.part++;
    if (!hr_reader_add_turn (reader, place.part == 0 ? HR_ROLE_USER : HR_ROLE_ASSISTANT, TRUE, i,
                             &place))
      return FALSE;
  }
  return TRUE;
}

/* a question of one field or two, and an answer in a field of its own; any may be missing */
static gboolean
read_pair (HrReader *reader, const char *question, const char *more, const char *answer)
{
  const HrJson *json = reader->json;
  const char *const fields[] = { question, more };
  guint history = hr_json_get (json, reader->root, "history"), value;
  g_autoptr (GString) text = NULL;

  if (history != 0 && !read_list (reader, history, "history", read_history_pair))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    g_autofree char *own = NULL;

    value = fields[i] != NULL ? hr_json_get (json, reader->root, fields[i]) : 0;
    if (value == 0)
      continue;
    if (!hr_record_check_text (json, value, HR_PLACE (fields[i], -1, NULL, -1, NULL),
                               reader->error))
      return FALSE;
    own = hr_json_dup_string (json, value, NULL);
    if (text == NULL)
      text = g_string_new (own);
    else if (own[0] != '\0')
      g_string_append_printf (text, "\n%s", own);
  }
  if (text != NULL)
    hr_reader_add_placeholders (
        reader,
        hr_reader_begin_turn (reader, HR_ROLE_USER, FALSE, HR_PLACE (question, -1, NULL, -1, NULL)),
        HR_ROLE_USER, text->str);
  value = hr_json_get (json, reader->root, answer);
  return value == 0
         || hr_reader_add_turn (reader, HR_ROLE_ASSISTANT, TRUE, value,
                                HR_PLACE (answer, -1, NULL, -1, NULL));
}

gboolean
hr_reader_read_forms (HrReader *reader)
{
  static const struct {
    const char *field;
    gboolean (*read_item) (HrReader *reader, guint item, int index);
  } lists[] = { { "messages", read_message },
                { "conversations", read_from_value },
                { "conversation", read_human_assistant } };
  const HrJson *json = reader->json;

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++) {
    guint list = hr_json_get (json, reader->root, lists[i].field);

    if (list != 0)
      return read_list (reader, list, lists[i].field, lists[i].read_item);
  }
  if (hr_json_get (json, reader->root, "query") != 0)
    return read_pair (reader, "query", NULL, "response");
  if (hr_json_get (json, reader->root, "instruction") != 0)
    return read_pair (reader, "instruction", "input", "output");
  if (hr_json_get (json, reader->root, "response") != 0)
    return read_pair (reader, "query", NULL, "response");
  hr_set_data_error (
      reader->error, HR_DATA_ERROR_BAD_RECORD,
      "the record has no conversation: none of messages, conversations, conversation, "
      "query, response and instruction");
  return FALSE;
}
