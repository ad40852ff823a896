/* s3-instance.h: keys of the machine: the instance metadata service, version 2 */
#pragma once
#include "s3-keys.h"
#include "s3-profile.h"

G_BEGIN_DECLS

/* AWS_EC2_METADATA_DISABLED=true */
gboolean hr_s3_instance_is_disabled (void);
/* AWS_EC2_METADATA_SERVICE_ENDPOINT, _MODE, or the profile's; (transfer full) */
char *hr_s3_instance_url (const HrS3Profile *profile);
/* AWS_METADATA_SERVICE_TIMEOUT in seconds, AWS_METADATA_SERVICE_NUM_ATTEMPTS, or the profile's; 1
 */
guint hr_s3_instance_timeout (const HrS3Profile *profile);
guint hr_s3_instance_tries (const HrS3Profile *profile);
/* @url: of the service. A machine without one costs @timeout seconds, @tries times */
gboolean hr_s3_instance_fetch (const char *url, guint timeout, guint tries, int wake_fd,
                               HrS3Keys *keys, GError **error);

G_END_DECLS
