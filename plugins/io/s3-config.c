/* s3-config.c: which server, whose credentials, what URL a key has */
#include "s3-config.h"
#include "hr-error.h"
#include "hr-sync.h"
#include "s3-profile.h"
#include "sigv4.h"
#include <string.h>

#define SKEW_SECONDS 30

typedef struct {
  char *access_key;
  char *secret_key;
  char *session_token;
} Credentials;

struct _HrS3Config {
  gint ref_count;
  char *profile; /* NULL: not set by property */
  gboolean anonymous;
  HrS3Addressing addressing;
  char *scheme;
  char *host; /* with the port, unless it is the scheme's own; NULL: AWS */
  char *base; /* path of the endpoint, "" or "/s3" */
  char *region;
  char *ca_bundle;
  HrSigv4Keys *keys;

  HrMutex lock; /* for what follows */
  guint state;  /* changes with what follows */
  Credentials credentials;
  GHashTable *regions; /* of buckets */
  gint64 skew;         /* server's clock - ours */
};

static void
credentials_clear (Credentials *credentials)
{
  g_clear_pointer (&credentials->access_key, g_free);
  g_clear_pointer (&credentials->secret_key, g_free);
  g_clear_pointer (&credentials->session_token, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Credentials, credentials_clear)

/* an empty variable is one that is not set */
static const char *
env (const char *name)
{
  const char *value = g_getenv (name);

  return value && *value ? value : NULL;
}

static const char *
profile_name (const HrS3Config *config)
{
  if (config->profile)
    return config->profile;
  if (env ("AWS_PROFILE"))
    return env ("AWS_PROFILE");
  return env ("AWS_DEFAULT_PROFILE") ? env ("AWS_DEFAULT_PROFILE") : "default";
}

static void
find_credentials (const HrS3Config *config, const HrS3Profile *profile, Credentials *found)
{
  *found = (Credentials){ 0 };
  /* a profile that was asked for comes before what happens to be in the environment */
  if (!config->profile && env ("AWS_ACCESS_KEY_ID") && env ("AWS_SECRET_ACCESS_KEY")) {
    found->access_key = g_strdup (env ("AWS_ACCESS_KEY_ID"));
    found->secret_key = g_strdup (env ("AWS_SECRET_ACCESS_KEY"));
    found->session_token = g_strdup (env ("AWS_SESSION_TOKEN"));
  } else if (hr_s3_profile_get (profile, "aws_access_key_id")
             && hr_s3_profile_get (profile, "aws_secret_access_key")) {
    found->access_key = g_strdup (hr_s3_profile_get (profile, "aws_access_key_id"));
    found->secret_key = g_strdup (hr_s3_profile_get (profile, "aws_secret_access_key"));
    found->session_token = g_strdup (hr_s3_profile_get (profile, "aws_session_token"));
  }
}

static gboolean
set_endpoint (HrS3Config *config, const char *endpoint, GError **error)
{
  g_autoptr (GUri) uri = g_uri_parse (endpoint, G_URI_FLAGS_NONE, NULL);
  const char *scheme = uri ? g_uri_get_scheme (uri) : NULL,
             *host = uri ? g_uri_get_host (uri) : NULL;
  int port = uri ? g_uri_get_port (uri) : -1, standard;

  if (!host || !*host || (strcmp (scheme, "http") != 0 && strcmp (scheme, "https") != 0)
      || g_uri_get_query (uri) || g_uri_get_userinfo (uri)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is no endpoint: http://HOST:PORT or https://HOST", endpoint);
    return FALSE;
  }
  standard = strcmp (scheme, "http") == 0 ? 80 : 443;
  config->scheme = g_strdup (scheme);
  config->host = g_strdup_printf (strchr (host, ':') ? "[%s]" : "%s", host);
  if (port > 0 && port != standard) {
    g_autofree char *name = g_steal_pointer (&config->host);

    config->host = g_strdup_printf ("%s:%d", name, port);
  }
  config->base = g_strdup (g_uri_get_path (uri));
  while (g_str_has_suffix (config->base, "/"))
    config->base[strlen (config->base) - 1] = '\0';
  return TRUE;
}

static HrS3Addressing
choose_addressing (HrS3Addressing wanted, const HrS3Profile *profile)
{
  const char *style = hr_s3_profile_get (profile, "s3.addressing_style");

  if (wanted != HR_S3_ADDRESSING_AUTO || !style)
    return wanted;
  if (g_ascii_strcasecmp (style, "path") == 0)
    return HR_S3_ADDRESSING_PATH;
  return g_ascii_strcasecmp (style, "virtual") == 0 ? HR_S3_ADDRESSING_VIRTUAL
                                                    : HR_S3_ADDRESSING_AUTO;
}

static const char *
first (const char *a, const char *b, const char *c, const char *d)
{
  return a && *a ? a : b ? b : c ? c : d;
}

static gboolean
check_credentials (HrS3Config *config, const HrS3Profile *profile, GError **error)
{
  if (config->anonymous || config->credentials.access_key)
    return TRUE;
  if ((config->profile || env ("AWS_PROFILE")) && !hr_s3_profile_exists (profile))
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
                 "there is no profile \"%s\" in ~/.aws/credentials or ~/.aws/config",
                 profile_name (config));
  else
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN,
                 "no S3 credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set, "
                 "nor has profile \"%s\" any; public data needs no-sign-request=true",
                 profile_name (config));
  return FALSE;
}

