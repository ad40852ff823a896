/* test-s3-credentials.c: where keys come from, and what goes wrong there */
#include "fake-aws.h"
#include "hr-error.h"
#include "s3-container.h"
#include "s3-endpoint.h"
#include <glib/gstdio.h>
#include <string.h>

/* ---- one fetch ---- */

static void
test_instance (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *one, *two;

  g_setenv ("AWS_EC2_METADATA_DISABLED", "false", TRUE);
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_server_get_url (aws->server), TRUE);
  one = fake_aws_use ();
  two = fake_aws_use ();
  fake_aws_check_key (two, "KEY1");
  fake_aws_check_key (one, "KEY1");
  hr_s3_credentials_leave (one);
  hr_s3_credentials_leave (two);
  /* later users of the process, too */
  one = fake_aws_use ();
  fake_aws_check_key (one, "KEY1");
  hr_s3_credentials_leave (one);
  g_assert_cmpuint (fake_server_get_n_requests (aws->server), ==, 3);
  fake_aws_check_head (aws, "X-aws-ec2-metadata-token: SESSION\r\n");
}

/* the last place of all has none, or is none */
static void
test_no_instance (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();

  g_setenv ("AWS_EC2_METADATA_DISABLED", "false", TRUE);
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", TRUE);
  fake_aws_check_fetch ("public data needs no-sign-request=true");
  g_setenv ("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_server_get_url (aws->server), TRUE);
  FAKE_AWS_SET (aws, status, 404);
  fake_aws_check_fetch ("HTTP 404 Not Found; public data");
  FAKE_AWS_SET (aws, status, 200);
  FAKE_AWS_SET (aws, body, "CANARY\1");
  fake_aws_check_fetch ("gives a session token that is none");
}

static void
test_proxy_is_passed_by (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  HrS3Credentials *credentials;

  /* nobody listens there */
  g_setenv ("http_proxy", "http://127.0.0.1:1", TRUE);
  fake_aws_use_container (aws);
  credentials = fake_aws_use ();
  fake_aws_check_key (credentials, "KEY1");
  g_unsetenv ("http_proxy");
  hr_s3_credentials_leave (credentials);
}

/* what the service was told, or else the words of the error */
static void
check_container (FakeAws *aws, const char *authorization, const char *words)
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
    fake_aws_check_head (aws, authorization);
  }
}

static void
test_container_token (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();
  g_autofree char *file = g_build_filename (fake_aws_home, "token", NULL);

  fake_aws_use_container (aws);
  g_setenv ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x", TRUE);
  check_container (aws, "Authorization: Basic x\r\n", NULL);
  g_assert_true (g_file_set_contents (file, "from file", -1, NULL));
  g_setenv ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, TRUE);
  check_container (aws, "Authorization: from file\r\n", NULL);
  g_assert_true (g_file_set_contents (file, "CANARY\r\nX: y", -1, NULL));
  check_container (aws, NULL, "end of line");
  g_remove (file);
  check_container (aws, NULL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: ");
}

