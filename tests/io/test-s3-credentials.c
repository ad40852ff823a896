/* test-s3-credentials.c: keys from services and programs, renewed in time, and what goes wrong */
#include "fake-s3.h"
#include "hr-error.h"
#include "hr-sync.h"
#include "http-wait.h"
#include "s3-container.h"
#include "s3-credentials.h"
#include "s3-endpoint.h"
#include "s3-request.h"
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* what the services answer */
typedef struct {
  FakeServer *server;
  gint n_asked;    /* requests */
  guint n_keys;    /* answers that held keys */
  gint64 lifetime; /* seconds; 0: for ever */
  guint status;
  const char *body; /* instead of keys */
  gboolean stall;
  HrMutex gate; /* whoever holds it holds the answers back */
  char *last_head;
} Services;

static char *home;

static void
clear_env (void)
{
  g_auto (GStrv) names = g_listenv ();
  g_autofree char *config = g_build_filename (home, "config", NULL);

  for (char **name = names; *name; name++)
    if (g_str_has_prefix (*name, "AWS_"))
      g_unsetenv (*name);
  g_remove (config);
  g_setenv ("AWS_CONFIG_FILE", config, TRUE);
  g_setenv ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", TRUE);
  g_setenv ("AWS_EC2_METADATA_DISABLED", "true", TRUE);
}

static void
set_config (const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_assert_true (g_file_set_contents (g_getenv ("AWS_CONFIG_FILE"), text, -1, NULL));
}

static char *
make_expiration (gint64 lifetime)
{
  g_autoptr (GDateTime) time =
      g_date_time_new_from_unix_utc (g_get_real_time () / G_USEC_PER_SEC + lifetime);

  return g_date_time_format (time, "%Y-%m-%dT%H:%M:%SZ");
}

static void
answer_keys (Services *services, FakeReply *reply, gboolean xml)
{
  g_autofree char *expiration = make_expiration (services->lifetime), *text = NULL, *more = NULL;
  guint n = ++services->n_keys;

  if (xml) {
    text =
        g_strdup_printf ("<R><Credentials><AccessKeyId>KEY%u</AccessKeyId><SecretAccessKey>SECRET%u"
                         "</SecretAccessKey><SessionToken>TOKEN%u</SessionToken><Expiration>%s"
                         "</Expiration></Credentials></R>",
                         n, n, n, expiration);
  } else {
    more =
        services->lifetime ? g_strdup_printf (",\"Expiration\":\"%s\"", expiration) : g_strdup ("");
    text = g_strdup_printf (
        "{\"AccessKeyId\":\"KEY%u\",\"SecretAccessKey\":\"SECRET%u\",\"Token\":\"TOKEN%u\"%s}", n,
        n, n, more);
  }
  fake_reply_set_text (reply, text);
}

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Services *services = data;

  g_atomic_int_inc (&services->n_asked);
  hr_mutex_lock (&services->gate);
  g_free (services->last_head);
  services->last_head = g_strdup (request->head);
  if (services->stall)
    reply->end = FAKE_STALL, reply->length = 60000;
  if (services->status || services->body) {
    reply->status = services->status ? services->status : 200;
    fake_reply_set_text (reply, services->body ? services->body : "");
  } else if (strcmp (request->target, "/latest/api/token") == 0) {
    fake_reply_set_text (reply, "SESSION");
  } else if (g_str_has_suffix (request->target, "/security-credentials/")) {
    fake_reply_set_text (reply, "role-a\nrole-b");
  } else {
    answer_keys (services, reply, strcmp (request->method, "POST") == 0);
  }
  hr_mutex_unlock (&services->gate);
}

static Services *
services_new (void)
{
  Services *services = g_new0 (Services, 1);

  clear_env ();
  services->lifetime = 3600;
  hr_mutex_init (&services->gate);
  services->server = fake_server_new (answer, services);
  return services;
}

static void
services_free (Services *services)
{
  fake_server_free (services->server);
  hr_mutex_clear (&services->gate);
  g_free (services->last_head);
  g_free (services);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Services, services_free)

/* the server's threads read what is set, and write what is got */
#define SET(services, field, value)                                                                \
  G_STMT_START                                                                                     \
  {                                                                                                \
    hr_mutex_lock (&(services)->gate);                                                             \
    (services)->field = (value);                                                                   \
    hr_mutex_unlock (&(services)->gate);                                                           \
  }                                                                                                \
  G_STMT_END

static guint
get_n_keys (Services *services)
{
  guint n;

  hr_mutex_lock (&services->gate);
  n = services->n_keys;
  hr_mutex_unlock (&services->gate);
  return n;
}

