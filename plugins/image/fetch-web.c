/* fetch-web.c: images behind http:// and https:// links: where they and their redirects may lead */
#include "fetch-job.h"
#include "media-link.h"
#include "sigv4.h"
#include <string.h>

gboolean
hr_fetch_is_web (const char *uri)
{
  return g_ascii_strncasecmp (uri, "http://", 7) == 0
         || g_ascii_strncasecmp (uri, "https://", 8) == 0;
}

/* spaces and letters that a URL may not hold; what is written as %XX stays so */
static char *
escape_url (const char *link)
{
  GString *url = g_string_new (NULL);

  for (const char *c = link; *c; c++)
    if ((guchar)*c <= ' ' || (guchar)*c >= 0x7f || strchr ("\"<>\\^`{|}", *c))
      hr_uri_encode (url, c, 1, FALSE);
    else
      g_string_append_c (url, *c);
  return g_string_free (url, FALSE);
}

static gboolean
is_redirect (const HrHttpResponse *response)
{
  guint status = response->status;

  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308)
         && response->location && *response->location;
}

static gboolean
find_target (const HrHttpRequest *request, char **target, GError **error)
{
  g_autofree char *whole = g_uri_resolve_relative (
      request->url, request->response.location,
      G_URI_FLAGS_PARSE_RELAXED | G_URI_FLAGS_ENCODED | G_URI_FLAGS_SCHEME_NORMALIZE, NULL);

  if (!whole) {
    hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED, "is redirected to no address");
    return FALSE;
  }
  *target = hr_media_link_resolve ("/", whole);
  return TRUE;
}

/* Redirects are followed here and not by curl, which would not ask. An answer that points elsewhere
 * is no failed try. */
static HrRetry
judge (HrHttpRequest *request, GError **error)
{
  HrFetchItem *item = request->user_data;
  const HrImagefetch *self = item->job->state->self;
  guint most = (guint)self->redirects;
  g_autofree char *target = NULL, *shown = NULL;

  if (!is_redirect (&request->response))
    return hr_http_judge_status (request, error);
  if (item->n_redirects >= most) {
    hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED,
                       "is redirected more than %u times (redirects)", most);
    return HR_RETRY_NO;
  }
  if (!find_target (request, &target, error)
      || !hr_media_link_check_redirect (request->url, target,
                                        (const char *const *)self->allow_links, error))
    return HR_RETRY_NO;
  item->n_redirects++;
  request->tries--;
  g_free (request->url);
  request->url = escape_url (target);
  shown = hr_media_link_shorten (target);
  hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED, "is redirected to %s", shown);
  return HR_RETRY_AT_ONCE;
}

HrHttpRequest *
hr_fetch_new_web (HrFetchItem *item)
{
  const char *link = hr_fetch_get_uri (item);
  g_autofree char *url = escape_url (link), *shown = hr_media_link_shorten (link);
  HrHttpRequest *request = hr_http_request_new (shown, url);

  request->question.close_is_end = TRUE;
  request->guard = item->job->state->guard;
  request->judge = judge;
  return request;
}
