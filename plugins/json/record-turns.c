/* record-turns.c: turns, their texts and images, and names for places in a record */
#include "record-private.h"
#include <stdarg.h>
#include <string.h>

static const char *const role_names[] = { "system", "user", "assistant" };

char *
hr_place_name (const HrPlace *place)
{
  GString *name = g_string_new (place->field);

  if (place->index >= 0)
    g_string_append_printf (name, "[%d]", place->index);
  if (place->key != NULL)
    g_string_append_printf (name, ".%s", place->key);
  if (place->part >= 0)
    g_string_append_printf (name, "[%d]", place->part);
  if (place->member != NULL)
    g_string_append_printf (name, ".%s", place->member);
  return g_string_free (name, FALSE);
}

gboolean
hr_place_fail (GError **error, HrDataError code, const HrPlace *place, const char *format, ...)
{
  g_autofree char *name = hr_place_name (place), *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  hr_set_data_error (error, code, "%s %s", name, what);
  return FALSE;
}

gboolean
hr_record_fail_type (const HrJson *json, guint value, const HrPlace *place, const char *wanted,
                     GError **error)
{
  return hr_place_fail (error, HR_DATA_ERROR_BAD_RECORD, place, "is %s, not %s",
                        hr_json_type_name (json, value), wanted);
}

gboolean
hr_record_check_text (const HrJson *json, guint value, const HrPlace *place, GError **error)
{
  if (hr_json_type (json, value) != HR_JSON_STRING)
    return hr_record_fail_type (json, value, place, "a string", error);
  if ((json->values[value].flags & HR_JSON_NUL) != 0)
    return hr_place_fail (error, HR_DATA_ERROR_BAD_RECORD, place,
                          "holds \\u0000 (NUL), which no text may");
  return TRUE;
}

static void
add_part (JsonArray *parts, JsonNode *node, const char *name)
{
  JsonObject *part = json_object_new ();

  json_object_set_member (part, name, node);
  json_array_add_object_element (parts, part);
}

void
hr_reader_add_text (JsonArray *parts, const char *text, gsize length)
{
  g_autofree char *own = NULL;

  if (length == 0) /* renders as nothing */
    return;
  own = g_strndup (text, length);
  add_part (parts, json_node_init_string (json_node_alloc (), own), "text");
}

void
hr_reader_add_image (HrReader *reader, JsonArray *parts, const HrMediaRef *ref)
{
  add_part (parts, json_node_init_int (json_node_alloc (), reader->record->links->len), "image");
  hr_media_ref_append (reader->json, ref, reader->record);
}

void
hr_reader_add_pool_image (HrReader *reader, JsonArray *parts)
{
  if (reader->placeholders < reader->pool->len)
    hr_reader_add_image (reader, parts,
                         &g_array_index (reader->pool, HrMediaRef, reader->placeholders));
  reader->placeholders++;
}

/* a turn that nobody sees */
static JsonArray *
spare_turn (HrReader *reader)
{
  JsonArray *parts = json_array_new ();

  json_array_add_array_element (reader->spare, parts);
  return parts;
}

static JsonArray *
append_turn (HrReader *reader, HrRole role, gboolean train)
{
  JsonObject *turn = json_object_new ();
  JsonArray *parts = json_array_new ();

  json_object_set_string_member (turn, "role", role_names[role]);
  json_object_set_boolean_member (turn, "train", train);
  json_object_set_array_member (turn, "parts", parts);
  json_array_add_object_element (reader->turns, turn);
  if (role == HR_ROLE_USER && reader->first_user == NULL)
    reader->first_user = turn;
  reader->has_answer |= role == HR_ROLE_ASSISTANT;
  return parts;
}

void
hr_reader_add_placeholders (HrReader *reader, JsonArray *parts, HrRole role, const char *text)
{
  const char *rest = text, *piece;
  gsize length = strlen (text), piece_length;
  HrPiece kind;

  while (hr_text_next_piece (&rest, &length, &kind, &piece, &piece_length)) {
    if (kind == HR_PIECE_IMAGE) {
      reader->system_has_image |= role == HR_ROLE_SYSTEM;
      hr_reader_add_pool_image (reader, parts);
    } else if (kind == HR_PIECE_VIDEO) {
      reader->video_placeholders++;
    } else {
      if (role == HR_ROLE_USER && reader->rules->strip == HR_STRIP_QWEN)
        hr_text_strip (&piece, &piece_length);
      hr_reader_add_text (parts, piece, piece_length);
    }
  }
}

gboolean
hr_reader_add_string (HrReader *reader, JsonArray *parts, HrRole role, guint value,
                      const HrPlace *place)
{
  g_autofree char *text = NULL;

  if (!hr_record_check_text (reader->json, value, place, reader->error))
    return FALSE;
  text = hr_json_dup_string (reader->json, value, NULL);
  if (role == HR_ROLE_ASSISTANT) /* there, "<image>" is a word like others */
    hr_reader_add_text (parts, text, strlen (text));
  else
    hr_reader_add_placeholders (reader, parts, role, text);
  return TRUE;
}

JsonArray *
hr_reader_begin_turn (HrReader *reader, HrRole role, gboolean train, const HrPlace *place)
{
  gboolean first = json_array_get_length (reader->turns) == 0;

  if (role == HR_ROLE_SYSTEM && !first) {
    switch (reader->rules->late_system) {
    case HR_LATE_SYSTEM_DROP:
      return spare_turn (reader);
    case HR_LATE_SYSTEM_KEEP:
      return append_turn (reader, role, FALSE);
    case HR_LATE_SYSTEM_ERROR:
      break;
    }
    hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED, place,
                   "is a system turn, but not the first one: the chat template would drop it; "
                   "late-system=drop does so");
    return NULL;
  }
  if (role != HR_ROLE_SYSTEM && first && reader->system != 0) {
    g_autofree char *text = hr_json_dup_string (reader->json, reader->system, NULL);

    hr_reader_add_placeholders (reader, append_turn (reader, HR_ROLE_SYSTEM, FALSE), HR_ROLE_SYSTEM,
                                text);
  }
  return append_turn (reader, role, train && role == HR_ROLE_ASSISTANT);
}

gboolean
hr_reader_add_turn (HrReader *reader, HrRole role, gboolean train, guint value,
                    const HrPlace *place)
{
  JsonArray *parts = hr_reader_begin_turn (reader, role, train, place);

  return parts != NULL && hr_reader_add_string (reader, parts, role, value, place);
}

gboolean
hr_reader_found_video (HrReader *reader, const HrPlace *place)
{
  if (reader->rules->video == HR_VIDEO_SKIP) {
    reader->record->left_out = TRUE;
    return TRUE;
  }
  return hr_place_fail (
      reader->error, HR_DATA_ERROR_UNSUPPORTED, place,
      "is a video, which is not supported yet; video=skip leaves such records out");
}
