/* s3-container.c: keys of a container: the service that ECS and EKS run beside it */
#include "s3-container.h"
#include "hr-error.h"
#include "s3-ask.h"
#include "s3-endpoint.h"
#include <gio/gio.h>
#include <string.h>

#define RELATIVE_URI "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
#define FULL_URI "AWS_CONTAINER_CREDENTIALS_FULL_URI"
#define TOKEN "AWS_CONTAINER_AUTHORIZATION_TOKEN"
#define TOKEN_FILE "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
#define TIMEOUT (2 * G_GINT64_CONSTANT (1000000000))
#define TRIES 3

gboolean
hr_s3_container_is_set (void)
{
  return hr_s3_env (RELATIVE_URI) || hr_s3_env (FULL_URI);
}

char *
hr_s3_container_url (void)
{
  return hr_s3_env (RELATIVE_URI)
             ? g_strconcat ("http://169.254.170.2", hr_s3_env (RELATIVE_URI), NULL)
             : g_strdup (hr_s3_env (FULL_URI));
}

static gboolean
is_loopback (const char *host)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (host);

  return address && g_inet_address_get_is_loopback (address);
}

gboolean
hr_s3_container_check (const char *url, GError **error)
{
  static const char *const hosts[] = { "169.254.170.2", "169.254.170.23", "fd00:ec2::23",
                                       "localhost", NULL };
  g_autoptr (GUri) uri = g_uri_parse (url, G_URI_FLAGS_NONE, NULL);
  const char *scheme = uri ? g_uri_get_scheme (uri) : "", *host = uri ? g_uri_get_host (uri) : NULL;

  if (host && *host
      && (strcmp (scheme, "https") == 0
          || (strcmp (scheme, "http") == 0
              && (is_loopback (host) || g_strv_contains (hosts, host)))))
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               FULL_URI " names \"%s\": credentials come over https://, or over http:// from a "
                        "loopback address, 169.254.170.2, 169.254.170.23, [fd00:ec2::23] or "
                        "localhost",
               host ? host : "no host");
  return FALSE;
}

const char *
hr_s3_container_token (void)
{
  return hr_s3_env (TOKEN);
}

const char *
hr_s3_container_token_file (void)
{
  return hr_s3_env (TOKEN_FILE);
}

/* (transfer full); NULL with an error. The file is read anew each time, its owner replaces it */
static char *
get_line (const char *file, const char *given, GError **error)
{
  g_autofree char *token = NULL;
  g_autoptr (GError) failure = NULL;

  if (!file) {
    token = g_strdup (given);
  } else if (!g_file_get_contents (file, &token, NULL, &failure)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, TOKEN_FILE ": %s",
                 failure->message);
    return NULL;
  }
  if (!strpbrk (token, "\r\n"))
    return g_strconcat ("Authorization: ", token, NULL);
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "the token of %s holds an end of line", file ? TOKEN_FILE : TOKEN);
  return NULL;
}

gboolean
hr_s3_container_fetch (const char *url, const char *token_file, const char *token, int wake_fd,
                       HrS3Keys *keys, GError **error)
{
  g_autofree char *line = NULL;
  const char *headers[3] = { "Accept: application/json" };
  HrS3Ask ask = { .name = "container credentials",
                  .url = url,
                  .headers = headers,
                  .direct = TRUE,
                  .timeout = TIMEOUT,
                  .tries = TRIES };
  g_autoptr (GString) answer = NULL;

  if (!hr_s3_container_check (url, error))
    return FALSE;
  if (token_file || token)
    headers[1] = line = get_line (token_file, token, error);
  if ((token_file || token) && !line)
    return FALSE;
  answer = hr_s3_ask (&ask, wake_fd, NULL, error);
  if (!answer)
    return FALSE;
  if (hr_s3_keys_parse (keys, answer->str, answer->len, "Token", 0, error))
    return TRUE;
  g_prefix_error (error, "container credentials: ");
  return FALSE;
}
