/* record.c: records of every common form, turned into one: turns of text and images */
#include "record-private.h"

/* what one line may make others fetch and decode at once */
static gboolean
check_limits (HrReader *reader)
{
  guint64 most = reader->rules->max_images;

  if (most == 0 || reader->record->links->len <= most)
    return TRUE;
  hr_set_data_error (reader->error, HR_DATA_ERROR_BAD_RECORD,
                     "%u images, max-images is %" G_GUINT64_FORMAT, reader->record->links->len,
                     most);
  return FALSE;
}

/* an answer, and as many images as places for them */
static gboolean
check_counts (HrReader *reader)
{
  guint n_images = reader->pool->len;

  if (!reader->has_answer) {
    hr_set_data_error (reader->error, HR_DATA_ERROR_NO_ASSISTANT_TURN,
                       "no assistant turn: nothing to learn");
    return FALSE;
  }
  if (reader->placeholders != n_images) {
    hr_set_data_error (reader->error, HR_DATA_ERROR_PLACEHOLDER_MISMATCH,
                       "%u placeholder(s) for %u image(s)%s", reader->placeholders, n_images,
                       reader->placeholders == 0 && n_images == 1
                           ? "; missing-placeholder=prepend would put it first"
                           : "");
    return FALSE;
  }
  if (reader->video_placeholders > 0) {
    hr_set_data_error (reader->error, HR_DATA_ERROR_PLACEHOLDER_MISMATCH,
                       "%u placeholder(s) <video> for 0 video(s)", reader->video_placeholders);
    return FALSE;
  }
  if (reader->system_has_image) {
    hr_set_data_error (reader->error, HR_DATA_ERROR_UNSUPPORTED,
                       "<image> in the system turn: only users show images");
    return FALSE;
  }
  return TRUE;
}

/* LLaVA's quirk: the only image of a record, without a place, belongs in front */
static void
prepend_image (HrReader *reader)
{
  JsonArray *parts, *old;

  if (reader->rules->missing_placeholder != HR_MISSING_PREPEND || reader->placeholders != 0
      || reader->pool->len != 1 || reader->record->links->len != 0 || reader->first_user == NULL)
    return;
  old = json_object_get_array_member (reader->first_user, "parts");
  parts = json_array_new ();
  hr_reader_add_pool_image (reader, parts);
  for (guint i = 0; i < json_array_get_length (old); i++)
    json_array_add_element (parts, json_array_dup_element (old, i));
  json_object_set_array_member (reader->first_user, "parts", parts);
}

static gboolean
check_record (HrReader *reader)
{
  const HrJson *json = reader->json;
  guint root = reader->root, id, tools;

  if (hr_json_type (json, root) != HR_JSON_OBJECT)
    return hr_record_fail_type (json, root,
                                HR_PLACE (root == 0 ? "the line" : "it", -1, NULL, -1, NULL),
                                "an object", reader->error);
  id = hr_json_get (json, root, "id");
  if (id != 0 && hr_json_type (json, id) == HR_JSON_STRING
      && !hr_record_check_text (json, id, HR_PLACE ("id", -1, NULL, -1, NULL), reader->error))
    return FALSE;
  tools = hr_json_get (json, root, "tools");
  if (tools != 0 && !hr_json_is_empty_list (json, tools) && !hr_json_equals (json, tools, "")
      && !hr_json_equals (json, tools, "[]"))
    return hr_place_fail (reader->error, HR_DATA_ERROR_UNSUPPORTED,
                          HR_PLACE ("tools", -1, NULL, -1, NULL),
                          "is there, but tools are not supported");
  reader->system = hr_json_get (json, root, "system");
  if (reader->system != 0
      && !hr_record_check_text (json, reader->system, HR_PLACE ("system", -1, NULL, -1, NULL),
                                reader->error))
    return FALSE;
  if (reader->system != 0 && hr_json_equals (json, reader->system, ""))
    reader->system = 0;
  return TRUE;
}

static gboolean
read_record (HrReader *reader)
{
  const char *video;

  if (!check_record (reader)
      || !hr_media_find_video (reader->json, reader->root, &video, reader->error))
    return FALSE;
  if (video != NULL)
    return hr_reader_found_video (reader, HR_PLACE (video, -1, NULL, -1, NULL));
  if (!hr_media_pool_read (reader->json, reader->root, reader->pool, reader->error)
      || !hr_reader_read_forms (reader))
    return FALSE;
  if (reader->record->left_out)
    return TRUE;
  prepend_image (reader);
  return check_counts (reader) && check_limits (reader);
}

gboolean
hr_record_read (const HrJson *json, guint root, const HrRecordRules *rules, HrRecord *record,
                GError **error)
{
  g_autoptr (GArray) pool = g_array_new (FALSE, FALSE, sizeof (HrMediaRef));
  g_autoptr (JsonObject) conversation = json_object_new ();
  g_autoptr (JsonArray) spare = json_array_new ();
  HrReader reader = { .json = json,
                      .root = root,
                      .rules = rules,
                      .record = record,
                      .error = error,
                      .pool = pool,
                      .spare = spare };
  gboolean good;

  *record = (HrRecord){ NULL, g_ptr_array_new_with_free_func (g_free),
                        g_ptr_array_new_with_free_func (g_free), FALSE };
  reader.turns = json_array_new ();
  json_object_set_array_member (conversation, "turns", reader.turns);
  good = read_record (&reader);
  if (good && !record->left_out)
    record->conversation = json_node_init_object (json_node_alloc (), conversation);
  return good;
}

void
hr_record_clear (HrRecord *record)
{
  g_clear_pointer (&record->conversation, json_node_unref);
  g_clear_pointer (&record->links, g_ptr_array_unref);
  g_clear_pointer (&record->targets, g_ptr_array_unref);
}

char *
hr_record_dup_id (const HrJson *json, guint root)
{
  guint id = hr_json_type (json, root) == HR_JSON_OBJECT ? hr_json_get (json, root, "id") : 0;

  if (id == 0 || (json->values[id].flags & HR_JSON_NUL) != 0)
    return NULL;
  return hr_json_dup_text (json, id);
}
