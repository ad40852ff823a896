/* s3-endpoint.h: hosts of AWS's services, and endpoints that take their place */
#pragma once
#include "s3-profile.h"

G_BEGIN_DECLS

typedef struct {
  char *scheme;
  char *host; /* with the port, unless it is the scheme's own */
  char *base; /* path, "" or "/s3" */
} HrS3Endpoint;

/* @error: #HR_PARSE_ERROR_BAD_VALUE for what is no http:// or https:// URL */
gboolean hr_s3_endpoint_parse (HrS3Endpoint *endpoint, const char *url, GError **error);
void hr_s3_endpoint_clear (HrS3Endpoint *endpoint);

/* Of letters, digits, "-" and "_": a region becomes part of host names and of headers, and a server
 * may tell one. */
gboolean hr_s3_region_is_name (const char *region);

/* what AWS's hosts are to be like */
typedef struct {
  gboolean fips;
  gboolean dualstack;
} HrS3Variant;

/* AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, or the profile's; @error: a value that is
 * neither true nor false */
gboolean hr_s3_variant_find (HrS3Variant *variant, const HrS3Profile *profile, GError **error);
/* "s3.eu-west-1.amazonaws.com"; @service: "s3" or "sts"; (transfer full) */
char *hr_s3_endpoint_host (const char *service, const char *region, const HrS3Variant *variant);

/* AWS_ENDPOINT_URL_@service, AWS_ENDPOINT_URL, the profile's services and endpoint_url, unless
 * AWS_IGNORE_CONFIGURED_ENDPOINT_URLS; @service: "s3"; (transfer full) (nullable) */
char *hr_s3_endpoint_find (const char *service, const HrS3Profile *profile);

/**
 * hr_s3_endpoint_sts:
 * @region: (inout) (transfer full): where the caller is; then what to sign for
 * @error: as above
 *
 * Returns: (transfer full): the URL of the security token service: the region's own, with
 *   sts_regional_endpoints=legacy the global one
 */
char *hr_s3_endpoint_sts (const HrS3Profile *profile, char **region, GError **error);

/* the value of an environment variable; an empty one is one that is not set. (nullable) */
const char *hr_s3_env (const char *name);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Endpoint, hr_s3_endpoint_clear)

G_END_DECLS
