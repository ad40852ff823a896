/* s3-who.c: tells where the S3 credentials of this environment come from: one line of JSON.
 * usage: s3-who REGION [PROFILE] */
#include "s3-source.h"
#include <json-glib/json-glib.h>

static void
add (JsonBuilder *into, const char *name, const char *value)
{
  json_builder_set_member_name (into, name);
  if (value)
    json_builder_add_string_value (into, value);
  else
    json_builder_add_null_value (into);
}

int
main (int argc, char **argv)
{
  g_autoptr (JsonBuilder) into = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_auto (HrS3Keys) keys = { 0 };
  HrS3Source *source;

  if (argc < 2)
    return 2;
  source = hr_s3_source_find (argc > 2 ? argv[2] : NULL, argv[1], &error);
  json_builder_begin_object (into);
  add (into, "method", source ? source->method : NULL);
  if (source && hr_s3_source_fetch (source, -1, &keys, &error)) {
    add (into, "access_key", keys.access_key);
    add (into, "secret_key", keys.secret_key);
    add (into, "token", keys.session_token);
  }
  add (into, "error", error ? error->message : NULL);
  json_builder_end_object (into);
  root = json_builder_get_root (into);
  text = json_to_string (root, FALSE);
  g_print ("%s\n", text);
  if (source)
    hr_s3_source_free (source);
  return 0;
}