static void
check_head (Services *services, const char *line)
{
  hr_mutex_lock (&services->gate);
  g_assert_nonnull (strstr (services->last_head, line));
  hr_mutex_unlock (&services->gate);
}

static void
use_container (Services *services)
{
  g_autofree char *url = g_strconcat (fake_server_get_url (services->server), "/keys", NULL);

  g_setenv ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, TRUE);
}

static HrS3Credentials *
use (void)
{
  g_autoptr (GError) error = NULL;
  HrS3Source *source = hr_s3_source_find (NULL, "eu-west-1", &error);

  g_assert_no_error (error);
  return hr_s3_credentials_use (source);
}

/* waits for keys; NULL with an error */
static char *
get_key (HrS3Credentials *credentials, GError **error)
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

static void
check_key (HrS3Credentials *credentials, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *key = get_key (credentials, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (key, ==, expected);
}

/* until a renewal in the background is done */
static void
wait_for_state (HrS3Credentials *credentials, guint state)
{
  while (hr_s3_credentials_get_state (credentials) != state)
    g_usleep (1000);
}

/* ---- one fetch ---- */

static void
check_fetch (const char *words)
{
  g_autoptr (GError) error = NULL;
  HrS3Credentials *credentials = use ();
  g_autofree char *key = get_key (credentials, &error);

  hr_s3_credentials_leave (credentials);
  g_assert_null (key);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  if (!strstr (error->message, words))
    g_error ("no \"%s\" in: %s", words, error->message);
  g_assert_null (strstr (error->message, "CANARY"));
}

static void
test_instance (void)
{
  g_autoptr (Services) services = services_new ();
  HrS3Credentials *one, *two;

  g_setenv ("AWS_EC2_METADATA_DISABLED", "false", TRUE);
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_server_get_url (services->server), TRUE);
  one = use ();
  two = use ();
  check_key (two, "KEY1");
  check_key (one, "KEY1");
  hr_s3_credentials_leave (one);
  hr_s3_credentials_leave (two);
  /* later users of the process, too */
  one = use ();
  check_key (one, "KEY1");
  hr_s3_credentials_leave (one);
  g_assert_cmpuint (fake_server_get_n_requests (services->server), ==, 3);
  check_head (services, "X-aws-ec2-metadata-token: SESSION\r\n");
}

/* the last place of all has none, or is none */
static void
test_no_instance (void)
{
  g_autoptr (Services) services = services_new ();

  g_setenv ("AWS_EC2_METADATA_DISABLED", "false", TRUE);
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", TRUE);
  check_fetch ("public data needs no-sign-request=true");
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_server_get_url (services->server), TRUE);
  SET (services, status, 404);
  check_fetch ("HTTP 404 Not Found; public data");
  SET (services, status, 200);
  SET (services, body, "CANARY\1");
  check_fetch ("gives a session token that is none");
}

static void
test_proxy_is_passed_by (void)
{
  g_autoptr (Services) services = services_new ();
  HrS3Credentials *credentials;

  /* nobody listens there */
  g_setenv ("http_proxy", "http://127.0.0.1:1", TRUE);
  use_container (services);
  credentials = use ();
  check_key (credentials, "KEY1");
  g_unsetenv ("http_proxy");
  hr_s3_credentials_leave (credentials);
}

/* NULL: what the services were told; else the error */
static void
check_container (Services *services, const char *authorization, const char *words)
{
  g_autoptr (HrS3Source) source = hr_s3_source_find (NULL, "eu-west-1", NULL);
  g_autoptr (GError) error = NULL;
  g_auto (HrS3Keys) keys = { 0 };
  gboolean good = hr_s3_source_fetch (source, -1, &keys, &error);

  if (words) {
    g_assert_false (good);
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
    g_assert_nonnull (strstr (error->message, words));
    g_assert_null (strstr (error->message, "CANARY"));
  } else {
    g_assert_no_error (error);
    check_head (services, authorization);
  }
}

static void
test_container_token (void)
{
  g_autoptr (Services) services = services_new ();
  g_autofree char *file = g_build_filename (home, "token", NULL);

  use_container (services);
  g_setenv ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x", TRUE);
  check_container (services, "Authorization: Basic x\r\n", NULL);
  g_assert_true (g_file_set_contents (file, "from file", -1, NULL));
  g_setenv ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, TRUE);
  check_container (services, "Authorization: from file\r\n", NULL);
  g_assert_true (g_file_set_contents (file, "CANARY\r\nX: y", -1, NULL));
  check_container (services, NULL, "end of line");
  g_remove (file);
  check_container (services, NULL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: ");
}

