/* sigv4.h: signs requests with AWS Signature Version 4 */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* SHA-256 of no bytes: the payload of a GET */
#define HR_SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HR_SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"

/**
 * hr_uri_encode:
 * @into: where to append
 * @bytes: the raw bytes
 * @length: how many, -1: up to the NUL
 * @keep_slash: leave `/` as it is, for paths
 *
 * Every byte but A-Z a-z 0-9 - . _ ~ becomes %XX in upper case, once. The result is both what goes
 * over the wire and what is signed: S3 neither normalises a path nor encodes it twice.
 */
void hr_uri_encode (GString *into, const char *bytes, gssize length, gboolean keep_slash);

typedef struct {
  const char *name;
  const char *value; /* NULL counts as "" */
} HrQueryParam;

/* the query in canonical order, encoded; used for the URL as well, so that both agree.
 * (transfer full) */
char *hr_sigv4_query (const HrQueryParam *params, guint n_params);

/**
 * HrSigv4Keys:
 *
 * The signing key of the last day, region and secret: deriving one takes four HMACs, using it one.
 * May be shared by threads.
 */
typedef struct _HrSigv4Keys HrSigv4Keys;
HrSigv4Keys *hr_sigv4_keys_new (void);
void hr_sigv4_keys_free (HrSigv4Keys *keys);

/**
 * HrSigv4Request: what is signed
 * @method: "GET"
 * @host: the value of the Host header, with the port unless it is the scheme's own
 * @path: encoded, as on the wire
 * @query: canonical, from hr_sigv4_query(), or ""
 * @headers: (nullable): NULL-terminated "name:value" lines to sign besides host and x-amz-*; names
 * in lower case, values trimmed
 * @payload_hash: %HR_SIGV4_EMPTY, %HR_SIGV4_UNSIGNED or the SHA-256 in hex
 * @sign_payload_hash: send it as x-amz-content-sha256 (S3 wants that)
 * @time: seconds since 1970
 */
typedef struct {
  const char *access_key;
  const char *secret_key;
  const char *session_token; /* (nullable) */
  const char *region;
  const char *service; /* "s3" */
  const char *method;
  const char *host;
  const char *path;
  const char *query;
  const char *const *headers;
  const char *payload_hash;
  gboolean sign_payload_hash;
  gint64 time;
} HrSigv4Request;

/**
 * HrSigv4Signature:
 * @canonical: the canonical request
 * @string_to_sign: what the key was applied to
 * @signature: in hex
 *
 * For tests, and for telling what a server's SignatureDoesNotMatch is about.
 */
typedef struct {
  char *canonical;
  char *string_to_sign;
  char *signature;
} HrSigv4Signature;

void hr_sigv4_signature_clear (HrSigv4Signature *signature);

/**
 * hr_sigv4_sign:
 * @keys: (nullable): where to keep the signing key
 * @headers: "Name: value" lines to send are appended (transfer full strings)
 * @details: (out) (optional): the steps
 */
void hr_sigv4_sign (HrSigv4Keys *keys, const HrSigv4Request *request, GPtrArray *headers,
                    HrSigv4Signature *details);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrSigv4Keys, hr_sigv4_keys_free)

G_END_DECLS
