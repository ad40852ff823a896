/* s3-sts.c: keys of a role, from the security token service */
#include "s3-sts.h"
#include "hr-error.h"
#include "s3-ask.h"
#include "s3-endpoint.h"
#include "s3-xml.h"
#include "sigv4.h"
#include <string.h>

#define VERSION "2011-06-15"
#define TIMEOUT (10 * G_GINT64_CONSTANT (1000000000))
#define TRIES 5
#define FORM_TYPE "application/x-www-form-urlencoded; charset=utf-8"
#define MAX_DEPTH 16
#define MAX_TOKEN 20000 /* what the service takes */

/* ---- the answer ---- */

typedef struct {
  HrS3Xml xml;
  HrS3StsAnswer *answer;
  char *parents[MAX_DEPTH];
  guint depth;
} Reader;

static void
on_start (GMarkupParseContext *context G_GNUC_UNUSED, const char *element,
          const char **names G_GNUC_UNUSED, const char **values G_GNUC_UNUSED, gpointer data,
          GError **error)
{
  Reader *reader = data;

  if (reader->depth == MAX_DEPTH)
    g_set_error (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "too deep");
  else
    reader->parents[reader->depth++] = g_strdup (element);
  g_string_truncate (reader->xml.text, 0);
}

static void
take_key (HrS3Keys *keys, const char *element, const char *value)
{
  if (strcmp (element, "AccessKeyId") == 0)
    hr_s3_xml_take (&keys->access_key, value);
  else if (strcmp (element, "SecretAccessKey") == 0)
    hr_s3_xml_take (&keys->secret_key, value);
  else if (strcmp (element, "SessionToken") == 0)
    hr_s3_xml_take (&keys->session_token, value);
  else if (strcmp (element, "Expiration") == 0)
    keys->expires = hr_s3_keys_time (value);
}

static void
on_end (GMarkupParseContext *context G_GNUC_UNUSED, const char *element, gpointer data,
        GError **error G_GNUC_UNUSED)
{
  Reader *reader = data;
  const char *parent = reader->depth > 1 ? reader->parents[reader->depth - 2] : "";
  const char *value = g_strstrip (reader->xml.text->str);

  if (strcmp (parent, "Credentials") == 0)
    take_key (&reader->answer->keys, element, value);
  else if (strcmp (parent, "Error") == 0 && strcmp (element, "Code") == 0)
    hr_s3_xml_take (&reader->answer->code, value);
  else if (strcmp (parent, "Error") == 0 && strcmp (element, "Message") == 0)
    hr_s3_xml_take (&reader->answer->message, value);
  g_string_truncate (reader->xml.text, 0);
  g_free (reader->parents[--reader->depth]);
}

gboolean
hr_s3_sts_parse (HrS3StsAnswer *answer, const char *text, gsize size)
{
  static const GMarkupParser parser = { on_start, on_end, hr_s3_xml_on_text, NULL, NULL };
  g_autoptr (GString) buffer = g_string_new (NULL);
  Reader reader = { .answer = answer, .xml = { buffer } };
  g_autoptr (GMarkupParseContext) context = NULL;
  gboolean whole;

  *answer = (HrS3StsAnswer){ 0 };
  context = g_markup_parse_context_new (&parser, 0, &reader, NULL);
  whole = g_markup_parse_context_parse (context, text, size, NULL)
          && g_markup_parse_context_end_parse (context, NULL);
  while (reader.depth > 0)
    g_free (reader.parents[--reader.depth]);
  if (!whole)
    hr_s3_sts_answer_clear (answer);
  return whole;
}

void
hr_s3_sts_answer_clear (HrS3StsAnswer *answer)
{
  hr_s3_keys_clear (&answer->keys);
  g_clear_pointer (&answer->code, g_free);
  g_clear_pointer (&answer->message, g_free);
}

/* ---- the request ---- */

static void
explain (const char *text, gsize size, GString *words, HrRetry *retry)
{
  g_auto (HrS3StsAnswer) answer = { 0 };

  if (!hr_s3_sts_parse (&answer, text, size) || !answer.code)
    return;
  g_string_append_printf (words, " %s", answer.code);
  if (answer.message)
    g_string_append_printf (words, ": %s", answer.message);
  if (strcmp (answer.code, "Throttling") == 0)
    *retry = HR_RETRY_THROTTLED;
  else if (strcmp (answer.code, "IDPCommunicationError") == 0)
    *retry = HR_RETRY_SOON;
}

static void
add_param (GString *form, const char *name, const char *value)
{
  if (!value)
    return;
  g_string_append_printf (form, "&%s=", name);
  hr_uri_encode (form, value, -1, FALSE);
}

