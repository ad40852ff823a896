/* test-s3-config.c: where credentials, region and endpoint come from, and what URL a key has */
#include "hr-error.h"
#include "s3-config.h"
#include "s3-uri.h"
#include <glib/gstdio.h>
#include <string.h>

static const char *const variables[] = { "AWS_ACCESS_KEY_ID",           "AWS_SECRET_ACCESS_KEY",
                                         "AWS_SESSION_TOKEN",           "AWS_PROFILE",
                                         "AWS_DEFAULT_PROFILE",         "AWS_REGION",
                                         "AWS_DEFAULT_REGION",          "AWS_ENDPOINT_URL",
                                         "AWS_ENDPOINT_URL_S3",         "AWS_CA_BUNDLE",
                                         "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE" };

static const char credentials_text[] =
    "# mine\n[default]\naws_access_key_id = DEFKEY\naws_secret_access_key=defsecret ; not mine\n\n"
    "[other]\r\naws_access_key_id=OTHERKEY\r\naws_secret_access_key = a=b#c\r\n"
    "aws_session_token = tok/en==\r\nregion = from-credentials\n[half]\naws_access_key_id = X\n";

static const char config_text[] =
    "[default]\nregion = eu-north-1\n[profile other]\nregion = ap-south-1\n"
    "endpoint_url = https://store.example.test\nca_bundle = /certs.pem\ns3 =\n"
    "  addressing_style = path\n  max_concurrent_requests = 3\noutput = json\n"
    "[other]\nregion = not-a-profile\n[profile pub]\nregion = us-west-2\n";

static char *home;

static void
clear_env (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    g_unsetenv (variables[i]);
  g_setenv ("AWS_EC2_METADATA_DISABLED", "true", TRUE);
}

static HrS3Config *
new_config (const HrS3Settings *settings)
{
  g_autoptr (GError) error = NULL;
  HrS3Config *config = hr_s3_config_new (settings, &error);

  g_assert_no_error (error);
  return config;
}

/* the Authorization and the token of a signed request, one string */
static char *
sign (HrS3Config *config)
{
  g_auto (HrS3Place) place = { 0 };
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);
  guint state;

  hr_s3_config_locate (config, "bucket", "key", "", &place);
  g_assert_true (hr_s3_config_sign (config, "GET", "bucket", &place, "", headers, &state, NULL));
  for (guint i = 0; i < headers->len; i++)
    g_string_append_printf (text, "%s\n", (char *)headers->pdata[i]);
  return g_string_free (text, FALSE);
}

static void
check (const HrS3Settings *settings, const char *key, const char *region, const char *endpoint)
{
  g_autoptr (HrS3Config) config = new_config (settings);
  g_autofree char *signed_headers = sign (config), *got_region = NULL, *got_endpoint = NULL;
  g_autofree char *credential = g_strdup_printf ("Credential=%s/", key);

  got_region = hr_s3_config_get_region (config, NULL);
  got_endpoint = hr_s3_config_get_endpoint (config);
  g_assert_nonnull (strstr (signed_headers, credential));
  g_assert_cmpstr (got_region, ==, region);
  g_assert_cmpstr (got_endpoint, ==, endpoint);
}

static void
check_failure (const HrS3Settings *settings, GQuark domain, int code, const char *words)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (hr_s3_config_new (settings, &error));
  g_assert_error (error, domain, code);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_order (void)
{
  HrS3Settings settings = { 0 };

  clear_env ();
  check (&settings, "DEFKEY", "eu-north-1", "https://s3.eu-north-1.amazonaws.com");
  g_setenv ("AWS_PROFILE", "other", TRUE);
  check (&settings, "OTHERKEY", "from-credentials", "https://store.example.test");
  g_setenv ("AWS_ACCESS_KEY_ID", "ENVKEY", TRUE);
  check_failure (&settings, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "AWS_SECRET_ACCESS_KEY");
  g_setenv ("AWS_SECRET_ACCESS_KEY", "s", TRUE);
  g_setenv ("AWS_DEFAULT_REGION", "r1", TRUE);
  g_setenv ("AWS_ENDPOINT_URL", "http://one:9000/", TRUE);
  check (&settings, "ENVKEY", "r1", "http://one:9000");
  g_setenv ("AWS_REGION", "r2", TRUE);
  g_setenv ("AWS_ENDPOINT_URL_S3", "http://two", TRUE);
  check (&settings, "ENVKEY", "r2", "http://two");
  settings.profile = "default"; /* a profile that was asked for */
  settings.region = "r3";
  settings.endpoint = "https://three:443";
  check (&settings, "DEFKEY", "r3", "https://three");
  clear_env ();
  settings = (HrS3Settings){ .region = "cn-north-1" };
  check (&settings, "DEFKEY", "cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn");
}

