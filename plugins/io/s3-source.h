/* s3-source.h: where the keys are to come from: what environment and files say */
#pragma once
#include "s3-keys.h"
#include "s3-profile.h"

G_BEGIN_DECLS

typedef enum {
  HR_S3_SOURCE_KEYS,         /* they are here */
  HR_S3_SOURCE_ROLE,         /* STS AssumeRole, signed with the keys of another source */
  HR_S3_SOURCE_WEB_IDENTITY, /* STS AssumeRoleWithWebIdentity */
  HR_S3_SOURCE_PROCESS,
  HR_S3_SOURCE_CONTAINER,
  HR_S3_SOURCE_INSTANCE
} HrS3SourceKind;

typedef struct _HrS3Source HrS3Source;

/* what is not of a kind is NULL */
struct _HrS3Source {
  HrS3SourceKind kind;
  const char *method; /* for people: "environment" */
  char *profile;      /* that says so */
  HrS3Keys keys;
  HrS3Source *from; /* of a role */
  char *role_arn;
  char *session_name; /* NULL: one is made up */
  char *external_id;
  char *duration;
  char *token_file; /* of a web identity, of a container */
  char *token;      /* of a container, without a file */
  guint timeout;    /* of the instance, in seconds */
  guint tries;
  char *command;
  char *url; /* STS, container or instance metadata */
  char *region;
  char *ca_bundle;
};

/* of the profile's name, and of why the last place has none */
#define HR_S3_NO_CREDENTIALS                                                                       \
  "no S3 credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set, nor has "       \
  "profile \"%s\" any, no container offers them, and %s; public data needs no-sign-request=true"

/* the profile that is meant: property @wanted, AWS_DEFAULT_PROFILE, AWS_PROFILE, "default" */
const char *hr_s3_source_profile (const char *wanted);

/**
 * hr_s3_source_find:
 * @wanted: (nullable): the profile a property names: then keys in the environment do not count
 * @region: of the caller, for STS
 * @error: #HR_RESOURCE_ERROR, what is wrong or missing, and what to do
 *
 * Decides as the AWS tools do, and in their order. Reads the environment and small files, nothing
 * else.
 */
HrS3Source *hr_s3_source_find (const char *wanted, const char *region, GError **error);
void hr_s3_source_free (HrS3Source *source);

/**
 * hr_s3_source_digest:
 *
 * Returns: (transfer full): the same for sources that give the same keys; tells nothing of them
 */
char *hr_s3_source_digest (const HrS3Source *source);

/**
 * hr_s3_source_fetch:
 * @wake_fd: when this becomes readable, it ends with #HR_CORE_ERROR_STOPPED
 * @keys: (out): cleared with hr_s3_keys_clear()
 * @error: #HR_RESOURCE_ERROR_FAILED; no secret is in its message
 *
 * Asks whoever has them; that may take seconds.
 */
gboolean hr_s3_source_fetch (const HrS3Source *source, int wake_fd, HrS3Keys *keys, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrS3Source, hr_s3_source_free)

G_END_DECLS
