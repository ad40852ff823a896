/* s3-source.c: where the keys are to come from: what environment and files say */
#include "s3-source.h"
#include "hr-error.h"
#include "s3-container.h"
#include "s3-endpoint.h"
#include "s3-instance.h"
#include <string.h>

/* a chain of roles that is longer than this was not meant */
#define MAX_ROLES 16

typedef struct {
  const char *region;
  GPtrArray *visited; /* names of profiles, (transfer none) where they lie */
} Finder;

static HrS3Source *find_role (Finder *finder, const HrS3Profile *profile, GError **error);

const char *
hr_s3_source_profile (const char *wanted)
{
  if (wanted)
    return wanted;
  if (hr_s3_env ("AWS_DEFAULT_PROFILE"))
    return hr_s3_env ("AWS_DEFAULT_PROFILE");
  return hr_s3_env ("AWS_PROFILE") ? hr_s3_env ("AWS_PROFILE") : "default";
}

static void G_GNUC_PRINTF (2, 3) fail (GError **error, const char *format, ...)
{
  va_list arguments;
  g_autofree char *words = NULL;

  va_start (arguments, format);
  words = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, words);
}

static HrS3Source *
new_source (HrS3SourceKind kind, const char *method, const HrS3Profile *profile)
{
  HrS3Source *source = g_new0 (HrS3Source, 1);

  source->kind = kind;
  source->method = method;
  source->profile = g_strdup (profile ? hr_s3_profile_get_name (profile) : NULL);
  return source;
}

void
hr_s3_source_free (HrS3Source *source)
{
  if (source->from)
    hr_s3_source_free (source->from);
  hr_s3_keys_clear (&source->keys);
  g_free (source->profile);
  g_free (source->role_arn);
  g_free (source->session_name);
  g_free (source->external_id);
  g_free (source->duration);
  g_free (source->token_file);
  g_free (source->token);
  g_free (source->command);
  g_free (source->url);
  g_free (source->region);
  g_free (source->ca_bundle);
  g_free (source);
}

/* takes @source; NULL with an error if its keys are none */
static HrS3Source *
check_keys (HrS3Source *source, const char *where, GError **error)
{
  if (hr_s3_keys_check (&source->keys, error))
    return source;
  g_prefix_error (error, "S3 credentials in %s: ", where);
  hr_s3_source_free (source);
  return NULL;
}

/* ---- the environment ---- */

