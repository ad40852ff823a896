/* s3-credentials.h: keys that are fetched once for the whole process, and renewed in time */
#pragma once
#include "s3-source.h"

G_BEGIN_DECLS

/**
 * HrS3Credentials:
 *
 * What a source gives. Those with the same source share one, for the life of the process. Whatever
 * takes time is done by a thread of its own, so that nobody who holds one waits.
 */
typedef struct _HrS3Credentials HrS3Credentials;

/* takes @source; fetching begins */
HrS3Credentials *hr_s3_credentials_use (HrS3Source *source);
/* the last user's leaving ends a fetch that is under way; the keys are kept */
void hr_s3_credentials_leave (HrS3Credentials *credentials);

/**
 * hr_s3_credentials_get:
 * @keys: (out): cleared with hr_s3_keys_clear()
 * @state: (out): changes with the keys
 * @error: #HR_RESOURCE_ERROR_FAILED
 *
 * Keys whose end is near are renewed in the background: from 15 minutes before it, or a quarter of
 * their life if that is less, while they are still given; from 10 minutes before it, or a sixth,
 * the caller waits for those under way. Where that fails the old ones are given to their end.
 *
 * Returns: whether there are keys; %FALSE without an error: not yet, ask again
 */
gboolean hr_s3_credentials_get (HrS3Credentials *credentials, HrS3Keys *keys, guint *state,
                                GError **error);

/* the keys of state @used were refused: fetches others. FALSE if the source can give no others */
gboolean hr_s3_credentials_renew (HrS3Credentials *credentials, guint used);
/* hr_s3_keys_hide() of the keys there are */
void hr_s3_credentials_hide (HrS3Credentials *credentials, GString *text);
/* do they belong to a session, which may end? */
gboolean hr_s3_credentials_is_temporary (HrS3Credentials *credentials);
guint hr_s3_credentials_get_state (HrS3Credentials *credentials);

G_END_DECLS