static void
test_profile_parts (void)
{
  HrS3Settings settings = { .profile = "other" };
  g_autoptr (HrS3Config) config = NULL;
  g_auto (HrS3Place) place = { 0 };
  g_autofree char *headers = NULL;

  clear_env ();
  config = new_config (&settings);
  headers = sign (config);
  g_assert_nonnull (strstr (headers, "X-Amz-Security-Token: tok/en==\n"));
  g_assert_nonnull (strstr (headers, "SignedHeaders=host;x-amz-content-sha256;x-amz-date;"
                                     "x-amz-security-token"));
  g_assert_cmpstr (hr_s3_config_get_ca_bundle (config), ==, "/certs.pem");
  hr_s3_config_locate (config, "bucket", "k", "", &place);
  g_assert_cmpstr (place.url, ==, "https://store.example.test/bucket/k"); /* its addressing_style */
}

static void
test_failures (void)
{
  static const char *const endpoints[] = { "store:9000",     "ftp://store",       "http://",
                                           "http://…@store", "http://store/?x=1", "not one" };
  static const char *const regions[] = { "a b", "eu-west-1/", "evil.example#", "é", "-\n-", " " };
  HrS3Settings settings = { .profile = "nobody" };

  clear_env ();
  check_failure (&settings, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN, "\"nobody\"");
  settings.profile = "half";
  check_failure (&settings, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the secret key is missing");
  settings.profile = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (endpoints); i++) {
    settings.endpoint = strstr (endpoints[i], "…") ? "http://u:p@store" : endpoints[i];
    check_failure (&settings, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, endpoints[i]);
  }
  settings.endpoint = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    settings.region = regions[i];
    check_failure (&settings, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, regions[i]);
  }
  settings.region = NULL;
  g_setenv ("AWS_CONFIG_FILE", home, TRUE); /* a folder */
  settings = (HrS3Settings){ 0 };
  check_failure (&settings, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, home);
  g_setenv ("AWS_CONFIG_FILE", "/nonexistent", TRUE);
  g_setenv ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", TRUE);
  check_failure (&settings, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN, "no S3 credentials");
  settings.no_sign_request = TRUE;
  {
    g_autoptr (HrS3Config) config = new_config (&settings);
    g_autofree char *headers = sign (config);

    g_assert_cmpstr (headers, ==, "");
  }
  clear_env ();
}

static void
check_place (const char *endpoint, HrS3Addressing addressing, const char *bucket, const char *key,
             const char *query, const char *host, const char *url)
{
  HrS3Settings settings = { .endpoint = endpoint, .addressing = addressing, .region = "eu-west-1" };
  g_autoptr (HrS3Config) config = new_config (&settings);
  g_auto (HrS3Place) place = { 0 };

  hr_s3_config_locate (config, bucket, key, query, &place);
  g_assert_cmpstr (place.host, ==, host);
  g_assert_cmpstr (place.url, ==, url);
}

static void
test_places (void)
{
  clear_env ();
  check_place (NULL, HR_S3_ADDRESSING_AUTO, "bucket", "a b", "",
               "bucket.s3.eu-west-1.amazonaws.com",
               "https://bucket.s3.eu-west-1.amazonaws.com/a%20b");
  check_place (NULL, HR_S3_ADDRESSING_AUTO, "with.dots", "k", "", "s3.eu-west-1.amazonaws.com",
               "https://s3.eu-west-1.amazonaws.com/with.dots/k");
  check_place (NULL, HR_S3_ADDRESSING_AUTO, "Upper_", "k", "", "s3.eu-west-1.amazonaws.com",
               "https://s3.eu-west-1.amazonaws.com/Upper_/k");
  check_place (NULL, HR_S3_ADDRESSING_PATH, "bucket", "", "list-type=2",
               "s3.eu-west-1.amazonaws.com",
               "https://s3.eu-west-1.amazonaws.com/bucket?list-type=2");
  check_place (NULL, HR_S3_ADDRESSING_VIRTUAL, "bucket", "", "list-type=2",
               "bucket.s3.eu-west-1.amazonaws.com",
               "https://bucket.s3.eu-west-1.amazonaws.com/?list-type=2");
  check_place ("http://127.0.0.1:9000", HR_S3_ADDRESSING_AUTO, "bucket", "k", "", "127.0.0.1:9000",
               "http://127.0.0.1:9000/bucket/k");
  check_place ("http://[::1]:9000", HR_S3_ADDRESSING_AUTO, "bucket", "k", "", "[::1]:9000",
               "http://[::1]:9000/bucket/k");
  check_place ("http://localhost:80", HR_S3_ADDRESSING_AUTO, "bucket", "k", "", "localhost",
               "http://localhost/bucket/k");
  check_place ("http://minio:9000", HR_S3_ADDRESSING_AUTO, "bucket", "k", "", "minio:9000",
               "http://minio:9000/bucket/k");
  check_place ("https://s3.example.test", HR_S3_ADDRESSING_AUTO, "bucket", "k", "",
               "bucket.s3.example.test", "https://bucket.s3.example.test/k");
  check_place ("http://127.0.0.1:9000", HR_S3_ADDRESSING_VIRTUAL, "bucket", "k", "",
               "bucket.127.0.0.1:9000", "http://bucket.127.0.0.1:9000/k");
  check_place ("http://gate.test/s3/", HR_S3_ADDRESSING_PATH, "bucket", "/k", "", "gate.test",
               "http://gate.test/s3/bucket//k");
}

