/* s3-endpoint.c: hosts of AWS's services, and endpoints that take their place */
#include "s3-endpoint.h"
#include "hr-error.h"
#include "media-link.h"
#include <string.h>

/* a label of a host name */
#define MAX_REGION 63

const char *
hr_s3_env (const char *name)
{
  const char *value = g_getenv (name);

  return value && *value ? value : NULL;
}

gboolean
hr_s3_endpoint_parse (HrS3Endpoint *endpoint, const char *url, GError **error)
{
  g_autoptr (GUri) uri = g_uri_parse (url, G_URI_FLAGS_NONE, NULL);
  const char *scheme = uri ? g_uri_get_scheme (uri) : NULL,
             *host = uri ? g_uri_get_host (uri) : NULL;
  int port = uri ? g_uri_get_port (uri) : -1, standard;

  *endpoint = (HrS3Endpoint){ 0 };
  if (!host || !*host || (strcmp (scheme, "http") != 0 && strcmp (scheme, "https") != 0)
      || g_uri_get_query (uri) || g_uri_get_userinfo (uri)) {
    g_autofree char *shown = hr_media_link_hide_secrets (url);

    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is no endpoint: http://HOST:PORT or https://HOST", shown);
    return FALSE;
  }
  standard = strcmp (scheme, "http") == 0 ? 80 : 443;
  endpoint->scheme = g_strdup (scheme);
  endpoint->host = g_strdup_printf (strchr (host, ':') ? "[%s]" : "%s", host);
  if (port > 0 && port != standard) {
    g_autofree char *name = g_steal_pointer (&endpoint->host);

    endpoint->host = g_strdup_printf ("%s:%d", name, port);
  }
  endpoint->base = g_strdup (g_uri_get_path (uri));
  while (g_str_has_suffix (endpoint->base, "/"))
    endpoint->base[strlen (endpoint->base) - 1] = '\0';
  return TRUE;
}

gboolean
hr_s3_region_is_name (const char *region)
{
  gsize length = strspn (region, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_");

  return length > 0 && length <= MAX_REGION && region[length] == '\0';
}

void
hr_s3_endpoint_clear (HrS3Endpoint *endpoint)
{
  g_clear_pointer (&endpoint->scheme, g_free);
  g_clear_pointer (&endpoint->host, g_free);
  g_clear_pointer (&endpoint->base, g_free);
}

static gboolean
find_flag (gboolean *flag, const char *variable, const HrS3Profile *profile, const char *key,
           GError **error)
{
  const char *value =
      hr_s3_env (variable) ? hr_s3_env (variable) : hr_s3_profile_get (profile, key);

  *flag = value && g_ascii_strcasecmp (value, "true") == 0;
  if (!value || *flag || g_ascii_strcasecmp (value, "false") == 0)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
               "%s (or %s in the profile) is \"%s\": it takes true or false", variable, key, value);
  return FALSE;
}

gboolean
hr_s3_variant_find (HrS3Variant *variant, const HrS3Profile *profile, GError **error)
{
  /* S3's own setting is the older one, and comes first */
  const char *key = hr_s3_profile_get (profile, "s3.use_dualstack_endpoint")
                        ? "s3.use_dualstack_endpoint"
                        : "use_dualstack_endpoint";

  return find_flag (&variant->fips, "AWS_USE_FIPS_ENDPOINT", profile, "use_fips_endpoint", error)
         && find_flag (&variant->dualstack, "AWS_USE_DUALSTACK_ENDPOINT", profile, key, error);
}

char *
hr_s3_endpoint_host (const char *service, const char *region, const HrS3Variant *variant)
{
  gboolean china = g_str_has_prefix (region, "cn-");
  const char *fips = variant->fips ? "-fips" : "";

  if (!variant->dualstack)
    return g_strdup_printf ("%s%s.%s.amazonaws.com%s", service, fips, region, china ? ".cn" : "");
  if (strcmp (service, "s3") == 0) /* it had names of both kinds before the others had */
    return g_strdup_printf ("s3%s.dualstack.%s.amazonaws.com%s", fips, region, china ? ".cn" : "");
  return g_strdup_printf ("%s%s.%s.%s", service, fips, region,
                          china ? "api.amazonwebservices.com.cn" : "api.aws");
}

char *
hr_s3_endpoint_find (const char *service, const HrS3Profile *profile)
{
  g_autofree char *upper = g_ascii_strup (service, -1);
  g_autofree char *variable = g_strconcat ("AWS_ENDPOINT_URL_", upper, NULL);
  g_autofree char *key = g_strconcat ("services.", service, ".endpoint_url", NULL);
  const char *ignored = hr_s3_env ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), *url;

  if (!ignored)
    ignored = hr_s3_profile_get (profile, "ignore_configured_endpoint_urls");
  if (ignored && g_ascii_strcasecmp (ignored, "true") == 0)
    return NULL;
  url = hr_s3_env (variable);
  if (!url)
    url = hr_s3_env ("AWS_ENDPOINT_URL");
  if (!url)
    url = hr_s3_profile_get (profile, key);
  return g_strdup (url ? url : hr_s3_profile_get (profile, "endpoint_url"));
}

/* regions that had their own host only later: "legacy" means the global one there */
static gboolean
is_legacy_region (const char *region)
{
  static const char *const regions[] = { "ap-northeast-1", "ap-south-1", "ap-southeast-1",
                                         "ap-southeast-2", "aws-global", "ca-central-1",
                                         "eu-central-1",   "eu-north-1", "eu-west-1",
                                         "eu-west-2",      "eu-west-3",  "sa-east-1",
                                         "us-east-1",      "us-east-2",  "us-west-1",
                                         "us-west-2",      NULL };

  return g_strv_contains (regions, region);
}

char *
hr_s3_endpoint_sts (const HrS3Profile *profile, char **region, GError **error)
{
  g_autofree char *host = NULL, *url = hr_s3_endpoint_find ("sts", profile);
  g_auto (HrS3Endpoint) endpoint = { 0 };
  const char *mode = hr_s3_env ("AWS_STS_REGIONAL_ENDPOINTS");
  HrS3Variant variant;

  if (!mode)
    mode = hr_s3_profile_get (profile, "sts_regional_endpoints");
  if (mode && g_ascii_strcasecmp (mode, "legacy") != 0
      && g_ascii_strcasecmp (mode, "regional") != 0) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "AWS_STS_REGIONAL_ENDPOINTS (or sts_regional_endpoints in the profile) is \"%s\": "
                 "it takes regional or legacy",
                 mode);
    return NULL;
  }
  if (!hr_s3_variant_find (&variant, profile, error))
    return NULL;
  if (url)
    return hr_s3_endpoint_parse (&endpoint, url, error)
               ? g_strconcat (endpoint.scheme, "://", endpoint.host, endpoint.base, "/", NULL)
               : NULL;
  if (mode && g_ascii_strcasecmp (mode, "legacy") == 0 && is_legacy_region (*region)
      && !variant.fips && !variant.dualstack) {
    g_free (*region);
    *region = g_strdup ("us-east-1");
    return g_strdup ("https://sts.amazonaws.com/");
  }
  host = hr_s3_endpoint_host ("sts", *region, &variant);
  return g_strconcat ("https://", host, "/", NULL);
}