/* a web identity of the environment is the run's own, not its source profiles' */
static void
test_whose_identity (void)
{
  g_autoptr (HrS3Source) source = NULL;
  g_autoptr (GError) error = NULL;

  fake_aws_clear_env ();
  fake_aws_set_config ("[default]\nrole_arn=r\nsource_profile=keys\n[profile keys]\n"
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
  fake_aws_clear_env ();
  fake_aws_set_config (
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
  fake_aws_clear_env ();
  fake_aws_set_config (
      "[default]\ncredential_process = sh -c 'echo first >&2; echo \"not today\" >&2; exit 7'\n");
  fake_aws_check_fetch ("credential_process sh: exit status 7; it says: first not today");
  fake_aws_set_config ("[default]\ncredential_process = sh -c 'kill -9 $$'\n");
  fake_aws_check_fetch ("killed by signal 9; it says nothing");
  fake_aws_set_config ("[default]\ncredential_process = /nonexistent/program\n");
  fake_aws_check_fetch ("/nonexistent/program");
  fake_aws_set_config ("[default]\ncredential_process = sh -c 'unfinished\n");
  fake_aws_check_fetch ("credential_process: ");
  /* without end: no more than its beginning is held in memory */
  fake_aws_set_config ("[default]\ncredential_process = yes CANARY\n");
  fake_aws_check_fetch ("credential_process yes: it prints more than 65536 bytes");
  fake_aws_set_config ("[default]\ncredential_process = sh -c 'yes first | head -n 100000 >&2; "
                       "echo last >&2; exit 7'\n");
  fake_aws_check_fetch ("credential_process sh: exit status 7; it says: …");
  fake_aws_set_config ("[default]\ncredential_process = echo CANARY\n");
  fake_aws_check_fetch ("is no JSON object");
  fake_aws_set_config (
      "[default]\ncredential_process = echo '{\"Version\":2,\"AccessKeyId\":\"CANARY\"}'\n");
  fake_aws_check_fetch ("no \"Version\": 1");
  fake_aws_set_config (
      "[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\"}'\n");
  fake_aws_check_fetch ("no \"SecretAccessKey\"");
  fake_aws_set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
                       "\"SecretAccessKey\":\"CANARY\",\"Expiration\":\"tomorrow\"}'\n");
  fake_aws_check_fetch ("\"tomorrow\", no time like");
  fake_aws_set_config (
      "[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
      "\"SecretAccessKey\":\"CANARY\",\"Expiration\":\"2001-01-01T00:00:00Z\"}'\n");
  fake_aws_check_fetch ("had expired");
  fake_aws_set_config ("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"K\","
                       "\"SecretAccessKey\":\"CANARY\",\"SessionToken\":\"CANARY\\r\\nX: y\"}'\n");
  fake_aws_check_fetch ("the session token holds");
}

static void
test_sts_faults (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();

  fake_aws_set_role (aws);
  FAKE_AWS_SET (aws, status, 403);
  FAKE_AWS_SET (aws, body,
                "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not "
                "you\nThe canonical string: x-amz-security-token:CANARY</Message></Error>"
                "</ErrorResponse>");
  fake_aws_check_fetch ("STS AssumeRole of arn:aws:iam::1:role/x at http://127.0.0.1:");
  g_setenv ("AWS_STS_REGIONAL_ENDPOINTS", "moon", TRUE);
  {
    g_autoptr (GError) error = NULL;

    g_assert_null (hr_s3_source_find (NULL, "x", &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
  }
  g_unsetenv ("AWS_STS_REGIONAL_ENDPOINTS");
  g_assert_cmpuint (fake_server_get_n_requests (aws->server), ==, 1);
}

/* a clock that is wrong is put right from the answer's Date, once; what is signed by keys or not at
 * all expires by the server's clock */
static void
test_sts_clock (void)
{
  static const gint64 aheads[] = { 7200, -7200, 400 };
  g_autofree char *token = g_build_filename (fake_aws_home, "token", NULL);

  for (guint i = 0; i < 2 * G_N_ELEMENTS (aheads); i++) {
    g_autoptr (FakeAws) aws = fake_aws_new ();
    HrS3Credentials *credentials;
    g_auto (HrS3Keys) keys = { 0 };
    gint64 now = g_get_real_time () / G_USEC_PER_SEC;
    gboolean is_signed = i % 2 == 0;
    guint state;

    fake_aws_set_role (aws);
    if (!is_signed) {
      fake_aws_set_config (
          "[default]\nrole_arn=arn:aws:iam::1:role/x%u\nweb_identity_token_file=%s\n", i, token);
      g_assert_true (g_file_set_contents (token, "TOKEN", -1, NULL));
    }
    FAKE_AWS_SET (aws, ahead, aheads[i / 2]);
    credentials = fake_aws_use ();
    fake_aws_check_key (credentials, "KEY1");
    g_assert_true (hr_s3_credentials_get (credentials, &keys, &state, NULL));
    g_assert_cmpint (ABS (keys.expires - now - 3600), <, 120);
    g_assert_cmpuint (fake_server_get_n_requests (aws->server), ==, is_signed ? 2 : 1);
    hr_s3_credentials_leave (credentials);
  }
  g_remove (token);
}

/* a server whose Date is right refuses for another reason: one request, as before */
static void
test_sts_wrong_key (void)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();

  fake_aws_set_role (aws);
  FAKE_AWS_SET (aws, ahead, 1);
  FAKE_AWS_SET (aws, status, 403);
  FAKE_AWS_SET (aws, body,
                "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>");
  fake_aws_check_fetch ("SignatureDoesNotMatch");
  g_assert_cmpuint (fake_server_get_n_requests (aws->server), ==, 1);
  /* … and one whose clock is off, and refuses all the same, is asked once more */
  FAKE_AWS_SET (aws, ahead, 7200);
  fake_aws_check_fetch ("SignatureDoesNotMatch");
  g_assert_cmpuint (fake_server_get_n_requests (aws->server), ==, 3);
}

static void
test_sts_broken (gconstpointer body)
{
  g_autoptr (FakeAws) aws = fake_aws_new ();

  fake_aws_set_role (aws);
  FAKE_AWS_SET (aws, body, body);
  fake_aws_check_fetch ("STS AssumeRole of ");
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

  fake_aws_clear_env ();
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

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  fake_aws_begin ();
  g_test_add_func ("/io/s3-credentials/instance", test_instance);
  g_test_add_func ("/io/s3-credentials/no-instance", test_no_instance);
  g_test_add_func ("/io/s3-credentials/proxy-is-passed-by", test_proxy_is_passed_by);
  g_test_add_func ("/io/s3-credentials/container-token", test_container_token);
  g_test_add_func ("/io/s3-credentials/container-hosts", test_container_hosts);
  g_test_add_func ("/io/s3-credentials/whose-identity", test_whose_identity);
  g_test_add_func ("/io/s3-credentials/refused", test_refused);
  g_test_add_func ("/io/s3-credentials/process", test_process);
  g_test_add_func ("/io/s3-credentials/sts-faults", test_sts_faults);
  g_test_add_func ("/io/s3-credentials/sts-clock", test_sts_clock);
  g_test_add_func ("/io/s3-credentials/sts-wrong-key", test_sts_wrong_key);
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
  status = g_test_run ();
  fake_aws_end ();
  return status;
}