static GString *
new_form (const HrS3Source *source, const char *action)
{
  GString *form = g_string_new (NULL);
  g_autofree char *made_up =
      g_strdup_printf ("headrace-%" G_GINT64_FORMAT, g_get_real_time () / G_USEC_PER_SEC);

  g_string_printf (form, "Action=%s&Version=" VERSION, action);
  add_param (form, "RoleArn", source->role_arn);
  add_param (form, "RoleSessionName", source->session_name ? source->session_name : made_up);
  return form;
}

static gboolean
take_answer (const GString *text, HrS3Keys *keys, GError **error)
{
  g_auto (HrS3StsAnswer) answer = { 0 };

  if (!hr_s3_sts_parse (&answer, text->str, text->len)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the answer is no whole XML document");
    return FALSE;
  }
  if (!hr_s3_keys_check (&answer.keys, error))
    return FALSE;
  if (answer.keys.expires <= 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the answer has no Expiration");
    return FALSE;
  }
  *keys = answer.keys;
  answer.keys = (HrS3Keys){ 0 };
  return TRUE;
}

typedef struct {
  const HrS3Source *source;
  const HrS3Keys *keys;
  const GString *form;
} Signer;

static gboolean
sign (gconstpointer data, gint64 time, GPtrArray *headers, GError **error)
{
  static const char *const signed_lines[] = { "content-type:" FORM_TYPE, NULL };
  const Signer *signer = data;
  g_autofree char *hash =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, signer->form->str, signer->form->len);
  g_autofree char *path = NULL;
  g_auto (HrS3Endpoint) endpoint = { 0 };
  HrSigv4Request request;

  if (!hr_s3_endpoint_parse (&endpoint, signer->source->url, error))
    return FALSE;
  path = g_strconcat (endpoint.base, "/", NULL);
  request = (HrSigv4Request){ .access_key = signer->keys->access_key,
                              .secret_key = signer->keys->secret_key,
                              .session_token = signer->keys->session_token,
                              .region = signer->source->region,
                              .service = "sts",
                              .method = "POST",
                              .host = endpoint.host,
                              .path = path,
                              .query = "",
                              .headers = signed_lines,
                              .payload_hash = hash,
                              .time = time };
  hr_sigv4_sign (NULL, &request, headers, NULL);
  return TRUE;
}

/* @signer: (nullable) */
static gboolean
call (const HrS3Source *source, const char *action, const GString *form, const Signer *signer,
      const HrS3Keys *secrets, int wake_fd, HrS3Keys *keys, GError **error)
{
  static const char *const headers[] = { "Content-Type: " FORM_TYPE, NULL };
  g_autofree char *name =
      g_strdup_printf ("STS %s of %s at %s", action, source->role_arn, source->url);
  HrServerClock clock = { 0 };
  HrS3Ask ask = { .name = name,
                  .url = source->url,
                  .form = form->str,
                  .headers = headers,
                  .sign = signer ? sign : NULL,
                  .sign_data = signer,
                  .clock = &clock,
                  .secrets = secrets,
                  .ca_bundle = source->ca_bundle,
                  .timeout = TIMEOUT,
                  .tries = TRIES,
                  .explain = explain };
  g_autoptr (GString) answer = hr_s3_ask (&ask, wake_fd, NULL, error);

  if (!answer)
    return FALSE;
  if (!take_answer (answer, keys, error)) {
    g_prefix_error (error, "%s: ", name);
    return FALSE;
  }
  keys->expires -= clock.skew; /* by our clock */
  return TRUE;
}

gboolean
hr_s3_sts_assume (const HrS3Source *source, const HrS3Keys *signer, int wake_fd, HrS3Keys *keys,
                  GError **error)
{
  g_autoptr (GString) form = new_form (source, "AssumeRole");
  const Signer by = { source, signer, form };

  add_param (form, "ExternalId", source->external_id);
  add_param (form, "DurationSeconds", source->duration);
  return call (source, "AssumeRole", form, &by, signer, wake_fd, keys, error);
}

gboolean
hr_s3_sts_assume_with_token (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error)
{
  g_autoptr (GString) form = new_form (source, "AssumeRoleWithWebIdentity");
  g_autofree char *token = NULL;
  g_autoptr (GError) failure = NULL;
  HrS3Keys secrets = { 0 };
  gsize length;

  /* read anew each time: whoever wrote it replaces it before it expires */
  if (!g_file_get_contents (source->token_file, &token, &length, &failure)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "web identity token: %s",
                 failure->message);
    return FALSE;
  }
  if (length == 0 || length > MAX_TOKEN || strlen (token) != length) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the web identity token in %s is none: %" G_GSIZE_FORMAT " bytes",
                 source->token_file, length);
    return FALSE;
  }
  add_param (form, "WebIdentityToken", token);
  secrets.session_token = token;
  return call (source, "AssumeRoleWithWebIdentity", form, NULL, &secrets, wake_fd, keys, error);
}