/* a web identity of the environment is the run's own, not its source profiles' */
static void
test_whose_identity (void)
{
  g_autoptr (HrS3Source) source = NULL;
  g_autoptr (GError) error = NULL;

  clear_env ();
  set_config ("[default]\nrole_arn=r\nsource_profile=keys\n[profile keys]\n"
              "aws_access_key_id=K\naws_secret_access_key=s\n");
  g_setenv ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent", TRUE);
  g_setenv ("AWS_ROLE_ARN", "other", TRUE);
  source = hr_s3_source_find (NULL, "eu-west-1", &error);
  g_assert_no_error (error);
  g_assert_cmpint (source->kind, ==, HR_S3_SOURCE_ROLE);
  g_assert_cmpstr (source->role_arn, ==, "r");
  g_assert_cmpint (source->from->kind, ==, HR_S3_SOURCE_KEYS);
}

/* ---- what is refused ---- */

static void
check_find (const char *profile, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *line = NULL;

  g_assert_null (hr_s3_source_find (profile, "eu-west-1", &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  line = g_strconcat (error->message, "\n", NULL);
  if (!strstr (line, words))
    g_error ("no \"%s\" in: %s", words, error->message);
}

static void
test_refused (void)
{
  clear_env ();
  set_config (
      "[profile a]\nrole_arn=r\nsource_profile=b\n[profile b]\nrole_arn=r\nsource_profile=c\n"
      "[profile c]\nrole_arn=r\nsource_profile=a\n[profile self]\nrole_arn=r\n"
      "source_profile=self\n[profile mfa]\nrole_arn=r\nsource_profile=keys\nmfa_serial=m\n"
      "[profile keys]\naws_access_key_id=K\naws_secret_access_key=s\n[profile both]\n"
      "role_arn=r\nsource_profile=keys\ncredential_source=Environment\n[profile alone]\n"
      "role_arn=r\n[profile moon]\nrole_arn=r\ncredential_source=Moon\n[profile sso]\n"
      "sso_account_id=1\nsso_role_name=r\n[profile lost]\nrole_arn=r\nsource_profile=nobody\n"
      "[profile login]\nlogin_session=x\n[profile empty]\nrole_arn=r\nsource_profile=plain\n"
      "[profile plain]\nregion=x\n[profile token]\nweb_identity_token_file=/t\n");
  check_find ("a", "in a circle: a → b → c → a\n");
  check_find ("self", "in a circle: self → self\n");
  check_find ("mfa", "export-credentials --profile mfa");
  check_find ("both", "both source_profile and credential_source");
  check_find ("alone", "no source_profile, credential_source or");
  check_find ("moon", "Environment, EcsContainer or Ec2InstanceMetadata");
  check_find ("sso", "aws sso login --profile sso");
  check_find ("login", "aws login --profile login");
  check_find ("lost", "source_profile = nobody, and there is no such profile");
  check_find ("empty", "source_profile = plain, which has no credentials");
  check_find ("token", "role_arn in profile \"token\"");
  g_setenv ("AWS_ACCESS_KEY_ID", "K\n", TRUE);
  g_setenv ("AWS_SECRET_ACCESS_KEY", "s", TRUE);
  check_find (NULL, "control character");
}

static void
test_container_hosts (void)
{
  static const char *const good[] = { "http://127.0.0.1/x",      "http://127.3.2.1:80/",
                                      "http://[::1]/",           "http://localhost:1/x",
                                      "http://169.254.170.2/x",  "http://169.254.170.23/",
                                      "http://[fd00:ec2::23]/x", "https://keys.test/x" };
  static const char *const bad[] = { "http://169.254.170.3/x",
                                     "http://keys.test/",
                                     "http://127.0.0.1.keys.test/",
                                     "http://127.0.0.1@keys.test/",
                                     "ftp://127.0.0.1/",
                                     "127.0.0.1/x",
                                     "http://",
                                     "file:///etc/passwd" };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    g_assert_true (hr_s3_container_check (good[i], &error));
    g_assert_no_error (error);
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    g_assert_false (hr_s3_container_check (bad[i], &error));
    g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
    g_clear_error (&error);
  }
}

static void
test_process (void)
{
  clear_env ();
  set_config (
      "[default]\ncredential_process = sh -c 'echo first >&2; echo \"not today\" >&2; exit 7'\n");
  check_fetch ("credential_process sh: exit status 7; it says: first not today");
  set_config ("[default]\ncredential_process = sh -c 'kill -9 $$'\n");
  check_fetch ("killed by signal 9; it says nothing");
  set_config ("[default]\ncredential_process = /nonexistent/program\n");
  check_fetch ("/nonexistent/program");
  set_config ("[default]\ncredential_process = sh -c 'unfinished\n");
  check_fetch ("credential_process: ");
  set_config ("[default]\ncredential_process = echo CANARY\n");
  check_fetch ("is no JSON object");
  set_config (
      "[default]\ncredential_process = echo '{\"Version\":2,\"AccessKeyId\":\"CANARY\"}'\n");
  check_fetch ("no \"Version\": 1");
  set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\"}'\n");
  check_fetch ("no \"SecretAccessKey\"");
  set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
              "\"SecretAccessKey\":\"CANARY\",\"Expiration\":\"tomorrow\"}'\n");
  check_fetch ("\"tomorrow\", no time like");
  set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
              "\"SecretAccessKey\":\"CANARY\",\"Expiration\":\"2001-01-01T00:00:00Z\"}'\n");
  check_fetch ("had expired");
  set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
              "\"SecretAccessKey\":\"CANARY\",\"SessionToken\":\"CANARY\\r\\nX: y\"}'\n");
  check_fetch ("the session token holds");
}

