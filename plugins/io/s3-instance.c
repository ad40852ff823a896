/* s3-instance.c: keys of the machine: the instance metadata service, version 2 */
#include "s3-instance.h"
#include "hr-error.h"
#include "s3-ask.h"
#include "s3-endpoint.h"
#include <string.h>

#define TOKEN_PATH "latest/api/token"
#define ROLES_PATH "latest/meta-data/iam/security-credentials/"
#define TOKEN_SECONDS "21600"
#define MAX_NAME 256

/* keys that the service gives for longer than they are said to be good, when it cannot renew them
 */
#define EXTEND_BELOW (15 * 60)

gboolean
hr_s3_instance_is_disabled (void)
{
  const char *word = hr_s3_env ("AWS_EC2_METADATA_DISABLED");

  return word && g_ascii_strcasecmp (word, "true") == 0;
}

static const char *
find (const char *variable, const HrS3Profile *profile, const char *key)
{
  return hr_s3_env (variable) ? hr_s3_env (variable) : hr_s3_profile_get (profile, key);
}

char *
hr_s3_instance_url (const HrS3Profile *profile)
{
  const char *url =
      find ("AWS_EC2_METADATA_SERVICE_ENDPOINT", profile, "ec2_metadata_service_endpoint");
  const char *mode = find ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", profile,
                           "ec2_metadata_service_endpoint_mode");

  if (!url)
    url = mode && g_ascii_strcasecmp (mode, "ipv6") == 0 ? "http://[fd00:ec2::254]/"
                                                         : "http://169.254.169.254/";
  return g_strconcat (url, g_str_has_suffix (url, "/") ? "" : "/", NULL);
}

static guint
get_number (const char *text, guint64 most)
{
  guint64 number;

  return text && g_ascii_string_to_unsigned (text, 10, 1, most, &number, NULL) ? number : 1;
}

guint
hr_s3_instance_timeout (const HrS3Profile *profile)
{
  return get_number (find ("AWS_METADATA_SERVICE_TIMEOUT", profile, "metadata_service_timeout"),
                     3600);
}

guint
hr_s3_instance_tries (const HrS3Profile *profile)
{
  return get_number (
      find ("AWS_METADATA_SERVICE_NUM_ATTEMPTS", profile, "metadata_service_num_attempts"), 100);
}

typedef struct {
  const char *url;
  guint timeout;
  guint tries;
  int wake_fd;
} Service;

static GString *
ask (const Service *service, const char *path, const char *token, GError **error)
{
  g_autofree char *full = g_strconcat (service->url, path, NULL);
  g_autofree char *name = g_strdup_printf ("instance metadata at %s", service->url);
  g_autofree char *line = token ? g_strconcat ("X-aws-ec2-metadata-token: ", token, NULL) : NULL;
  const char *headers[] = { line ? line : "X-aws-ec2-metadata-token-ttl-seconds: " TOKEN_SECONDS,
                            NULL };
  HrS3Ask question = { .name = name,
                       .url = full,
                       .method = token ? NULL : "PUT",
                       .form = token ? NULL : "",
                       .headers = headers,
                       .direct = TRUE,
                       .timeout = service->timeout * G_GINT64_CONSTANT (1000000000),
                       .tries = service->tries };

  return hr_s3_ask (&question, service->wake_fd, NULL, error);
}

/* one word of printable ASCII, to be sent or asked for */
static gboolean
check_word (GString *word, gsize most, const char *what, GError **error)
{
  g_strstrip (word->str);
  word->len = strlen (word->str);
  word->str[strcspn (word->str, "\r\n")] = '\0'; /* of several roles the first */
  for (const char *c = word->str; *c; c++)
    if ((guchar)*c <= ' ' || (guchar)*c >= 0x7f)
      most = 0;
  if (*word->str && strlen (word->str) <= most)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "the instance metadata service gives %s that is none", what);
  return FALSE;
}

/* the service may be unable to renew for a while, and its old keys still be accepted */
static void
extend (HrS3Keys *keys)
{
  gint64 now = g_get_real_time () / G_USEC_PER_SEC;

  if (keys->expires > 0 && keys->expires <= now + EXTEND_BELOW)
    keys->expires = now + EXTEND_BELOW + g_random_int_range (120, 600);
}

gboolean
hr_s3_instance_fetch (const char *url, guint timeout, guint tries, int wake_fd, HrS3Keys *keys,
                      GError **error)
{
  const Service service = { url, timeout, tries, wake_fd };
  g_autoptr (GString) token = ask (&service, TOKEN_PATH, NULL, error), role = NULL, answer = NULL;
  g_autofree char *path = NULL;

  if (!token || !check_word (token, 4096, "a session token", error))
    return FALSE;
  role = ask (&service, ROLES_PATH, token->str, error);
  if (!role || !check_word (role, MAX_NAME, "a role's name", error))
    return FALSE;
  path = g_strconcat (ROLES_PATH, role->str, NULL);
  answer = ask (&service, path, token->str, error);
  if (!answer)
    return FALSE;
  if (!hr_s3_keys_parse (keys, answer->str, answer->len, "Token", 0, error)) {
    g_prefix_error (error, "instance metadata at %s%s: ", url, path);
    return FALSE;
  }
  extend (keys);
  return TRUE;
}
