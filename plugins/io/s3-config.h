/* s3-config.h: which server, whose credentials, what URL a key has */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  HR_S3_ADDRESSING_AUTO,
  HR_S3_ADDRESSING_PATH,   /* https://host/bucket/key */
  HR_S3_ADDRESSING_VIRTUAL /* https://bucket.host/key */
} HrS3Addressing;

/* what an element's properties say; NULL: as environment and profile say */
typedef struct {
  const char *endpoint;
  const char *region;
  const char *profile;
  gboolean no_sign_request;
  gboolean requester_pays;
  HrS3Addressing addressing;
} HrS3Settings;

/**
 * HrS3Config:
 *
 * Refcounted, and may be shared by threads.
 */
typedef struct _HrS3Config HrS3Config;

/**
 * hr_s3_config_new:
 * @settings: from an element's properties
 * @error: #HR_RESOURCE_ERROR, or #HR_PARSE_ERROR_BAD_VALUE for an endpoint that is no URL
 *
 * Finds what is not set in the places the AWS tools use, in their order.
 * Credentials: hr_s3_source_find(); those that must be asked for come later, in the background.
 * Region: AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1. Endpoint:
 * hr_s3_endpoint_find(), else AWS, its FIPS or dual-stack hosts where environment or profile want
 * them. Certificates: AWS_CA_BUNDLE, the profile's ca_bundle. Addressing: the profile's s3
 * addressing_style; auto: path style for IP addresses, hosts without a dot and bucket names that
 * are no host names.
 */
HrS3Config *hr_s3_config_new (const HrS3Settings *settings, GError **error);
HrS3Config *hr_s3_config_ref (HrS3Config *config);
void hr_s3_config_unref (HrS3Config *config);

/* where an object is, as sent; all (transfer full) */
typedef struct {
  char *host; /* Host header */
  char *path; /* encoded */
  char *url;  /* with @query */
} HrS3Place;

/* @key: raw, "" for the bucket itself; @query: canonical, or "" */
void hr_s3_config_locate (HrS3Config *config, const char *bucket, const char *key,
                          const char *query, HrS3Place *place);
void hr_s3_place_clear (HrS3Place *place);

/**
 * hr_s3_config_sign:
 * @headers: may hold "x-amz-…: value" lines, which are signed with the rest
 * @state: (out): that of the configuration, for the three functions below
 * @error: why there are no keys to sign with
 *
 * Appends the header lines of a signed request; none if requests are anonymous.
 *
 * Returns: %FALSE without an error: the keys are still being fetched
 */
gboolean hr_s3_config_sign (HrS3Config *config, const char *method, const char *bucket,
                            const HrS3Place *place, const char *query, GPtrArray *headers,
                            guint *state, GError **error);

/* Each mends what made a server refuse a request, and says whether another try may help: also when
 * another request has mended something since the one that used state @used. */
/* the credentials: reads environment and files again, and asks whoever gave them for others. It
 * does not wait: hr_s3_config_sign() does */
gboolean hr_s3_config_refresh (HrS3Config *config, guint used);
/* do they belong to a session, which may end? */
gboolean hr_s3_config_is_temporary (HrS3Config *config);
/* the bucket's region is another one */
gboolean hr_s3_config_set_region (HrS3Config *config, guint used, const char *bucket,
                                  const char *region);
/* the clocks differ: later signatures use the server's, in seconds since 1970 */
gboolean hr_s3_config_set_clock (HrS3Config *config, guint used, gint64 server_time);

/* takes keys, token and signatures out of what a server says: some repeat what they were sent */
void hr_s3_config_hide_secrets (HrS3Config *config, GString *text);
/* (nullable) (transfer none) */
const char *hr_s3_config_get_ca_bundle (HrS3Config *config);
/* (transfer full) */
char *hr_s3_config_get_region (HrS3Config *config, const char *bucket);
/* "https://s3.eu-west-1.amazonaws.com"; (transfer full) */
char *hr_s3_config_get_endpoint (HrS3Config *config);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrS3Config, hr_s3_config_unref)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Place, hr_s3_place_clear)

G_END_DECLS
