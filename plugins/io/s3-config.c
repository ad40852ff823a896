/* s3-config.c: which server, whose credentials, what URL a key has */
#include "s3-config.h"
#include "hr-error.h"
#include "hr-sync.h"
#include "s3-credentials.h"
#include "s3-endpoint.h"
#include "server-clock.h"
#include "sigv4.h"
#include <string.h>

struct _HrS3Config {
  gint ref_count;
  char *profile; /* NULL: not set by property */
  gboolean anonymous;
  gboolean requester_pays;
  HrS3Addressing addressing;
  HrS3Endpoint endpoint; /* host NULL: AWS */
  HrS3Variant variant;   /* of AWS */
  char *region;
  char *ca_bundle;
  HrSigv4Keys *keys;

  HrMutex lock; /* for what follows */
  guint state;  /* changes with what follows; see get_state() */
  HrS3Credentials *credentials;
  GHashTable *regions; /* of buckets */
  HrServerClock clock;
};

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
find_endpoint (HrS3Config *config, const char *wanted, const HrS3Profile *profile, GError **error)
{
  g_autofree char *found =
      wanted && *wanted ? g_strdup (wanted) : hr_s3_endpoint_find ("s3", profile);

  if (!hr_s3_variant_find (&config->variant, profile, error))
    return FALSE;
  if (!found)
    return TRUE;
  if (config->variant.fips || config->variant.dualstack) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "%s hosts are wanted (environment or profile), and the endpoint %s is none of "
                 "AWS's; one of the two must go",
                 config->variant.fips ? "FIPS" : "dual-stack", found);
    return FALSE;
  }
  return hr_s3_endpoint_parse (&config->endpoint, found, error);
}

static gboolean
find_credentials (HrS3Config *config, GError **error)
{
  HrS3Source *source;

  if (config->anonymous && config->requester_pays)
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "requester-pays=true needs credentials, to know who pays: not with "
                 "no-sign-request=true");
  if (config->anonymous)
    return !config->requester_pays;
  source = hr_s3_source_find (config->profile, config->region, error);
  if (source)
    config->credentials = hr_s3_credentials_use (source);
  return source != NULL;
}

HrS3Config *
hr_s3_config_new (const HrS3Settings *settings, GError **error)
{
  g_autoptr (HrS3Config) config = g_new0 (HrS3Config, 1);
  g_autoptr (HrS3Profile) profile = NULL;

  config->ref_count = 1;
  hr_mutex_init (&config->lock);
  config->keys = hr_sigv4_keys_new ();
  config->regions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  config->profile = settings->profile && *settings->profile ? g_strdup (settings->profile) : NULL;
  config->anonymous = settings->no_sign_request;
  config->requester_pays = settings->requester_pays;

  profile = hr_s3_profile_load (hr_s3_source_profile (config->profile), error);
  if (!profile)
    return NULL;
  config->region =
      g_strdup (first (settings->region, hr_s3_env ("AWS_REGION"), hr_s3_env ("AWS_DEFAULT_REGION"),
                       hr_s3_profile_get (profile, "region")));
  if (!config->region)
    config->region = g_strdup ("us-east-1");
  if (!hr_s3_region_is_name (config->region)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is no region: it takes letters, digits, - and _, such as eu-west-1",
                 config->region);
    return NULL;
  }
  config->ca_bundle = g_strdup (
      first (hr_s3_env ("AWS_CA_BUNDLE"), hr_s3_profile_get (profile, "ca_bundle"), NULL, NULL));
  config->addressing = choose_addressing (settings->addressing, profile);
  if (!find_endpoint (config, settings->endpoint, profile, error)
      || !find_credentials (config, error))
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
  hr_s3_endpoint_clear (&config->endpoint);
  g_free (config->region);
  g_free (config->ca_bundle);
  if (config->credentials)
    hr_s3_credentials_leave (config->credentials);
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
get_host (HrS3Config *config, const char *region)
{
  return config->endpoint.host ? g_strdup (config->endpoint.host)
                               : hr_s3_endpoint_host ("s3", region, &config->variant);
}

static const char *
get_scheme (const HrS3Config *config)
{
  return config->endpoint.host ? config->endpoint.scheme : "https";
}

char *
hr_s3_config_get_endpoint (HrS3Config *config)
{
  g_autofree char *host = get_host (config, config->region);

  return g_strconcat (get_scheme (config), "://", host,
                      config->endpoint.host ? config->endpoint.base : "", NULL);
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
    return !is_label (bucket) || (config->endpoint.host && !is_domain (config->endpoint.host));
  }
}

void
hr_s3_config_locate (HrS3Config *config, const char *bucket, const char *key, const char *query,
                     HrS3Place *place)
{
  g_autofree char *region = hr_s3_config_get_region (config, bucket);
  g_autofree char *host = get_host (config, region);
  GString *path = g_string_new (config->endpoint.base);

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
  place->url = g_strconcat (get_scheme (config), "://", place->host, place->path, *query ? "?" : "",
                            query, NULL);
}

