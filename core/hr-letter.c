/* hr-letter.c */
#include "hr-letter.h"
#include "hr-error.h"
#include "hr-json.h"
#include "hr-ref.h"
#include <string.h>

/* nobody knows yet who failed */
HrLetter *
hr_letter_new (void)
{
  HrLetter *letter = g_new0 (HrLetter, 1);

  letter->ref_count = 1;
  letter->index = -1;
  letter->kind = HR_DATA_ERROR_OTHER;
  return letter;
}

HrLetter *
hr_letter_ref (HrLetter *letter)
{
  hr_ref_inc (&letter->ref_count);
  return letter;
}

void
hr_letter_unref (HrLetter *letter)
{
  if (letter == NULL || !hr_ref_dec (&letter->ref_count))
    return;
  g_free (letter->name);
  g_free (letter->image);
  g_free (letter->what);
  g_free (letter->message);
  hr_origin_unref (letter->origin);
  g_free (letter);
}

/* ---- as a line ---- */

/* user and password in front of the host */
static const char *
skip_user (const char *host)
{
  gsize length = strcspn (host, "/?# \t\"'<>");
  const char *at = g_strrstr_len (host, (gssize)length, "@");

  return at != NULL ? at + 1 : host;
}

/* Links of the web carry names, passwords and signatures: those are left out. */
static char *
hide_secrets (const char *text)
{
  GString *shown = g_string_new (NULL);
  const char *web;

  while ((web = strstr (text, "://")) != NULL) {
    gsize rest;

    g_string_append_len (shown, text, web + 3 - text);
    text = skip_user (web + 3);
    if (!g_str_has_suffix (shown->str, "http://") && !g_str_has_suffix (shown->str, "https://"))
      continue;
    rest = strcspn (text, "?# \t\"'<>");
    g_string_append_len (shown, text, (gssize)rest);
    text += rest;
    if (*text == '?' || *text == '#') {
      g_string_append_c (shown, *text);
      g_string_append (shown, "…");
      text += strcspn (text, " \t\"'<>");
    }
  }
  g_string_append (shown, text);
  return g_string_free (shown, FALSE);
}

static void
add_plain (JsonBuilder *into, const char *name, const char *text)
{
  json_builder_set_member_name (into, name);
  if (text != NULL)
    json_builder_add_string_value (into, text);
  else
    json_builder_add_null_value (into);
}

/* NULL stays null; text that is no UTF-8 cannot stand in JSON as it is */
static void
add_text (JsonBuilder *into, const char *name, const char *text)
{
  g_autofree char *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;
  g_autofree char *shown = valid != NULL ? hide_secrets (valid) : NULL;

  add_plain (into, name, shown);
}

static void
add_number (JsonBuilder *into, const char *name, gint64 number)
{
  json_builder_set_member_name (into, name);
  if (number >= 0)
    json_builder_add_int_value (into, number);
  else
    json_builder_add_null_value (into);
}

/* what can be read again is told exactly; a file name of any bytes by a URI */
static void
add_uri (JsonBuilder *into, const char *name, const char *uri)
{
  g_autofree char *escaped = NULL;

  if (uri == NULL || g_str_has_prefix (uri, "http")) {
    add_text (into, name, uri);
    return;
  }
  if (!g_utf8_validate (uri, -1, NULL))
    escaped = g_filename_to_uri (uri, NULL, NULL);
  add_plain (into, name, escaped != NULL ? escaped : uri);
}

/* an image inside its link is not repeated */
static char *
show_link (const char *link)
{
  gsize length;

  if (link == NULL || !g_str_has_prefix (link, "data:"))
    return g_strdup (link);
  length = strcspn (link, ",");
  return g_strdup_printf ("%.*s,…", (int)MIN (length, 100), link);
}

char *
hr_letter_to_json (const HrLetter *letter, const HrBuffer *sample, const HrObject *object)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autoptr (JsonNode) node = NULL;
  const HrOrigin *origin = letter->origin;
  g_autofree char *image = show_link (letter->image), *line = NULL;

  json_builder_begin_object (into);
  add_uri (into, "uri", origin != NULL ? origin->uri : NULL);
  add_number (into, "byte", origin != NULL ? origin->byte : -1);
  add_number (into, "length", origin != NULL ? origin->length : -1);
  add_number (into, "line", origin != NULL ? origin->line : -1);
  add_text (into, "id", origin != NULL ? origin->id : NULL);
  add_text (into, "image", image);
  add_number (into, "image_index", letter->index);
  add_text (into, "element", letter->name);
  add_text (into, "kind", hr_data_error_kind (letter->kind));
  add_text (into, "message", letter->what);
  add_number (into, "epoch", sample->place >= 0 ? (gint64)sample->epoch : -1);
  add_number (into, "place", sample->place);
  add_number (into, "sample", sample->sample);
  add_number (into, "size", object != NULL ? hr_object_get_bytes (object) : -1);
  add_text (into, "identity", object != NULL ? object->etag : NULL);
  add_uri (into, "root", origin != NULL ? origin->root : NULL);
  json_builder_end_object (into);
  node = json_builder_get_root (into);
  line = hr_json_write (node, FALSE);
  return g_strconcat (line, "\n", NULL);
}
