/* s3-objects.c: what a location in S3 names */
#include "s3-objects.h"
#include "glob.h"
#include "hr-error.h"
#include "inflate.h"
#include "http-wait.h"
#include "s3-list.h"
#include "s3-request.h"
#include "s3-uri.h"
#include <string.h>

#define SUFFIX ".jsonl"

typedef struct {
  HrHttp *http;
  HrS3Config *config;
  HrPlan *plan;
  const char *bucket;
  gsize root_length;   /* of the keys: what is in front of the relative key */
  const char *pattern; /* relative; NULL: every *.jsonl */
  guint page_keys;
  int wake_fd;
  GHashTable *listed; /* names of the plan's objects, which own them */
  GHashTable *tokens; /* of pages, so that none comes twice */
} Lister;

static void
add_page (Lister *lister, const HrS3Page *page)
{
  for (guint i = 0; i < page->entries->len; i++) {
    const HrS3Entry *entry = &g_array_index (page->entries, HrS3Entry, i);
    const char *relative = entry->key + lister->root_length;
    g_autofree char *uri = NULL;
    guint n;

    if (lister->pattern ? !hr_glob_match (lister->pattern, relative)
                        : !hr_stored_is_jsonl (relative))
      continue;
    uri = hr_s3_uri_format (lister->bucket, entry->key);
    /* pages may overlap; which of two is meant If-Match will tell */
    if (g_hash_table_contains (lister->listed, uri))
      continue;
    hr_plan_add_object (lister->plan, uri, relative, entry->size, entry->etag);
    if (hr_stored_of (relative) != HR_STORED_PLAIN)
      hr_plan_mark_compressed (lister->plan);
    n = hr_plan_get_n_objects (lister->plan);
    g_hash_table_add (lister->listed, hr_plan_get_object (lister->plan, n - 1)->uri);
  }
}

/* a server that gives other keys than it was asked for would make nonsense of relative names */
static gboolean
check_page (const Lister *lister, const HrS3Page *page, const char *prefix, GError **error)
{
  for (guint i = 0; i < page->entries->len; i++) {
    const HrS3Entry *entry = &g_array_index (page->entries, HrS3Entry, i);

    if (!g_str_has_prefix (entry->key, prefix)) {
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                   "s3://%s: list: asked for keys with the prefix \"%s\", the server gave \"%s\"",
                   lister->bucket, prefix, entry->key);
      return FALSE;
    }
  }
  if (page->next && !g_hash_table_add (lister->tokens, g_strdup (page->next))) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "s3://%s: list: the server gives the same page of keys again and again",
                 lister->bucket);
    return FALSE;
  }
  return TRUE;
}

static gboolean
list_prefix (Lister *lister, const char *prefix, GError **error)
{
  g_autoptr (GHashTable) listed = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) tokens = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *token = NULL;

  lister->listed = listed;
  lister->tokens = tokens;
  do {
    g_autofree char *query = hr_s3_list_query (prefix, token, lister->page_keys);
    g_auto (HrHttpAnswer) answer = { 0 };
    g_auto (HrS3Page) page = { 0 };

    if (!hr_http_wait (lister->http, hr_s3_list (lister->config, lister->bucket, query),
                       lister->wake_fd, &answer, error)
        || !hr_s3_list_parse (&page, (const char *)answer.body->data, answer.received, error)
        || !check_page (lister, &page, prefix, error))
      return FALSE;
    add_page (lister, &page);
    g_free (token);
    token = g_steal_pointer (&page.next);
  } while (token);
  return TRUE;
}

/* the key itself, if it is one. @found: whether it is */
static gboolean
find_key (Lister *lister, const char *location, const char *key, gboolean *found, GError **error)
{
  g_auto (HrHttpAnswer) answer = { 0 };
  g_autoptr (GError) failure = NULL;
  const char *slash = strrchr (key, '/');

  *found = hr_http_wait (lister->http, hr_s3_head (lister->config, lister->bucket, key),
                         lister->wake_fd, &answer, &failure);
  if (*found) {
    hr_plan_add_object (lister->plan, location, slash ? slash + 1 : key, answer.size, answer.etag);
    if (hr_stored_of (key) != HR_STORED_PLAIN)
      hr_plan_mark_compressed (lister->plan);
  }
  /* who may not list is told 403 for keys that do not exist, so that the list will tell more */
  if (!*found && answer.status != 404 && answer.status != 403)
    g_propagate_error (error, g_steal_pointer (&failure));
  return *found || failure;
}

static char *
make_root (const char *bucket, const char *key, gsize length)
{
  g_autofree char *folder = g_strndup (key, length);

  return hr_s3_uri_format (bucket, folder);
}

static gsize
folder_length (const char *key)
{
  const char *slash = strrchr (key, '/');

  return slash ? slash + 1 - key : 0;
}

gboolean
hr_s3_objects_list (HrHttp *http, HrS3Config *config, const char *location, HrPlan *plan,
                    char **root, guint page_keys, int wake_fd, GError **error)
{
  g_auto (HrS3Uri) uri = { 0 };
  g_autofree char *prefix = NULL;
  guint n = hr_plan_get_n_objects (plan);
  Lister lister = {
    .http = http, .config = config, .plan = plan, .page_keys = page_keys, .wake_fd = wake_fd
  };
  gboolean found = FALSE;

  if (!hr_s3_uri_parse (&uri, location, error))
    return FALSE;
  lister.bucket = uri.bucket;
  if (hr_glob_is_pattern (uri.key)) {
    lister.root_length = hr_glob_folder_length (uri.key);
    lister.pattern = uri.key + lister.root_length;
    /* the server sorts out what it can: all up to the first special character */
    prefix = g_strndup (uri.key, strcspn (uri.key, "*?["));
  } else if (*uri.key && !g_str_has_suffix (uri.key, "/")) {
    if (!find_key (&lister, location, uri.key, &found, error))
      return FALSE;
    if (found) {
      *root = make_root (uri.bucket, uri.key, folder_length (uri.key));
      return TRUE;
    }
    prefix = g_strconcat (uri.key, "/", NULL);
    lister.root_length = strlen (prefix);
  } else {
    prefix = g_strdup (uri.key);
    lister.root_length = strlen (prefix);
  }
  if (!list_prefix (&lister, prefix, error))
    return FALSE;
  if (hr_plan_get_n_objects (plan) == n) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                 lister.pattern ? "no key matches \"%s\""
                                : "there is neither a key \"%s\" nor a *" SUFFIX ", *" SUFFIX
                                  ".gz or *" SUFFIX ".zst under it",
                 location);
    return FALSE;
  }
  *root = lister.pattern ? make_root (uri.bucket, uri.key, lister.root_length)
                         : hr_s3_uri_format (uri.bucket, prefix);
  return TRUE;
}
