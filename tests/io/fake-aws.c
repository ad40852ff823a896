/* fake-aws.c: the services that give keys, on the fake server */
#include "fake-aws.h"
#include "hr-error.h"
#include <glib/gstdio.h>
#include <string.h>

char *fake_aws_home;

void
fake_aws_begin (void)
{
  fake_aws_home = g_dir_make_tmp ("headrace-keys-XXXXXX", NULL);
  g_setenv ("HOME", fake_aws_home, TRUE);
}

void
fake_aws_end (void)
{
  g_autofree char *config = g_build_filename (fake_aws_home, "config", NULL);

  g_remove (config);
  g_rmdir (fake_aws_home);
  g_clear_pointer (&fake_aws_home, g_free);
}

void
fake_aws_clear_env (void)
{
  g_auto (GStrv) names = g_listenv ();
  g_autofree char *config = g_build_filename (fake_aws_home, "config", NULL);

  for (char **name = names; *name; name++)
    if (g_str_has_prefix (*name, "AWS_"))
      g_unsetenv (*name);
  g_remove (config);
  g_setenv ("AWS_CONFIG_FILE", config, TRUE);
  g_setenv ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", TRUE);
  g_setenv ("AWS_EC2_METADATA_DISABLED", "true", TRUE);
}

void
fake_aws_set_config (const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_assert_true (g_file_set_contents (g_getenv ("AWS_CONFIG_FILE"), text, -1, NULL));
}

static char *
show_time (gint64 after, const char *format)
{
  g_autoptr (GDateTime) time =
      g_date_time_new_from_unix_utc (g_get_real_time () / G_USEC_PER_SEC + after);

  return g_date_time_format (time, format);
}

/* as the service does: what is signed at another time than its own, give or take five minutes */
static gboolean
refuses_time (const FakeAws *aws, const FakeRequest *request, FakeReply *reply)
{
  g_autofree char *date = show_time (aws->ahead, "%a, %d %b %Y %H:%M:%S GMT");
  g_autofree char *stamp = fake_request_get_header (request, "x-amz-date");
  g_autofree char *first = show_time (aws->ahead - 300, "%Y%m%dT%H%M%SZ");
  g_autofree char *last = show_time (aws->ahead + 300, "%Y%m%dT%H%M%SZ");

  if (aws->ahead == 0)
    return FALSE;
  fake_reply_add_header (reply, "Date", date);
  if (!stamp || (strcmp (stamp, first) >= 0 && strcmp (stamp, last) <= 0))
    return FALSE;
  reply->status = 403;
  fake_reply_set_text (reply, "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>"
                              "Signature expired</Message></Error></ErrorResponse>");
  return TRUE;
}

static void
answer_keys (FakeAws *aws, FakeReply *reply, gboolean xml)
{
  g_autofree char *expiration = show_time (aws->lifetime + aws->ahead, "%Y-%m-%dT%H:%M:%SZ"),
                  *text = NULL, *more = NULL;
  guint n = ++aws->n_keys;

  if (xml) {
    text =
        g_strdup_printf ("<R><Credentials><AccessKeyId>KEY%u</AccessKeyId><SecretAccessKey>SECRET%u"
                         "</SecretAccessKey><SessionToken>TOKEN%u</SessionToken><Expiration>%s"
                         "</Expiration></Credentials></R>",
                         n, n, n, expiration);
  } else {
    more = aws->lifetime ? g_strdup_printf (",\"Expiration\":\"%s\"", expiration) : g_strdup ("");
    text = g_strdup_printf (
        "{\"AccessKeyId\":\"KEY%u\",\"SecretAccessKey\":\"SECRET%u\",\"Token\":\"TOKEN%u\"%s}", n,
        n, n, more);
  }
  fake_reply_set_text (reply, text);
}

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  FakeAws *aws = data;

  g_atomic_int_inc (&aws->n_asked);
  hr_mutex_lock (&aws->gate);
  g_free (aws->last_head);
  aws->last_head = g_strdup (request->head);
  if (aws->stall)
    reply->end = FAKE_STALL, reply->length = 60000;
  if (refuses_time (aws, request, reply)) {
    /* that is the answer */
  } else if (aws->status || aws->body) {
    reply->status = aws->status ? aws->status : 200;
    fake_reply_set_text (reply, aws->body ? aws->body : "");
  } else if (strcmp (request->target, "/latest/api/token") == 0) {
    fake_reply_set_text (reply, "SESSION");
  } else if (g_str_has_suffix (request->target, "/security-credentials/")) {
    fake_reply_set_text (reply, "role-a\nrole-b");
  } else {
    answer_keys (aws, reply, strcmp (request->method, "POST") == 0);
  }
  hr_mutex_unlock (&aws->gate);
}