HrS3Config *
hr_s3_config_new (const HrS3Settings *settings, GError **error)
{
  g_autoptr (HrS3Config) config = g_new0 (HrS3Config, 1);
  g_autoptr (HrS3Profile) profile = NULL;
  const char *endpoint;

  config->ref_count = 1;
  hr_mutex_init (&config->lock);
  config->keys = hr_sigv4_keys_new ();
  config->regions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  config->profile = settings->profile && *settings->profile ? g_strdup (settings->profile) : NULL;
  config->anonymous = settings->no_sign_request;

  profile = hr_s3_profile_load (profile_name (config), error);
  if (!profile)
    return NULL;
  find_credentials (config, profile, &config->credentials);
  if (!check_credentials (config, profile, error))
    return NULL;
  config->region =
      g_strdup (first (settings->region, env ("AWS_REGION"), env ("AWS_DEFAULT_REGION"),
                       hr_s3_profile_get (profile, "region")));
  if (!config->region)
    config->region = g_strdup ("us-east-1");
  config->ca_bundle = g_strdup (
      first (env ("AWS_CA_BUNDLE"), hr_s3_profile_get (profile, "ca_bundle"), NULL, NULL));
  config->addressing = choose_addressing (settings->addressing, profile);
  endpoint = first (settings->endpoint, env ("AWS_ENDPOINT_URL_S3"), env ("AWS_ENDPOINT_URL"),
                    hr_s3_profile_get (profile, "endpoint_url"));
  if (endpoint && !set_endpoint (config, endpoint, error))
    return NULL;
  return g_steal_pointer (&config);
}

HrS3Config *
hr_s3_config_ref (HrS3Config *config)
{
  g_atomic_int_inc (&config->ref_count);
  return config;
}

void
hr_s3_config_unref (HrS3Config *config)
{
  if (!g_atomic_int_dec_and_test (&config->ref_count))
    return;
  g_free (config->profile);
  g_free (config->scheme);
  g_free (config->host);
  g_free (config->base);
  g_free (config->region);
  g_free (config->ca_bundle);
  credentials_clear (&config->credentials);
  g_hash_table_unref (config->regions);
  hr_sigv4_keys_free (config->keys);
  hr_mutex_clear (&config->lock);
  g_free (config);
}

const char *
hr_s3_config_get_ca_bundle (HrS3Config *config)
{
  return config->ca_bundle;
}

char *
hr_s3_config_get_region (HrS3Config *config, const char *bucket)
{
  char *region;

  hr_mutex_lock (&config->lock);
  region = bucket ? g_hash_table_lookup (config->regions, bucket) : NULL;
  region = g_strdup (region ? region : config->region);
  hr_mutex_unlock (&config->lock);
  return region;
}

static char *
aws_host (const char *region)
{
  return g_strdup_printf ("s3.%s.amazonaws.com%s", region,
                          g_str_has_prefix (region, "cn-") ? ".cn" : "");
}

char *
hr_s3_config_get_endpoint (HrS3Config *config)
{
  g_autofree char *host = config->host ? g_strdup (config->host) : aws_host (config->region);

  return g_strconcat (config->host ? config->scheme : "https", "://", host,
                      config->base ? config->base : "", NULL);
}

/* may it be a label of a host name, with a certificate for *.host? */
static gboolean
is_label (const char *bucket)
{
  gsize length = strlen (bucket);

  for (const char *c = bucket; *c; c++)
    if (!g_ascii_islower (*c) && !g_ascii_isdigit (*c) && *c != '-')
      return FALSE;
  return length >= 3 && length <= 63 && *bucket != '-' && bucket[length - 1] != '-';
}

/* can it have names below it? */
static gboolean
is_domain (const char *host)
{
  g_autofree char *name = g_strndup (host, strcspn (host, ":"));

  return *host != '[' && strchr (name, '.') && !g_hostname_is_ip_address (name)
         && !g_str_has_suffix (name, ".localhost");
}

