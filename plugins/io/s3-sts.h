/* s3-sts.h: keys of a role, from the security token service */
#pragma once
#include "s3-source.h"

G_BEGIN_DECLS

/* AssumeRole, signed with @signer */
gboolean hr_s3_sts_assume (const HrS3Source *source, const HrS3Keys *signer, int wake_fd,
                           HrS3Keys *keys, GError **error);
/* AssumeRoleWithWebIdentity, with the token in the source's file */
gboolean hr_s3_sts_assume_with_token (const HrS3Source *source, int wake_fd, HrS3Keys *keys,
                                      GError **error);

/* one document of the service: keys, or what it complains of; all may be NULL */
typedef struct {
  HrS3Keys keys;
  char *code; /* "AccessDenied" */
  char *message;
} HrS3StsAnswer;

/* FALSE if it is no whole document */
gboolean hr_s3_sts_parse (HrS3StsAnswer *answer, const char *text, gsize size);
void hr_s3_sts_answer_clear (HrS3StsAnswer *answer);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrS3StsAnswer, hr_s3_sts_answer_clear)

G_END_DECLS
