/* record-media.c: the images of a record: links of its parts, and the pool that placeholders draw
 * on */
#include "record-private.h"
#include "media-link.h"
#include <string.h>

static HrPlace
inside (const HrPlace *place, const char *member)
{
  HrPlace deeper = *place;

  if (deeper.key == NULL && deeper.part < 0)
    deeper.key = member;
  else
    deeper.member = member;
  return deeper;
}

static gboolean
is_data_text (const char *text)
{
  return g_ascii_strncasecmp (text, "data:", 5) == 0;
}

static gboolean
is_data_link (const HrJson *json, guint value)
{
  const HrJsonValue *v = &json->values[value];

  return v->end - v->start >= 5 && is_data_text (json->text + v->start);
}

gboolean
hr_media_ref_read (const HrJson *json, guint value, const HrPlace *place, HrMediaRef *ref,
                   GError **error)
{
  static const char *const members[] = { "bytes", "base64", "path", "url" };

  *ref = (HrMediaRef){ 0, 0 };
  if (hr_json_type (json, value) != HR_JSON_OBJECT) {
    ref->link = value;
    if (hr_json_type (json, value) != HR_JSON_STRING)
      return hr_record_fail_type (json, value, place, "a link", error);
    return hr_record_check_text (json, value, place, error);
  }
  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    guint member = hr_json_get (json, value, members[i]);
    HrPlace deeper = inside (place, members[i]);

    if (member == 0)
      continue;
    if (!hr_record_check_text (json, member, &deeper, error))
      return FALSE;
    if (i < 2 && !is_data_link (json, member)) {
      if (ref->bytes == 0)
        ref->bytes = member;
    } else if (ref->link == 0) {
      ref->link = member;
    }
  }
  if (ref->link == 0 && ref->bytes == 0) {
    g_autofree char *name = hr_place_name (place);

    hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "%s has none of path, url and bytes", name);
    return FALSE;
  }
  return TRUE;
}

void
hr_media_ref_append (const HrJson *json, const HrMediaRef *ref, HrRecord *record)
{
  g_autofree char *link = ref->link != 0 ? hr_json_dup_string (json, ref->link, NULL) : NULL;
  char *target;

  if (ref->bytes != 0) {
    g_autofree char *base64 = hr_json_dup_string (json, ref->bytes, NULL);

    target = g_strconcat ("data:application/octet-stream;base64,", base64, NULL);
  } else {
    target = g_steal_pointer (&link);
  }
  if (link == NULL || is_data_text (link)) {
    g_free (link);
    link = is_data_text (target) ? hr_media_link_shorten (target) : g_strdup (target);
  }
  if (strstr (link, "://") != NULL) { /* it is for messages; what is fetched is the target */
    char *shown = hr_media_link_hide_secrets (link);

    g_free (link);
    link = shown;
  }
  g_ptr_array_add (record->links, g_steal_pointer (&link));
  g_ptr_array_add (record->targets, target);
}

/* the one of two fields that a record has: 0 if none */
static gboolean
one_of (const HrJson *json, guint root, const char *const names[2], guint *value, const char **name,
        GError **error)
{
  guint first = hr_json_get (json, root, names[0]), second = hr_json_get (json, root, names[1]);

  *value = first != 0 ? first : second;
  *name = first != 0 ? names[0] : names[1];
  if (first != 0 && second != 0) {
    hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD,
                       "the record has both \"%s\" and \"%s\"; which one counts is not said",
                       names[0], names[1]);
    return FALSE;
  }
  return TRUE;
}

gboolean
hr_media_pool_read (const HrJson *json, guint root, GArray *pool, GError **error)
{
  static const char *const names[2] = { "image", "images" };
  const char *name;
  guint value;
  HrMediaRef ref;
  int index = 0;

  if (!one_of (json, root, names, &value, &name, error))
    return FALSE;
  if (value == 0)
    return TRUE;
  if (hr_json_type (json, value) != HR_JSON_ARRAY) {
    if (!hr_media_ref_read (json, value, HR_PLACE (name, -1, NULL, -1, NULL), &ref, error))
      return FALSE;
    g_array_append_val (pool, ref);
    return TRUE;
  }
  for (guint i = hr_json_first (json, value); i != 0; i = hr_json_next (json, value, i), index++) {
    if (!hr_media_ref_read (json, i, HR_PLACE (name, index, NULL, -1, NULL), &ref, error))
      return FALSE;
    g_array_append_val (pool, ref);
  }
  return TRUE;
}

gboolean
hr_media_find_video (const HrJson *json, guint root, const char **field, GError **error)
{
  static const char *const names[2] = { "video", "videos" };
  guint value;

  if (!one_of (json, root, names, &value, field, error))
    return FALSE;
  if (value == 0
      || (hr_json_type (json, value) == HR_JSON_ARRAY && hr_json_first (json, value) == 0))
    *field = NULL;
  else if (hr_json_type (json, value) < HR_JSON_STRING)
    return hr_record_fail_type (json, value, HR_PLACE (*field, -1, NULL, -1, NULL),
                                "a link or list", error);
  return TRUE;
}