static HrS3Source *
find_in_environment (GError **error)
{
  const char *token = hr_s3_env ("AWS_SECURITY_TOKEN"), *expiry;
  HrS3Source *source;

  if (!token)
    token = hr_s3_env ("AWS_SESSION_TOKEN");
  if (!hr_s3_env ("AWS_SECRET_ACCESS_KEY")) {
    fail (error, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
    return NULL;
  }
  expiry = hr_s3_env ("AWS_CREDENTIAL_EXPIRATION");
  if (expiry && hr_s3_keys_time (expiry) < 0) {
    fail (error, "AWS_CREDENTIAL_EXPIRATION is \"%s\", no time like 2026-01-31T12:00:00Z", expiry);
    return NULL;
  }
  if (expiry && hr_s3_keys_time (expiry) <= g_get_real_time () / G_USEC_PER_SEC) {
    fail (error,
          "the credentials in the environment have expired at %s, says "
          "AWS_CREDENTIAL_EXPIRATION; set new ones",
          expiry);
    return NULL;
  }
  source = new_source (HR_S3_SOURCE_KEYS, "environment", NULL);
  source->keys.access_key = g_strdup (hr_s3_env ("AWS_ACCESS_KEY_ID"));
  source->keys.secret_key = g_strdup (hr_s3_env ("AWS_SECRET_ACCESS_KEY"));
  source->keys.session_token = g_strdup (token);
  return check_keys (source, "the environment", error);
}

/* ---- profiles ---- */

static const char *
get (const HrS3Profile *profile, const char *key)
{
  return hr_s3_profile_get (profile, key);
}

static HrS3Source *
find_keys (const HrS3Profile *profile, HrS3ProfileFile file, GError **error)
{
  const char *access_key = hr_s3_profile_get_in (profile, file, "aws_access_key_id");
  const char *secret_key = hr_s3_profile_get_in (profile, file, "aws_secret_access_key");
  const char *token = hr_s3_profile_get_in (profile, file, "aws_security_token");
  g_autofree char *where = NULL;
  HrS3Source *source;

  if (!token)
    token = hr_s3_profile_get_in (profile, file, "aws_session_token");
  source =
      new_source (HR_S3_SOURCE_KEYS,
                  file == HR_S3_PROFILE_CREDENTIALS ? "credentials file" : "config file", profile);
  source->keys.access_key = g_strdup (access_key);
  source->keys.secret_key = g_strdup (secret_key);
  source->keys.session_token = g_strdup (token);
  where = g_strdup_printf ("profile \"%s\" of the %s", source->profile, source->method);
  return check_keys (source, where, error);
}

static gboolean
set_sts (HrS3Source *source, const Finder *finder, const HrS3Profile *profile, GError **error)
{
  const char *ca_bundle = hr_s3_env ("AWS_CA_BUNDLE");

  source->ca_bundle = g_strdup (ca_bundle ? ca_bundle : get (profile, "ca_bundle"));
  source->region = g_strdup (finder->region);
  source->url = hr_s3_endpoint_sts (profile, &source->region, error);
  return source->url != NULL;
}

/* what the environment says comes before what the profile says, each for itself */
static const char *
get_identity (const HrS3Profile *profile, gboolean environment, const char *variable,
              const char *key)
{
  const char *value = environment ? hr_s3_env (variable) : NULL;

  return value ? value : get (profile, key);
}

static HrS3Source *
find_web_identity (const Finder *finder, const HrS3Profile *profile, gboolean environment,
                   GError **error)
{
  const char *role = get_identity (profile, environment, "AWS_ROLE_ARN", "role_arn");
  g_autoptr (HrS3Source) source = new_source (HR_S3_SOURCE_WEB_IDENTITY, "web identity", profile);

  if (!role) {
    fail (error,
          "a web identity token is configured without a role: set AWS_ROLE_ARN, or role_arn in "
          "profile \"%s\"",
          source->profile);
    return NULL;
  }
  source->role_arn = g_strdup (role);
  source->token_file = g_strdup (get_identity (profile, environment, "AWS_WEB_IDENTITY_TOKEN_FILE",
                                               "web_identity_token_file"));
  source->session_name =
      g_strdup (get_identity (profile, environment, "AWS_ROLE_SESSION_NAME", "role_session_name"));
  return set_sts (source, finder, profile, error) ? g_steal_pointer (&source) : NULL;
}

static HrS3Source *
find_process (const HrS3Profile *profile)
{
  HrS3Source *source = new_source (HR_S3_SOURCE_PROCESS, "credential_process", profile);

  source->command = g_strdup (get (profile, "credential_process"));
  return source;
}

static void
refuse_login (const HrS3Profile *profile, const char *what, const char *command, GError **error)
{
  const char *name = hr_s3_profile_get_name (profile);

  fail (error,
        "profile \"%s\" signs in by %s, which only the AWS command line tool does: run \"%s "
        "--profile %s\", and name a profile that has \"credential_process = aws configure "
        "export-credentials --profile %s --format process\"",
        name, what, command, name, name);
}

/* the ways of one profile, but for roles. NULL without an error: it has none */
static HrS3Source *
find_in_profile (const Finder *finder, const HrS3Profile *profile, gboolean environment,
                 GError **error)
{
  if (get_identity (profile, environment, "AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"))
    return find_web_identity (finder, profile, environment, error);
  if (get (profile, "sso_account_id") || get (profile, "sso_role_name")) {
    refuse_login (profile, "single sign-on (sso_…)", "aws sso login", error);
    return NULL;
  }
  if (hr_s3_profile_get_in (profile, HR_S3_PROFILE_CREDENTIALS, "aws_access_key_id"))
    return find_keys (profile, HR_S3_PROFILE_CREDENTIALS, error);
  if (get (profile, "login_session")) {
    refuse_login (profile, "login_session", "aws login", error);
    return NULL;
  }
  if (get (profile, "credential_process"))
    return find_process (profile);
  if (hr_s3_profile_get_in (profile, HR_S3_PROFILE_CONFIG, "aws_access_key_id"))
    return find_keys (profile, HR_S3_PROFILE_CONFIG, error);
  return NULL;
}

static HrS3Source *
find_container (void)
{
  HrS3Source *source = new_source (HR_S3_SOURCE_CONTAINER, "container", NULL);

  source->url = hr_s3_container_url ();
  source->token_file = g_strdup (hr_s3_container_token_file ());
  source->token = g_strdup (hr_s3_container_token ());
  return source;
}

/* @shown: (nullable): the profile to name where there are no keys at all */
static HrS3Source *
find_instance (const HrS3Profile *profile, const HrS3Profile *shown)
{
  HrS3Source *source = new_source (HR_S3_SOURCE_INSTANCE, "instance metadata", shown);

  source->url = hr_s3_instance_url (profile);
  source->timeout = hr_s3_instance_timeout (profile);
  source->tries = hr_s3_instance_tries (profile);
  return source;
}

/* ---- roles ---- */

static gboolean
has_role (const HrS3Profile *profile)
{
  return get (profile, "role_arn") && !get (profile, "web_identity_token_file");
}

static gboolean
has_keys (const HrS3Profile *profile)
{
  return get (profile, "aws_access_key_id") || get (profile, "aws_secret_access_key");
}

static gboolean
is_visited (const Finder *finder, const char *name)
{
  return g_ptr_array_find_with_equal_func (finder->visited, name, g_str_equal, NULL);
}

static HrS3Source *
find_source_profile (Finder *finder, const HrS3Profile *parent, const char *name, GError **error)
{
  const char *parent_name = hr_s3_profile_get_name (parent);
  g_autoptr (HrS3Profile) profile = hr_s3_profile_load (name, error);
  HrS3Source *source;
  GError *failure = NULL;

  if (!profile)
    return NULL;
  if (!hr_s3_profile_exists (profile)) {
    fail (error, "profile \"%s\" has source_profile = %s, and there is no such profile",
          parent_name, name);
    return NULL;
  }
  /* a profile may name itself, for keys that stand beside the role */
  if ((is_visited (finder, name) && (strcmp (name, parent_name) != 0 || !has_keys (profile)))
      || finder->visited->len >= MAX_ROLES) {
    g_ptr_array_add (finder->visited, (gpointer)name);
    g_ptr_array_add (finder->visited, NULL);
    {
      g_autofree char *path = g_strjoinv (" → ", (char **)finder->visited->pdata);

      fail (error, "the profiles name each other as source_profile in a circle: %s", path);
    }
    return NULL;
  }
  g_ptr_array_add (finder->visited, (gpointer)name);
  if (!has_keys (profile) && has_role (profile))
    return find_role (finder, profile, error);
  source = find_in_profile (finder, profile, FALSE, &failure);
  if (!source && failure)
    g_propagate_error (error, failure);
  else if (!source)
    fail (error, "profile \"%s\" has source_profile = %s, which has no credentials", parent_name,
          name);
  return source;
}

static HrS3Source *
find_named_source (const HrS3Profile *profile, const char *word, GError **error)
{
  const char *name = hr_s3_profile_get_name (profile);

  if (strcmp (word, "Environment") == 0) {
    if (hr_s3_env ("AWS_ACCESS_KEY_ID"))
      return find_in_environment (error);
    fail (error,
          "profile \"%s\" has credential_source = Environment, and AWS_ACCESS_KEY_ID is not set",
          name);
  } else if (strcmp (word, "EcsContainer") == 0) {
    if (hr_s3_container_is_set ())
      return find_container ();
    fail (error,
          "profile \"%s\" has credential_source = EcsContainer, and neither "
          "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set",
          name);
  } else if (strcmp (word, "Ec2InstanceMetadata") == 0) {
    if (!hr_s3_instance_is_disabled ())
      return find_instance (profile, NULL);
    fail (error,
          "profile \"%s\" has credential_source = Ec2InstanceMetadata, and "
          "AWS_EC2_METADATA_DISABLED is true",
          name);
  } else {
    fail (error,
          "profile \"%s\" has credential_source = %s: it takes Environment, EcsContainer or "
          "Ec2InstanceMetadata",
          name, word);
  }
  return NULL;
}

static HrS3Source *
find_role (Finder *finder, const HrS3Profile *profile, GError **error)
{
  g_autoptr (HrS3Source) source = new_source (HR_S3_SOURCE_ROLE, "assumed role", profile);
  const char *from = get (profile, "source_profile"), *word = get (profile, "credential_source");
  const char *duration = get (profile, "duration_seconds");

  if (from && word) {
    fail (error, "profile \"%s\" has both source_profile and credential_source; one must go",
          source->profile);
    return NULL;
  }
  if (!from && !word) {
    fail (error,
          "profile \"%s\" has a role_arn and no source_profile, credential_source or "
          "web_identity_token_file to assume the role with",
          source->profile);
    return NULL;
  }
  if (get (profile, "mfa_serial")) {
    fail (
        error,
        "profile \"%s\" has an mfa_serial, and nobody is here to type a code: run \"aws configure "
        "export-credentials --profile %s --format env\" and set what it prints",
        source->profile, source->profile);
    return NULL;
  }
  /* what is no number is left out, as the AWS tools do */
  if (duration && g_ascii_string_to_unsigned (duration, 10, 1, 1000000, NULL, NULL))
    source->duration = g_strdup (duration);
  source->role_arn = g_strdup (get (profile, "role_arn"));
  source->session_name = g_strdup (get (profile, "role_session_name"));
  source->external_id = g_strdup (get (profile, "external_id"));
  if (!set_sts (source, finder, profile, error))
    return NULL;
  source->from = from ? find_source_profile (finder, profile, from, error)
                      : find_named_source (profile, word, error);
  return source->from ? g_steal_pointer (&source) : NULL;
}

/* ---- the whole ---- */

static HrS3Source *
find_beside_profiles (const HrS3Profile *profile, GError **error)
{
  if (hr_s3_container_is_set ())
    return find_container ();
  if (!hr_s3_instance_is_disabled ())
    return find_instance (profile, profile);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN, HR_S3_NO_CREDENTIALS,
               hr_s3_profile_get_name (profile),
               "instance metadata is off (AWS_EC2_METADATA_DISABLED)");
  return NULL;
}