static void
set_role (Services *services)
{
  g_setenv ("AWS_ENDPOINT_URL_STS", fake_server_get_url (services->server), TRUE);
  set_config ("[default]\nrole_arn=arn:aws:iam::1:role/x\nsource_profile=keys\n[profile keys]\n"
              "aws_access_key_id=K\naws_secret_access_key=CANARY\n");
}

static void
test_sts_faults (void)
{
  g_autoptr (Services) services = services_new ();

  set_role (services);
  SET (services, status, 403);
  SET (services, body,
       "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not "
       "you\nThe canonical string: x-amz-security-token:CANARY</Message></Error>"
       "</ErrorResponse>");
  check_fetch ("STS AssumeRole of arn:aws:iam::1:role/x at http://127.0.0.1:");
  g_setenv ("AWS_STS_REGIONAL_ENDPOINTS", "moon", TRUE);
  {
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_s3_source_find (NULL, "x", &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  }
  g_unsetenv ("AWS_STS_REGIONAL_ENDPOINTS");
  g_assert_cmpuint (fake_server_get_n_requests (services->server), ==, 1);
}

static void
test_sts_broken (gconstpointer body)
{
  g_autoptr (Services) services = services_new ();

  set_role (services);
  SET (services, body, body);
  check_fetch ("STS AssumeRole of ");
}

static void
test_sts_hosts (void)
{
  static const struct {
    const char *config, *region, *url, *signed_region;
  } cases[] = {
    { "", "eu-west-1", "https://sts.eu-west-1.amazonaws.com/", "eu-west-1" },
    { "", "cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/", "cn-north-1" },
    { "sts_regional_endpoints=legacy", "eu-west-1", "https://sts.amazonaws.com/", "us-east-1" },
    { "sts_regional_endpoints=legacy", "eu-south-1", "https://sts.eu-south-1.amazonaws.com/",
      "eu-south-1" },
    { "use_fips_endpoint=true", "us-east-2", "https://sts-fips.us-east-2.amazonaws.com/",
      "us-east-2" },
    { "use_dualstack_endpoint=true", "us-east-2", "https://sts.us-east-2.api.aws/", "us-east-2" },
    { "endpoint_url=http://all.test", "us-east-2", "http://all.test/", "us-east-2" },
    { "services=mine\nendpoint_url=http://all.test\n[services mine]\nsts =\n  endpoint_url = "
      "http://one.test/x",
      "us-east-2", "http://one.test/x/", "us-east-2" },
    { "ignore_configured_endpoint_urls=true\nendpoint_url=http://all.test", "us-east-2",
      "https://sts.us-east-2.amazonaws.com/", "us-east-2" },
  };

  clear_env ();
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text = g_strconcat ("[profile p]\n", cases[i].config, "\n", NULL);
    g_autoptr (HrS3Profile) profile = hr_s3_profile_parse ("p", NULL, text);
    g_autofree char *region = g_strdup (cases[i].region), *url = NULL;
    g_autoptr (GError) error = NULL;

    url = hr_s3_endpoint_sts (profile, &region, &error);
    g_assert_no_error (error);
    g_assert_cmpstr (url, ==, cases[i].url);
    g_assert_cmpstr (region, ==, cases[i].signed_region);
  }
}

