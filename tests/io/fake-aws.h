/* fake-aws.h: the services that give keys, on the fake server: container, instance, roles; and an
 * environment of the test's own */
#pragma once
#include "fake-server.h"
#include "hr-sync.h"
#include "s3-credentials.h"

/* what they answer */
typedef struct {
  FakeServer *server;
  gint n_asked;    /* requests */
  guint n_keys;    /* answers that held keys */
  gint64 lifetime; /* seconds; 0: for ever */
  guint status;
  const char *body; /* instead of keys */
  gboolean stall;
  gint64 ahead; /* seconds that its clock is ahead of ours; 0: it looks at none */
  HrMutex gate; /* whoever holds it holds the answers back */
  char *last_head;
} FakeAws;

/* the server's threads read what is set, and write what is got */
#define FAKE_AWS_SET(aws, field, value)                                                            \
  G_STMT_START                                                                                     \
  {                                                                                                \
    hr_mutex_lock (&(aws)->gate);                                                                  \
    (aws)->field = (value);                                                                        \
    hr_mutex_unlock (&(aws)->gate);                                                                \
  }                                                                                                \
  G_STMT_END

/* a folder of the test's own */
extern char *fake_aws_home;
void fake_aws_begin (void);
void fake_aws_end (void);

/* no variable of AWS's, and no file but the configuration that set_config() writes */
void fake_aws_clear_env (void);
void fake_aws_set_config (const char *format, ...) G_GNUC_PRINTF (1, 2);
FakeAws *fake_aws_new (void);
void fake_aws_free (FakeAws *aws);
guint fake_aws_get_n_keys (FakeAws *aws);
/* of the last request */
void fake_aws_check_head (FakeAws *aws, const char *line);
/* the environment then names the container's service; a role's */
void fake_aws_use_container (FakeAws *aws);
void fake_aws_set_role (FakeAws *aws);
/* what the environment says */
HrS3Credentials *fake_aws_use (void);
/* waits for keys; NULL with an error */
char *fake_aws_get_key (HrS3Credentials *credentials, GError **error);
void fake_aws_check_key (HrS3Credentials *credentials, const char *expected);
/* the environment's give none, and say so; and nothing that is named CANARY */
void fake_aws_check_fetch (const char *words);
/* until a renewal in the background is done */
void fake_aws_wait_for_state (HrS3Credentials *credentials, guint state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeAws, fake_aws_free)