static gboolean
use_path_style (const HrS3Config *config, const char *bucket)
{
  switch (config->addressing) {
  case HR_S3_ADDRESSING_PATH:
    return TRUE;
  case HR_S3_ADDRESSING_VIRTUAL:
    return FALSE;
  default:
    return !is_label (bucket) || (config->host && !is_domain (config->host));
  }
}

void
hr_s3_config_locate (HrS3Config *config, const char *bucket, const char *key, const char *query,
                     HrS3Place *place)
{
  g_autofree char *region = hr_s3_config_get_region (config, bucket);
  g_autofree char *host = config->host ? g_strdup (config->host) : aws_host (region);
  GString *path = g_string_new (config->base);

  g_string_append_c (path, '/');
  if (use_path_style (config, bucket)) {
    place->host = g_steal_pointer (&host);
    hr_uri_encode (path, bucket, -1, FALSE);
    if (*key)
      g_string_append_c (path, '/');
  } else {
    place->host = g_strconcat (bucket, ".", host, NULL);
  }
  hr_uri_encode (path, key, -1, TRUE);
  place->path = g_string_free (path, FALSE);
  place->url = g_strconcat (config->host ? config->scheme : "https", "://", place->host,
                            place->path, *query ? "?" : "", query, NULL);
}

void
hr_s3_place_clear (HrS3Place *place)
{
  g_clear_pointer (&place->host, g_free);
  g_clear_pointer (&place->path, g_free);
  g_clear_pointer (&place->url, g_free);
}

guint
hr_s3_config_sign (HrS3Config *config, const char *method, const char *bucket,
                   const HrS3Place *place, const char *query, GPtrArray *headers)
{
  g_autofree char *region = hr_s3_config_get_region (config, bucket);
  g_auto (Credentials) used = { 0 };
  HrSigv4Request request;
  gint64 skew;
  guint state;

  hr_mutex_lock (&config->lock);
  used.access_key = g_strdup (config->credentials.access_key);
  used.secret_key = g_strdup (config->credentials.secret_key);
  used.session_token = g_strdup (config->credentials.session_token);
  skew = config->skew;
  state = config->state;
  hr_mutex_unlock (&config->lock);
  if (config->anonymous)
    return state;

  request = (HrSigv4Request){ .access_key = used.access_key,
                              .secret_key = used.secret_key,
                              .session_token = used.session_token,
                              .region = region,
                              .service = "s3",
                              .method = method,
                              .host = place->host,
                              .path = place->path,
                              .query = query,
                              .payload_hash = HR_SIGV4_EMPTY,
                              .sign_payload_hash = TRUE,
                              .time = g_get_real_time () / G_USEC_PER_SEC + skew };
  hr_sigv4_sign (config->keys, &request, headers, NULL);
  return state;
}

static gboolean
same_credentials (const Credentials *a, const Credentials *b)
{
  return g_strcmp0 (a->access_key, b->access_key) == 0
         && g_strcmp0 (a->secret_key, b->secret_key) == 0
         && g_strcmp0 (a->session_token, b->session_token) == 0;
}

gboolean
hr_s3_config_refresh (HrS3Config *config, guint used)
{
  g_autoptr (HrS3Profile) profile = hr_s3_profile_load (profile_name (config), NULL);
  g_auto (Credentials) found = { 0 };
  gboolean changed;

  if (!profile || config->anonymous)
    return FALSE;
  find_credentials (config, profile, &found);
  hr_mutex_lock (&config->lock);
  if (found.access_key && !same_credentials (&found, &config->credentials)) {
    Credentials old = config->credentials;

    config->credentials = found;
    found = old;
    config->state++;
  }
  changed = config->state != used;
  hr_mutex_unlock (&config->lock);
  return changed;
}

gboolean
hr_s3_config_set_region (HrS3Config *config, guint used, const char *bucket, const char *region)
{
  gboolean changed;

  hr_mutex_lock (&config->lock);
  if (g_strcmp0 (g_hash_table_lookup (config->regions, bucket), region) != 0) {
    g_hash_table_insert (config->regions, g_strdup (bucket), g_strdup (region));
    config->state++;
  }
  changed = config->state != used;
  hr_mutex_unlock (&config->lock);
  return changed;
}

gboolean
hr_s3_config_set_clock (HrS3Config *config, guint used, gint64 server_time)
{
  gint64 skew = server_time - g_get_real_time () / G_USEC_PER_SEC;
  gboolean changed;

  hr_mutex_lock (&config->lock);
  if (ABS (skew - config->skew) > SKEW_SECONDS) {
    config->skew = skew;
    config->state++;
  }
  changed = config->state != used;
  hr_mutex_unlock (&config->lock);
  return changed;
}