static guint
get_state (HrS3Config *config, const HrS3Place *place)
{
  g_autoptr (GPtrArray) headers = g_ptr_array_new_with_free_func (g_free);
  guint state;

  g_assert_true (hr_s3_config_sign (config, "GET", "bucket", place, "", headers, &state, NULL));
  return state;
}

static void
test_refresh (void)
{
  HrS3Settings settings = { 0 };
  g_autoptr (HrS3Config) config = NULL;
  g_auto (HrS3Place) place = { 0 };
  g_autofree char *file = g_build_filename (home, "changing", NULL), *after = NULL;
  guint used;

  clear_env ();
  g_assert_true (g_file_set_contents (
      file, "[default]\naws_access_key_id=K1\naws_secret_access_key=s\naws_session_token=t1\n", -1,
      NULL));
  g_setenv ("AWS_SHARED_CREDENTIALS_FILE", file, TRUE);
  config = new_config (&settings);
  hr_s3_config_locate (config, "bucket", "k", "", &place);
  used = get_state (config, &place);
  g_assert_false (hr_s3_config_refresh (config, used)); /* the same are there still */
  g_assert_true (g_file_set_contents (
      file, "[default]\naws_access_key_id=K2\naws_secret_access_key=s\naws_session_token=t2\n", -1,
      NULL));
  g_assert_true (hr_s3_config_refresh (config, used));
  g_assert_true (hr_s3_config_refresh (config, used)); /* another request, signed before that */
  after = sign (config);
  g_assert_nonnull (strstr (after, "Credential=K2/"));
  g_assert_nonnull (strstr (after, "X-Amz-Security-Token: t2"));

  used = get_state (config, &place);
  g_assert_true (hr_s3_config_set_region (config, used, "bucket", "eu-west-3"));
  used = get_state (config, &place);
  g_assert_false (hr_s3_config_set_region (config, used, "bucket", "eu-west-3"));
  hr_s3_place_clear (&place);
  hr_s3_config_locate (config, "bucket", "k", "", &place);
  g_assert_cmpstr (place.host, ==, "bucket.s3.eu-west-3.amazonaws.com");
  hr_s3_place_clear (&place);
  hr_s3_config_locate (config, "another", "k", "", &place);
  g_assert_cmpstr (place.host, ==, "another.s3.eu-north-1.amazonaws.com");

  used = get_state (config, &place);
  g_assert_true (
      hr_s3_config_set_clock (config, used, g_get_real_time () / G_USEC_PER_SEC + 86400 * 365));
  used = get_state (config, &place);
  g_assert_false (
      hr_s3_config_set_clock (config, used, g_get_real_time () / G_USEC_PER_SEC + 86400 * 365));
  clear_env ();
}

static void
test_uri (void)
{
  static const char *const bad[] = { "b/k",        "s3:/b/k",          "s3://",
                                     "s3:///k",    "s3://host:9000/b", "s3://a..b/k",
                                     "http://b/k", "s3://b k/x" };
  g_auto (HrS3Uri) uri = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *text = hr_s3_uri_format ("b", "/k%20");

  g_assert_cmpstr (text, ==, "s3://b//k%20");
  g_assert_true (hr_s3_uri_parse (&uri, text, &error));
  g_assert_cmpstr (uri.bucket, ==, "b");
  g_assert_cmpstr (uri.key, ==, "/k%20"); /* nothing is decoded */
  hr_s3_uri_clear (&uri);
  g_assert_true (hr_s3_uri_parse (&uri, "s3://my.bucket_1", &error));
  g_assert_cmpstr (uri.key, ==, "");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    HrS3Uri none;

    g_assert_false (hr_s3_uri_parse (&none, bad[i], &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    g_clear_error (&error);
  }
}

int
main (int argc, char **argv)
{
  g_autofree char *folder = NULL, *credentials = NULL, *config = NULL, *changing = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  home = g_dir_make_tmp ("headrace-home-XXXXXX", NULL);
  folder = g_build_filename (home, ".aws", NULL);
  credentials = g_build_filename (folder, "credentials", NULL);
  config = g_build_filename (folder, "config", NULL);
  changing = g_build_filename (home, "changing", NULL);
  g_assert_cmpint (g_mkdir (folder, 0777), ==, 0);
  g_assert_true (g_file_set_contents (credentials, credentials_text, -1, NULL));
  g_assert_true (g_file_set_contents (config, config_text, -1, NULL));
  g_setenv ("HOME", home, TRUE);

  g_test_add_func ("/io/s3-config/order", test_order);
  g_test_add_func ("/io/s3-config/profile", test_profile_parts);
  g_test_add_func ("/io/s3-config/failures", test_failures);
  g_test_add_func ("/io/s3-config/places", test_places);
  g_test_add_func ("/io/s3-config/refresh", test_refresh);
  g_test_add_func ("/io/s3-uri", test_uri);
  status = g_test_run ();
  g_remove (changing);
  g_remove (credentials);
  g_remove (config);
  g_rmdir (folder);
  g_rmdir (home);
  g_free (home);
  return status;
}
