/* s3-profile.h: the files ~/.aws/credentials and ~/.aws/config */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrS3Profile:
 *
 * What the two files say about one profile; the credentials file comes first.
 */
typedef struct _HrS3Profile HrS3Profile;

/**
 * hr_s3_profile_load:
 * @name: the profile, "default" among them
 * @error: #HR_RESOURCE_ERROR if a file is there and cannot be read
 *
 * AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name other files. No file is no error.
 */
HrS3Profile *hr_s3_profile_load (const char *name, GError **error);
/* the same of two texts, either may be NULL */
HrS3Profile *hr_s3_profile_parse (const char *name, const char *credentials, const char *config);
void hr_s3_profile_free (HrS3Profile *profile);
/* FALSE if neither file names the profile */
gboolean hr_s3_profile_exists (const HrS3Profile *profile);
const char *hr_s3_profile_get_name (const HrS3Profile *profile);
/* (nullable) (transfer none): "region"; a setting below another is "s3.addressing_style", one of
 * the section that the profile's "services" names is "services.s3.endpoint_url" */
const char *hr_s3_profile_get (const HrS3Profile *profile, const char *key);

typedef enum { HR_S3_PROFILE_CREDENTIALS, HR_S3_PROFILE_CONFIG } HrS3ProfileFile;
/* what one of the files says */
const char *hr_s3_profile_get_in (const HrS3Profile *profile, HrS3ProfileFile file,
                                  const char *key);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrS3Profile, hr_s3_profile_free)

G_END_DECLS