static gboolean
check_profile (const HrS3Profile *profile, const char *wanted, GError **error)
{
  if (hr_s3_profile_exists (profile)
      || (!wanted && !hr_s3_env ("AWS_PROFILE") && !hr_s3_env ("AWS_DEFAULT_PROFILE")))
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
               "there is no profile \"%s\" in ~/.aws/credentials or ~/.aws/config",
               hr_s3_profile_get_name (profile));
  return FALSE;
}

HrS3Source *
hr_s3_source_find (const char *wanted, const char *region, GError **error)
{
  g_autoptr (HrS3Profile) profile = hr_s3_profile_load (hr_s3_source_profile (wanted), error);
  g_autoptr (GPtrArray) visited = g_ptr_array_new ();
  Finder finder = { .region = region, .visited = visited };
  GError *failure = NULL;
  HrS3Source *source;

  if (!profile || !check_profile (profile, wanted, error))
    return NULL;
  /* a profile that was asked for comes before what happens to be in the environment */
  if (!wanted && hr_s3_env ("AWS_ACCESS_KEY_ID"))
    return find_in_environment (error);
  g_ptr_array_add (visited, (gpointer)hr_s3_profile_get_name (profile));
  if (has_role (profile))
    return find_role (&finder, profile, error);
  source = find_in_profile (&finder, profile, !wanted, &failure);
  if (source)
    return source;
  if (failure) {
    g_propagate_error (error, failure);
    return NULL;
  }
  return find_beside_profiles (profile, error);
}

static void
add_text (GString *text, const char *value)
{
  g_string_append (text, value ? value : "\x01");
  g_string_append_c (text, '\x02');
}

static void
describe (const HrS3Source *source, GString *text)
{
  g_string_append_printf (text, "%d ", source->kind);
  add_text (text, source->keys.access_key);
  add_text (text, source->keys.secret_key);
  add_text (text, source->keys.session_token);
  add_text (text, source->role_arn);
  add_text (text, source->session_name);
  add_text (text, source->external_id);
  add_text (text, source->duration);
  add_text (text, source->token_file);
  add_text (text, source->token);
  add_text (text, source->command);
  add_text (text, source->url);
  add_text (text, source->region);
  add_text (text, source->ca_bundle);
  if (source->from)
    describe (source->from, text);
}

char *
hr_s3_source_digest (const HrS3Source *source)
{
  g_autoptr (GString) text = g_string_new (NULL);

  describe (source, text);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, text->len);
}
