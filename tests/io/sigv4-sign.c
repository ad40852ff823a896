/* sigv4-sign.c: signs what standard input says, a JSON object a line, for check-sigv4.py */
#include "s3-config.h"
#include "sigv4.h"
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

static const char *
get (JsonObject *object, const char *name)
{
  return json_object_get_string_member_with_default (object, name, NULL);
}

static char *
get_query (JsonObject *object)
{
  JsonArray *pairs = json_object_get_array_member (object, "query");
  guint n = json_array_get_length (pairs);
  g_autofree HrQueryParam *params = g_new0 (HrQueryParam, n + 1);

  for (guint i = 0; i < n; i++) {
    JsonArray *pair = json_array_get_array_element (pairs, i);

    params[i].name = json_array_get_string_element (pair, 0);
    params[i].value = json_array_get_string_element (pair, 1);
  }
  return hr_sigv4_query (params, n);
}

static GPtrArray *
get_headers (JsonObject *object)
{
  JsonArray *lines = json_object_get_array_member (object, "headers");
  GPtrArray *headers = g_ptr_array_new ();

  for (guint i = 0; i < json_array_get_length (lines); i++)
    g_ptr_array_add (headers, (gpointer)json_array_get_string_element (lines, i));
  g_ptr_array_add (headers, NULL);
  return headers;
}

static void
answer (HrSigv4Keys *keys, JsonObject *object)
{
  HrS3Settings settings = { .endpoint = get (object, "endpoint"),
                            .no_sign_request = TRUE,
                            .region = get (object, "region"),
                            .addressing = strcmp (get (object, "addressing"), "path") == 0
                                              ? HR_S3_ADDRESSING_PATH
                                              : HR_S3_ADDRESSING_VIRTUAL };
  g_autoptr (HrS3Config) config = hr_s3_config_new (&settings, NULL);
  g_auto (HrS3Place) place = { 0 };
  g_autofree char *query = get_query (object);
  g_autoptr (GPtrArray) headers = get_headers (object), lines = g_ptr_array_new ();
  HrSigv4Signature details = { 0 };
  HrSigv4Request request;

  g_ptr_array_set_free_func (lines, g_free);
  hr_s3_config_locate (config, get (object, "bucket"), get (object, "key"), query, &place);
  request = (HrSigv4Request){ .access_key = get (object, "access_key"),
                              .secret_key = get (object, "secret_key"),
                              .session_token = get (object, "token"),
                              .region = settings.region,
                              .service = "s3",
                              .method = get (object, "method"),
                              .host = place.host,
                              .path = place.path,
                              .query = query,
                              .headers = (const char *const *)headers->pdata,
                              .payload_hash = HR_SIGV4_EMPTY,
                              .sign_payload_hash = TRUE,
                              .time = json_object_get_int_member (object, "time") };
  hr_sigv4_sign (keys, &request, lines, &details);
  printf ("%s %s\n", place.url, details.signature);
  hr_sigv4_signature_clear (&details);
}

int
main (void)
{
  g_autoptr (HrSigv4Keys) keys = hr_sigv4_keys_new ();
  g_autofree char *line = NULL;
  size_t room = 0;

  while (getline (&line, &room, stdin) > 0) {
    g_autoptr (JsonNode) node = json_from_string (line, NULL);

    if (!node)
      return 1;
    answer (keys, json_node_get_object (node));
  }
  return 0;
}