/* ---- renewal ---- */

static void
test_renewed_early (void)
{
  g_autoptr (Services) services = services_new ();
  HrS3Credentials *credentials;
  guint state, n_meanwhile = 0;
  gint64 now, expires = 0;
  gboolean waits;

  use_container (services);
  credentials = use ();
  check_key (credentials, "KEY1");
  hr_s3_credentials_leave (credentials);
  g_assert_cmpuint (get_n_keys (services), ==, 1); /* an hour is long enough */
  g_setenv ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "another", TRUE);
  {
    g_autofree char *url = g_strconcat (g_getenv ("AWS_CONTAINER_CREDENTIALS_FULL_URI"), "2", NULL);

    g_setenv ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, TRUE);
  }
  /* of a life of 12 s the last two are near to the end */
  SET (services, lifetime, 12);
  credentials = use ();
  check_key (credentials, "KEY2");
  SET (services, lifetime, 3600);
  hr_mutex_lock (&services->gate);
  do { /* the old keys are given while others come … */
    g_auto (HrS3Keys) old = { 0 };
    g_autoptr (GError) error = NULL;

    now = g_get_real_time () / G_USEC_PER_SEC;
    waits = !hr_s3_credentials_get (credentials, &old, &state, &error);
    expires = waits ? expires : old.expires;
    g_assert_no_error (error);
    if (!waits)
      g_assert_cmpstr (old.access_key, ==, "KEY2");
    n_meanwhile += !waits && g_atomic_int_get (&services->n_asked) == 3;
    g_usleep (5000);
  } while (!waits);
  g_assert_cmpuint (n_meanwhile, >, 0);
  g_assert_cmpint (now, <, expires);
  g_assert_cmpuint (state, ==, 1); /* … and when their end is near, they are waited for */
  hr_mutex_unlock (&services->gate);
  check_key (credentials, "KEY3");
  hr_s3_credentials_leave (credentials);
}

static void
test_renewal_fails (void)
{
  g_autoptr (Services) services = services_new ();
  HrS3Credentials *credentials;
  g_autoptr (GError) error = NULL;
  g_auto (HrS3Keys) keys = { 0 };
  guint state, n_good = 0;
  gint64 expires = 0;

  use_container (services);
  SET (services, lifetime, 3);
  credentials = use ();
  check_key (credentials, "KEY1");
  SET (services, status, 404);
  /* the old ones to their end, then the reason */
  while (!error) {
    if (hr_s3_credentials_get (credentials, &keys, &state, &error)) {
      g_assert_cmpstr (keys.access_key, ==, "KEY1");
      expires = keys.expires;
      hr_s3_keys_clear (&keys);
      n_good++;
    }
    g_usleep (10000);
  }
  g_assert_cmpuint (n_good, >, 0);
  g_assert_cmpint (g_get_real_time () / G_USEC_PER_SEC, >=, expires);
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "HTTP 404"));
  hr_s3_credentials_leave (credentials);
}

static void
test_refused_keys (void)
{
  g_autoptr (Services) services = services_new ();
  HrS3Credentials *credentials;

  use_container (services);
  credentials = use ();
  check_key (credentials, "KEY1");
  g_assert_true (hr_s3_credentials_renew (credentials, 1));
  wait_for_state (credentials, 2);
  check_key (credentials, "KEY2");
  /* a request that was signed before that needs no others */
  g_assert_true (hr_s3_credentials_renew (credentials, 1));
  check_key (credentials, "KEY2");
  g_assert_cmpuint (get_n_keys (services), ==, 2);
  hr_s3_credentials_leave (credentials);
}

/* ---- with requests ---- */

typedef struct {
  gint n_expired;
  const char *refused; /* of this key */
} Refusal;

static void
refuse_key (const FakeRequest *request, FakeReply *reply, const char *key G_GNUC_UNUSED,
            guint count G_GNUC_UNUSED, gpointer data)
{
  Refusal *refusal = data;
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");

  if (!strstr (authorization, refusal->refused))
    return;
  g_atomic_int_inc (&refusal->n_expired);
  g_clear_pointer (&reply->headers, g_free);
  fake_reply_error (reply, 400, "ExpiredToken");
}

static HrS3Config *
new_config (FakeS3 *s3)
{
  HrS3Settings settings = { .endpoint = fake_server_get_url (fake_s3_get_server (s3)) };
  g_autoptr (GError) error = NULL;
  HrS3Config *config = hr_s3_config_new (&settings, &error);

  g_assert_no_error (error);
  return config;
}