FakeAws *
fake_aws_new (void)
{
  FakeAws *aws = g_new0 (FakeAws, 1);

  fake_aws_clear_env ();
  aws->lifetime = 3600;
  hr_mutex_init (&aws->gate);
  aws->server = fake_server_new (answer, aws);
  return aws;
}

void
fake_aws_free (FakeAws *aws)
{
  fake_server_free (aws->server);
  hr_mutex_clear (&aws->gate);
  g_free (aws->last_head);
  g_free (aws);
}

guint
fake_aws_get_n_keys (FakeAws *aws)
{
  guint n;

  hr_mutex_lock (&aws->gate);
  n = aws->n_keys;
  hr_mutex_unlock (&aws->gate);
  return n;
}

void
fake_aws_check_head (FakeAws *aws, const char *line)
{
  hr_mutex_lock (&aws->gate);
  g_assert_nonnull (strstr (aws->last_head, line));
  hr_mutex_unlock (&aws->gate);
}

void
fake_aws_use_container (FakeAws *aws)
{
  g_autofree char *url = g_strconcat (fake_server_get_url (aws->server), "/keys", NULL);

  g_setenv ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, TRUE);
}

HrS3Credentials *
fake_aws_use (void)
{
  g_autoptr (GError) error = NULL;
  HrS3Source *source = hr_s3_source_find (NULL, "eu-west-1", &error);

  g_assert_no_error (error);
  return hr_s3_credentials_use (source);
}

/* waits for keys; NULL with an error */
char *
fake_aws_get_key (HrS3Credentials *credentials, GError **error)
{
  GError *failure = NULL;
  g_auto (HrS3Keys) keys = { 0 };
  guint state;

  while (!hr_s3_credentials_get (credentials, &keys, &state, &failure)) {
    if (failure) {
      g_propagate_error (error, failure);
      return NULL;
    }
    g_usleep (1000);
  }
  return g_steal_pointer (&keys.access_key);
}

void
fake_aws_check_key (HrS3Credentials *credentials, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *key = fake_aws_get_key (credentials, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (key, ==, expected);
}

/* until a renewal in the background is done */
void
fake_aws_wait_for_state (HrS3Credentials *credentials, guint state)
{
  while (hr_s3_credentials_get_state (credentials) != state)
    g_usleep (1000);
}

void
fake_aws_check_fetch (const char *words)
{
  g_autoptr (GError) error = NULL;
  HrS3Credentials *credentials = fake_aws_use ();
  g_autofree char *key = fake_aws_get_key (credentials, &error);

  hr_s3_credentials_leave (credentials);
  g_assert_null (key);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  if (!strstr (error->message, words))
    g_error ("no \"%s\" in: %s", words, error->message);
  g_assert_null (strstr (error->message, "CANARY"));
}

void
fake_aws_set_role (FakeAws *aws)
{
  g_setenv ("AWS_ENDPOINT_URL_STS", fake_server_get_url (aws->server), TRUE);
  fake_aws_set_config (
      "[default]\nrole_arn=arn:aws:iam::1:role/x\nsource_profile=keys\n[profile keys]\n"
      "aws_access_key_id=K\naws_secret_access_key=CANARY\n");
}
