/* s3-keys.h: keys to sign with, and until when they are good */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *access_key;
  char *secret_key;
  char *session_token; /* (nullable) */
  gint64 expires;      /* seconds since 1970; 0: never */
} HrS3Keys;

void hr_s3_keys_copy (const HrS3Keys *keys, HrS3Keys *into);
void hr_s3_keys_clear (HrS3Keys *keys);
gboolean hr_s3_keys_equal (const HrS3Keys *a, const HrS3Keys *b);

/* puts "…" in @text for secret key, token, signatures and the headers they stand in */
void hr_s3_keys_hide (const HrS3Keys *keys, GString *text);
/* a server's words, one line of them; afterwards, so that no half of a secret is left */
void hr_s3_keys_cut (GString *text);

/**
 * hr_s3_keys_check:
 * @error: #HR_RESOURCE_ERROR_FAILED; its message never holds a key
 *
 * Returns: whether the keys are there and fit into a header
 */
gboolean hr_s3_keys_check (const HrS3Keys *keys, GError **error);

/**
 * hr_s3_keys_parse:
 * @keys: (out): cleared with hr_s3_keys_clear()
 * @text: a JSON object with AccessKeyId, SecretAccessKey, @token_name and Expiration
 * @token_name: "Token" or "SessionToken"
 * @version: what its Version must be; 0: anything
 * @error: as above
 */
gboolean hr_s3_keys_parse (HrS3Keys *keys, const char *text, gsize size, const char *token_name,
                           guint version, GError **error);

/* an ISO 8601 time with its zone as seconds since 1970; -1 if it is none */
gint64 hr_s3_keys_time (const char *text);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3Keys, hr_s3_keys_clear)

G_END_DECLS