typedef struct {
  Services *services;
  gint held;
} Hold;

static gpointer
hold_answers (gpointer data)
{
  Hold *hold = data;

  hr_mutex_lock (&hold->services->gate);
  g_atomic_int_set (&hold->held, TRUE);
  g_usleep (100000); /* a request is asked ten times whether it can be sent */
  hr_mutex_unlock (&hold->services->gate);
  return NULL;
}

static void
test_expired_token (void)
{
  g_autoptr (Services) services = services_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  Refusal refusal = { .refused = "Credential=KEY1/" }, all = { .refused = "Credential=KEY" };
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = NULL;
  g_autoptr (GError) error = NULL;
  Hold hold = { services, FALSE };
  HrS3Config *config;
  GThread *thread;

  options.max_tries = 2;
  http = hr_http_new (&options, NULL);
  use_container (services);
  thread = g_thread_new ("hold", hold_answers, &hold);
  while (!g_atomic_int_get (&hold.held))
    g_usleep (1000);
  fake_s3_put (s3, "k", "abc", 3);
  fake_s3_set_hook (s3, refuse_key, &refusal);
  config = new_config (s3);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_true (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, &error));
    g_assert_cmpuint (answered.received, ==, 3);
  }
  g_thread_join (thread);
  g_assert_cmpuint (get_n_keys (services), ==, 2);
  g_assert_cmpint (g_atomic_int_get (&refusal.n_expired), ==, 1);
  /* waiting for keys is no try */
  g_assert_cmpuint (hr_http_get_counts (http)->tries, ==, 2);
  /* once: keys that are refused again are wrong */
  fake_s3_set_hook (s3, refuse_key, &all);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_false (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, &error));
  }
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "ExpiredToken"));
  g_assert_cmpuint (get_n_keys (services), ==, 3);
  hr_s3_config_unref (config);
}

/* ---- answers without a word ---- */

typedef struct {
  guint status;
  const char *refused; /* in Authorization, or in X-Amz-Date */
  const char *date;
  const char *body;
} Wordless;

static void
answer_wordless (const FakeRequest *request, FakeReply *reply, gpointer data)
{
  Wordless *wordless = data;
  g_autofree char *authorization = fake_request_get_header (request, "Authorization");
  g_autofree char *date = fake_request_get_header (request, "X-Amz-Date");

  fake_reply_add_header (reply, "ETag", "\"e\"");
  fake_reply_set_text (reply, "abc");
  if (!strstr (authorization, wordless->refused) && !g_str_has_prefix (date, wordless->refused))
    return;
  reply->status = wordless->status;
  if (wordless->date)
    fake_reply_add_header (reply, "Date", wordless->date);
  if (wordless->body)
    fake_reply_set_text (reply, wordless->body);
}

/* the object's size: mended after one refusal */
static void
check_mended (Wordless *wordless, gboolean head)
{
  FakeServer *server = fake_server_new (answer_wordless, wordless);
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  HrS3Settings settings = { .endpoint = fake_server_get_url (server), .region = "eu-west-1" };
  g_auto (HrHttpAnswer) answered = { 0 };
  g_autoptr (GError) error = NULL;
  HrS3Config *config = hr_s3_config_new (&settings, &error);

  g_assert_no_error (error);
  g_assert_true (
      hr_http_wait (http, head ? hr_s3_head (config, "demo", "k") : hr_s3_get (config, "demo", "k"),
                    -1, &answered, &error));
  g_assert_no_error (error);
  g_assert_cmpint (answered.size, ==, 3);
  g_assert_cmpuint (fake_server_get_n_requests (server), ==, 2);
  hr_s3_config_unref (config);
  fake_server_free (server);
}

static void
test_wordless (void)
{
  g_autoptr (Services) services = services_new ();
  g_autofree char *today = NULL;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  Wordless clock = { .status = 403, .date = "Mon, 02 Jan 2040 03:04:05 GMT" };
  Wordless expired = { .status = 400, .refused = "Credential=KEY1/" };
  Wordless region = {
    .status = 400,
    .refused = "/eu-west-1/s3/",
    .body = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization "
            "header is malformed; the region 'eu-west-1' is wrong; expecting 'eu-west-3'"
            "</Message><Region>eu-west-3</Region></Error>"
  };

  use_container (services);
  clock.refused = today = g_date_time_format (now, "%Y");
  check_mended (&clock, TRUE);
  check_mended (&region, FALSE);
  check_mended (&expired, TRUE);
  g_assert_cmpuint (get_n_keys (services), ==, 2);
}

/* ---- stops ---- */