void
hr_s3_place_clear (HrS3Place *place)
{
  g_clear_pointer (&place->host, g_free);
  g_clear_pointer (&place->path, g_free);
  g_clear_pointer (&place->url, g_free);
}

/* what has been mended is the configuration's or the credentials'; the lock is held */
static guint
get_state (HrS3Config *config)
{
  return config->state
         + (config->credentials ? hr_s3_credentials_get_state (config->credentials) : 0);
}

/* "X-Amz-Name: value" as it is signed */
static char **
list_amz (const GPtrArray *headers)
{
  g_autoptr (GStrvBuilder) lines = g_strv_builder_new ();

  for (guint i = 0; i < headers->len; i++) {
    g_auto (GStrv) parts = g_strsplit (headers->pdata[i], ":", 2);
    g_autofree char *name = g_ascii_strdown (parts[0], -1), *line = NULL;

    if (!g_str_has_prefix (name, "x-amz-"))
      continue;
    line = g_strconcat (name, ":", g_strstrip (parts[1]), NULL);
    g_strv_builder_add (lines, line);
  }
  return g_strv_builder_end (lines);
}

static void
sign (HrS3Config *config, const HrS3Keys *keys, const char *method, const char *bucket,
      const HrS3Place *place, const char *query, gint64 time, GPtrArray *headers)
{
  g_autofree char *region = hr_s3_config_get_region (config, bucket);
  g_auto (GStrv) amz = NULL;
  HrSigv4Request request = { .access_key = keys->access_key,
                             .secret_key = keys->secret_key,
                             .session_token = keys->session_token,
                             .region = region,
                             .service = "s3",
                             .method = method,
                             .host = place->host,
                             .path = place->path,
                             .query = query,
                             .payload_hash = HR_SIGV4_EMPTY,
                             .sign_payload_hash = TRUE,
                             .time = time };

  if (config->requester_pays)
    g_ptr_array_add (headers, g_strdup ("X-Amz-Request-Payer: requester"));
  amz = list_amz (headers);
  request.headers = (const char *const *)amz;
  hr_sigv4_sign (config->keys, &request, headers, NULL);
}

gboolean
hr_s3_config_sign (HrS3Config *config, const char *method, const char *bucket,
                   const HrS3Place *place, const char *query, GPtrArray *headers, guint *state,
                   GError **error)
{
  g_auto (HrS3Keys) keys = { 0 };
  gboolean found = TRUE;
  guint keys_state = 0;
  gint64 time;

  hr_mutex_lock (&config->lock);
  if (config->credentials)
    found = hr_s3_credentials_get (config->credentials, &keys, &keys_state, error);
  time = hr_server_clock_now (&config->clock);
  *state = config->state + keys_state;
  hr_mutex_unlock (&config->lock);
  if (found && config->credentials)
    sign (config, &keys, method, bucket, place, query, time, headers);
  return found;
}

gboolean
hr_s3_config_is_temporary (HrS3Config *config)
{
  gboolean temporary;

  hr_mutex_lock (&config->lock);
  temporary = config->credentials && hr_s3_credentials_is_temporary (config->credentials);
  hr_mutex_unlock (&config->lock);
  return temporary;
}

void
hr_s3_config_hide_secrets (HrS3Config *config, GString *text)
{
  hr_mutex_lock (&config->lock);
  if (config->credentials)
    hr_s3_credentials_hide (config->credentials, text);
  hr_mutex_unlock (&config->lock);
}

gboolean
hr_s3_config_refresh (HrS3Config *config, guint used)
{
  HrS3Credentials *found = NULL, *old = NULL;
  HrS3Source *source;
  gboolean changed;

  hr_mutex_lock (&config->lock);
  changed = get_state (config) != used;
  hr_mutex_unlock (&config->lock);
  if (changed || config->anonymous)
    return changed;
  /* somebody may have written others down */
  source = hr_s3_source_find (config->profile, config->region, NULL);
  if (source)
    found = hr_s3_credentials_use (source);
  hr_mutex_lock (&config->lock);
  if (found && found != config->credentials) {
    old = config->credentials;
    config->credentials = g_steal_pointer (&found);
    config->state = used - hr_s3_credentials_get_state (config->credentials) + 1;
  }
  changed = get_state (config) != used
            || hr_s3_credentials_renew (config->credentials, used - config->state);
  hr_mutex_unlock (&config->lock);
  if (found)
    hr_s3_credentials_leave (found);
  if (old)
    hr_s3_credentials_leave (old);
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
  changed = get_state (config) != used;
  hr_mutex_unlock (&config->lock);
  return changed;
}

gboolean
hr_s3_config_set_clock (HrS3Config *config, guint used, gint64 server_time)
{
  gboolean changed;

  hr_mutex_lock (&config->lock);
  if (hr_server_clock_set (&config->clock, server_time))
    config->state++;
  changed = get_state (config) != used;
  hr_mutex_unlock (&config->lock);
  return changed;
}
