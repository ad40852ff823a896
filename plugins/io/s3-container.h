/* s3-container.h: keys of a container: the service that ECS and EKS run beside it */
#pragma once
#include "s3-keys.h"

G_BEGIN_DECLS

/* AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI */
gboolean hr_s3_container_is_set (void);
/* (transfer full) */
char *hr_s3_container_url (void);
/* FALSE for a host that keys must not come from, and that a token must not go to: http:// is for
 * loopback addresses and the addresses of the two services, https:// for any */
gboolean hr_s3_container_check (const char *url, GError **error);
/* AWS_CONTAINER_AUTHORIZATION_TOKEN and _FILE; (nullable) (transfer none) */
const char *hr_s3_container_token (void);
const char *hr_s3_container_token_file (void);
/* @token_file comes before @token; both may be NULL */
gboolean hr_s3_container_fetch (const char *url, const char *token_file, const char *token,
                                int wake_fd, HrS3Keys *keys, GError **error);

G_END_DECLS