static const char *awaited; /* a file */

static gpointer
stop_later (gpointer data)
{
  const guint64 one = 1;

  do
    g_usleep (50000);
  while (awaited && !g_file_test (awaited, G_FILE_TEST_EXISTS));
  (void)!write (GPOINTER_TO_INT (data), &one, sizeof one);
  return NULL;
}

/* a service, a program that never answers: a run is stopped all the same */
static void
check_stop (FakeS3 *s3)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  g_autoptr (GError) error = NULL;
  g_auto (HrHttpAnswer) answered = { 0 };
  HrS3Config *config = new_config (s3);
  int fd = eventfd (0, EFD_CLOEXEC);
  GThread *thread = g_thread_new ("stop", stop_later, GINT_TO_POINTER (fd));

  g_assert_false (hr_http_wait (http, hr_s3_get (config, "demo", "k"), fd, &answered, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_thread_join (thread);
  close (fd);
  hr_s3_config_unref (config);
}

/* it is dead before somebody has asked how it ended */
static gboolean
is_alive (int pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", pid), *stat = NULL;

  return g_file_get_contents (path, &stat, NULL, NULL) && !strstr (stat, ") Z ");
}

static void
test_stop (void)
{
  g_autoptr (Services) services = services_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  g_autofree char *file = g_build_filename (home, "pid", NULL), *text = NULL;
  int pid;

  set_role (services);
  SET (services, stall, TRUE);
  check_stop (s3);
  /* a program's children go with it */
  set_config ("[default]\ncredential_process = sh -c 'sleep 600 & echo $! > %s.new; "
              "mv %s.new %s; wait'\n",
              file, file, file);
  awaited = file;
  check_stop (s3);
  awaited = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  pid = atoi (text);
  g_assert_cmpint (pid, >, 1);
  while (is_alive (pid))
    g_usleep (1000);
  g_remove (file);
}

typedef struct {
  guint n_done;
} Count;

static void
count_done (HrHttpRequest *request, GError *error)
{
  g_assert_no_error (error);
  ((Count *)request->user_data)->n_done++;
}

/* while keys are renewed, what runs goes on */
static void
test_transfers_go_on (void)
{
  g_autoptr (Services) services = services_new ();
  g_autoptr (FakeS3) s3 = fake_s3_new ();
  HrHttpOptions options = HR_HTTP_OPTIONS;
  g_autoptr (HrHttp) http = hr_http_new (&options, NULL);
  Count signed_ones = { 0 }, plain = { 0 };
  HrHttpRequest *request;
  HrS3Config *config;
  g_autofree char *url = NULL;

  use_container (services);
  fake_s3_put (s3, "k", "abc", 3);
  config = new_config (s3);
  {
    g_auto (HrHttpAnswer) answered = { 0 };

    g_assert_true (hr_http_wait (http, hr_s3_get (config, "demo", "k"), -1, &answered, NULL));
  }
  SET (services, stall, TRUE); /* keys do not come */
  g_assert_true (hr_s3_config_refresh (config, 1));
  request = hr_s3_get (config, "demo", "k");
  request->done = count_done;
  request->user_data = &signed_ones;
  hr_http_submit (http, request);
  url = g_strconcat (fake_server_get_url (fake_s3_get_server (s3)), "/demo/k", NULL);
  for (guint i = 0; i < 20; i++) {
    request = hr_http_request_new ("plain", url);
    request->done = count_done;
    request->user_data = &plain;
    hr_http_submit (http, request);
  }
  while (plain.n_done < 20)
    g_assert_true (hr_http_poll (http, -1, -1, NULL));
  g_assert_cmpuint (signed_ones.n_done, ==, 0);
  hr_s3_config_unref (config);
}

static void
test_requester_pays (void)
{
  FakeS3 *s3 = fake_s3_new ();
  HrS3Settings settings = { .endpoint = fake_server_get_url (fake_s3_get_server (s3)),
                            .requester_pays = TRUE };
  g_autoptr (HrS3Config) config = NULL;
  g_auto (HrS3Place) place = { 0 };
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  guint state;

  clear_env ();
  fake_s3_use (s3);
  config = hr_s3_config_new (&settings, &error);
  g_assert_no_error (error);
  hr_s3_config_locate (config, "demo", "k", "", &place);
  g_assert_true (hr_s3_config_sign (config, "GET", "demo", &place, "", headers, &state, NULL));
  g_ptr_array_add (headers, NULL);
  text = g_strjoinv ("\n", (char **)headers->pdata);
  g_assert_nonnull (strstr (text, "X-Amz-Request-Payer: requester\n"));
  g_assert_nonnull (strstr (text, ";x-amz-request-payer, Signature="));
  settings.no_sign_request = TRUE;
  g_assert_null (hr_s3_config_new (&settings, &error));
  g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  fake_s3_free (s3);
}

static void
test_variants (void)
{
  static const struct {
    const char *variable, *region, *endpoint;
  } cases[] = {
    { "AWS_USE_FIPS_ENDPOINT", "us-gov-west-1", "https://s3-fips.us-gov-west-1.amazonaws.com" },
    { "AWS_USE_DUALSTACK_ENDPOINT", "eu-west-1", "https://s3.dualstack.eu-west-1.amazonaws.com" },
    { "AWS_USE_DUALSTACK_ENDPOINT", "cn-north-1",
      "https://s3.dualstack.cn-north-1.amazonaws.com.cn" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    HrS3Settings settings = { .region = cases[i].region, .no_sign_request = TRUE };
    g_autoptr (HrS3Config) config = NULL;
    g_autofree char *endpoint = NULL;
    g_autoptr (GError) error = NULL;

    clear_env ();
    g_setenv (cases[i].variable, "true", TRUE);
    config = hr_s3_config_new (&settings, &error);
    g_assert_no_error (error);
    endpoint = hr_s3_config_get_endpoint (config);
    g_assert_cmpstr (endpoint, ==, cases[i].endpoint);
    settings.endpoint = "http://store.test";
    g_assert_null (hr_s3_config_new (&settings, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    g_clear_error (&error);
    g_setenv (cases[i].variable, "perhaps", TRUE);
    settings.endpoint = NULL;
    g_assert_null (hr_s3_config_new (&settings, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  }
}

int
main (int argc, char **argv)
{
  g_autofree char *config = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  home = g_dir_make_tmp ("headrace-keys-XXXXXX", NULL);
  config = g_build_filename (home, "config", NULL);
  g_setenv ("HOME", home, TRUE);
  g_test_add_func ("/io/s3-credentials/instance", test_instance);
  g_test_add_func ("/io/s3-credentials/no-instance", test_no_instance);
  g_test_add_func ("/io/s3-credentials/proxy-is-passed-by", test_proxy_is_passed_by);
  g_test_add_func ("/io/s3-credentials/container-token", test_container_token);
  g_test_add_func ("/io/s3-credentials/container-hosts", test_container_hosts);
  g_test_add_func ("/io/s3-credentials/whose-identity", test_whose_identity);
  g_test_add_func ("/io/s3-credentials/refused", test_refused);
  g_test_add_func ("/io/s3-credentials/process", test_process);
  g_test_add_func ("/io/s3-credentials/sts-faults", test_sts_faults);
  g_test_add_func ("/io/s3-credentials/sts-hosts", test_sts_hosts);
  g_test_add_data_func ("/io/s3-credentials/sts-broken/cut",
                        "<R><Credentials><AccessKeyId>K</AccessKeyId><SecretAccessKey>CANARY"
                        "</SecretAccessKey><Expiration>2099-01-01T00:00:00Z</Expiration>"
                        "</Credentials>",
                        test_sts_broken);
  g_test_add_data_func ("/io/s3-credentials/sts-broken/empty", "", test_sts_broken);
  g_test_add_data_func ("/io/s3-credentials/sts-broken/other", "<html></html>", test_sts_broken);
  g_test_add_data_func ("/io/s3-credentials/sts-broken/no-end",
                        "<R><Credentials><AccessKeyId>K</AccessKeyId><SecretAccessKey>CANARY"
                        "</SecretAccessKey></Credentials></R>",
                        test_sts_broken);
  g_test_add_func ("/io/s3-credentials/renewed-early", test_renewed_early);
  g_test_add_func ("/io/s3-credentials/renewal-fails", test_renewal_fails);
  g_test_add_func ("/io/s3-credentials/refused-keys", test_refused_keys);
  g_test_add_func ("/io/s3-credentials/expired-token", test_expired_token);
  g_test_add_func ("/io/s3-credentials/wordless", test_wordless);
  g_test_add_func ("/io/s3-credentials/stop", test_stop);
  g_test_add_func ("/io/s3-credentials/transfers-go-on", test_transfers_go_on);
  g_test_add_func ("/io/s3-credentials/requester-pays", test_requester_pays);
  g_test_add_func ("/io/s3-credentials/variants", test_variants);
  status = g_test_run ();
  g_remove (config);
  g_rmdir (home);
  g_free (home);
  return status;
}
