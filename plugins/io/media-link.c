/* media-link.c: links from records to media: what they name, and what they may reach */
#include "media-link.h"
#include "hr-error.h"
#include "hr-secrets.h"
#include <string.h>

#define SHORT_LINK 200
#define SHORT_DATA 48

typedef enum {
  LINK_RELATIVE,
  LINK_PATH, /* "/…" */
  LINK_FILE, /* "file://…" */
  LINK_S3,
  LINK_HTTP, /* and https */
  LINK_DATA,
  LINK_OTHER /* another scheme */
} LinkKind;

/* "C:\x" and "note:1.png" are names: only "://" and "data:" make a scheme */
static LinkKind
link_kind (const char *link, gsize *scheme_length)
{
  gsize n = 0;

  *scheme_length = 0;
  if (link[0] == '/')
    return LINK_PATH;
  if (g_ascii_strncasecmp (link, "data:", 5) == 0) {
    *scheme_length = 4;
    return LINK_DATA;
  }
  if (!g_ascii_isalpha (link[0]))
    return LINK_RELATIVE;
  while (g_ascii_isalnum (link[n]) || (link[n] != '\0' && strchr ("+-.", link[n]) != NULL))
    n++;
  if (strncmp (link + n, "://", 3) != 0)
    return LINK_RELATIVE;
  *scheme_length = n;
  if (n == 4 && g_ascii_strncasecmp (link, "file", 4) == 0)
    return LINK_FILE;
  if (n == 2 && g_ascii_strncasecmp (link, "s3", 2) == 0)
    return LINK_S3;
  if ((n == 4 || n == 5) && g_ascii_strncasecmp (link, "https", n) == 0)
    return LINK_HTTP;
  return LINK_OTHER;
}

/* of "file:///a" the path "/a"; NULL if a host is named */
static const char *
file_path (const char *link)
{
  const char *rest = link + strlen ("file://");

  if (g_ascii_strncasecmp (rest, "localhost/", 10) == 0)
    rest += strlen ("localhost");
  return rest[0] == '/' ? rest : NULL;
}

/* length of "s3://bucket/" or "https://host/"; without a path, of all there is */
static gsize
authority_length (const char *uri, gsize scheme_length)
{
  gsize start = scheme_length + 3;
  const char *slash = strchr (uri + start, '/');

  return slash != NULL ? (gsize)(slash - uri) + 1 : strlen (uri);
}

/* length of "." or ".." if that is what the segment means. Web servers decode "%2e" before they
 * resolve dots, so there a written-out dot counts as one. */
static guint
dots (const char *segment, gsize length, gboolean web)
{
  guint n = 0;

  while (length > 0 && n < 3) {
    if (segment[0] == '.') {
      segment++, length--;
    } else if (web && length >= 3 && g_ascii_strncasecmp (segment, "%2e", 3) == 0) {
      segment += 3, length -= 3;
    } else {
      return 0;
    }
    n++;
  }
  return n <= 2 ? n : 0;
}

/* Appends the segments of @path to the folder in @into, which ends in "/" and whose first @floor
 * bytes are file system or bucket. The ".." that lead out of that stay, in front. */
static void
append_path (GString *into, gsize floor, const char *path, gsize length, LinkKind kind)
{
  const char *p = path, *end = path + length;
  gsize outside = floor; /* the ".." that stay end here */

  while (p < end) {
    const char *slash = memchr (p, '/', end - p);
    gsize n = (slash != NULL ? slash : end) - p;
    guint n_dots = dots (p, n, kind == LINK_HTTP);

    if (n_dots == 2 && into->len == outside) {
      g_string_append (into, "../");
      outside = into->len;
    } else if (n_dots == 2) {
      g_string_truncate (into, into->len - 1);
      while (into->str[into->len - 1] != '/')
        g_string_truncate (into, into->len - 1);
    } else if (n_dots == 0 && (n > 0 || kind != LINK_PATH)) {
      /* empty segments are part of an S3 key, and nothing in a path */
      g_string_append_len (into, p, n);
      if (slash != NULL)
        g_string_append_c (into, '/');
    }
    p += n + (slash != NULL ? 1 : 0);
  }
}

/* where the path of a web link ends: a query is no folder */
static gsize
path_length (const char *path, LinkKind kind)
{
  return kind == LINK_HTTP ? strcspn (path, "?#") : strlen (path);
}

/* an absolute link, with scheme and host in lower case and without dot segments */
static char *
resolve_absolute (const char *link, LinkKind kind, gsize scheme_length)
{
  GString *into;
  const char *path = link, *rest;
  gsize floor, length;

  if (kind == LINK_FILE) {
    path = file_path (link);
    if (path == NULL)
      return g_strdup (link);
    kind = LINK_PATH;
  }
  if (kind == LINK_PATH) {
    into = g_string_new ("/");
    floor = 1;
    path++;
  } else {
    gsize lower = kind == LINK_HTTP ? G_MAXSIZE : scheme_length;

    floor = authority_length (link, scheme_length);
    into = g_string_new_len (link, floor);
    for (gsize i = 0; i < floor && i < lower; i++)
      into->str[i] = g_ascii_tolower (into->str[i]);
    path = link + floor;
    if (into->str[floor - 1] != '/') /* a bare bucket or host */
      return g_string_free (into, FALSE);
  }
  length = path_length (path, kind);
  rest = path + length;
  append_path (into, floor, path, length, kind);
  g_string_append (into, rest);
  return g_string_free (into, FALSE);
}

/* a location of the user's or a source's */
static char *
resolve_any (const char *location)
{
  gsize scheme_length;
  LinkKind kind = link_kind (location, &scheme_length);

  if (kind == LINK_RELATIVE || kind == LINK_DATA) /* a file may have such a name */
    return g_canonicalize_filename (location, NULL);
  if (kind == LINK_S3) /* a key may hold dot segments of its own: they are part of its name */
    return g_strconcat ("s3", location + scheme_length, NULL);
  return resolve_absolute (location, kind, scheme_length);
}

char *
hr_media_link_folder (const char *location)
{
  char *uri = resolve_any (location);

  if (!g_str_has_suffix (uri, "/")) {
    char *folder = g_strconcat (uri, "/", NULL);

    g_free (uri);
    return folder;
  }
  return uri;
}

char *
hr_media_link_base (const char *uri)
{
  g_autofree char *absolute = resolve_any (uri);
  gsize scheme_length, length, floor;
  LinkKind kind = link_kind (absolute, &scheme_length);

  floor = kind == LINK_PATH ? 1 : authority_length (absolute, scheme_length);
  length = floor + path_length (absolute + floor, kind);
  while (length > floor && absolute[length - 1] != '/')
    length--;
  return g_strdup_printf ("%.*s%s", (int)length, absolute, absolute[length - 1] == '/' ? "" : "/");
}

char *
hr_media_link_resolve (const char *base, const char *link)
{
  gsize scheme_length, floor;
  LinkKind kind = link_kind (link, &scheme_length), base_kind;
  GString *into;

  if (kind == LINK_DATA)
    return g_strdup (link);
  if (kind != LINK_RELATIVE)
    return resolve_absolute (link, kind, scheme_length);
  base_kind = link_kind (base, &scheme_length);
  floor = base_kind == LINK_PATH ? 1 : authority_length (base, scheme_length);
  into = g_string_new (base);
  append_path (into, floor, link, strlen (link), base_kind);
  return g_string_free (into, FALSE);
}

/* is @uri in the folder @folder, by name? */
static gboolean
is_under (const char *uri, const char *folder)
{
  gsize length = strlen (folder);

  return strncmp (uri, folder, length) == 0 && strncmp (uri + length, "../", 3) != 0;
}

static gboolean
is_allowed (const char *uri, LinkKind kind, gsize scheme_length, const char *const *allow)
{
  if (kind == LINK_FILE || kind == LINK_OTHER) /* no word makes another host's files readable */
    return FALSE;
  for (gsize i = 0; allow != NULL && allow[i] != NULL; i++) {
    const char *word = allow[i];

    if (strcmp (word, "all") == 0)
      return TRUE;
    if (strstr (word, "://") == NULL && word[0] != '/') {
      if (kind == LINK_PATH
              ? strcmp (word, "file") == 0
              : strlen (word) == scheme_length && strncmp (uri, word, scheme_length) == 0)
        return TRUE;
    } else {
      g_autofree char *folder = hr_media_link_folder (word);

      if (is_under (uri, folder))
        return TRUE;
    }
  }
  return FALSE;
}

gboolean
hr_media_link_check (const char *link, const char *uri, const char *root, const char *const *allow,
                     GError **error)
{
  gsize scheme_length, unused;
  LinkKind uri_kind = link_kind (uri, &scheme_length), kind;
  g_autofree char *folder = NULL, *shown = NULL;

  if (uri_kind == LINK_DATA)
    return TRUE;
  if (link != NULL && link[0] == '\0') {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_NOT_FOUND, "the link is empty");
    return FALSE;
  }
  kind = link != NULL ? link_kind (link, &unused) : LINK_RELATIVE;
  if (root != NULL)
    folder = hr_media_link_folder (root);
  if (kind == LINK_RELATIVE && folder != NULL && is_under (uri, folder))
    return TRUE;
  if (is_allowed (uri, uri_kind, scheme_length, allow))
    return TRUE;
  shown = hr_media_link_shorten (link != NULL ? link : uri);
  if (kind == LINK_RELATIVE)
    hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED,
                       "the link \"%s\" leaves the data set's root %s; allow-links=FOLDER/ or "
                       "media-root=FOLDER/ would let it pass",
                       shown, folder != NULL ? folder : "(none is known)");
  else if (uri_kind == LINK_OTHER || uri_kind == LINK_FILE)
    hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED,
                       "the link \"%s\" is of a kind that nothing here can read", shown);
  else
    hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED,
                       "the link \"%s\" is absolute; allow-links=%s or allow-links=FOLDER/ would "
                       "let it pass",
                       shown,
                       uri_kind == LINK_PATH ? "file"
                       : uri_kind == LINK_S3 ? "s3"
                       : scheme_length == 5  ? "https"
                                             : "http");
  return FALSE;
}

gboolean
hr_media_link_check_redirect (const char *from, const char *target, const char *const *allow,
                              GError **error)
{
  gsize from_length, target_length;
  LinkKind kind = link_kind (target, &target_length);
  g_autofree char *shown = hr_media_link_shorten (target);
  const char *why;

  link_kind (from, &from_length);
  if (kind != LINK_HTTP)
    why = "which is no web address";
  else if (from_length == strlen ("https") && target_length < from_length)
    why = "from https to http";
  else if (!is_allowed (target, kind, target_length, allow))
    why = "which allow-links does not let pass";
  else
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_LINK_REFUSED, "is redirected to \"%s\", %s", shown, why);
  return FALSE;
}

gboolean
hr_media_link_check_allow (const char *const *allow, GError **error)
{
  static const char *const words[] = { "all", "file", "s3", "http", "https", NULL };

  for (gsize i = 0; allow != NULL && allow[i] != NULL; i++) {
    gsize scheme_length;
    LinkKind kind = link_kind (allow[i], &scheme_length);

    if (kind == LINK_RELATIVE ? !g_strv_contains (words, allow[i])
                              : kind == LINK_DATA || kind == LINK_OTHER) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                   "allow-links does not know \"%s\": it takes all, file, s3, http, https, or "
                   "folders such as /data/pictures/ and s3://bucket/prefix/",
                   allow[i]);
      return FALSE;
    }
  }
  return TRUE;
}

char *
hr_media_link_hide_secrets (const char *link)
{
  gsize scheme_length;
  LinkKind kind = link_kind (link, &scheme_length);

  return kind == LINK_HTTP || kind == LINK_OTHER ? hr_secrets_hide (link, HR_SECRETS_IN_VALUE)
                                                 : g_strdup (link);
}

char *
hr_media_link_shorten (const char *link)
{
  g_autofree char *shown = hr_media_link_hide_secrets (link);
  gsize length = strlen (shown), keep = SHORT_LINK;

  if (g_ascii_strncasecmp (shown, "data:", 5) == 0)
    keep = SHORT_DATA;
  if (length <= keep)
    return g_steal_pointer (&shown);
  while (keep > 0 && ((guchar)shown[keep] & 0xc0) == 0x80) /* not inside a character */
    keep--;
  return g_strdup_printf ("%.*s… (%" G_GSIZE_FORMAT " bytes)", (int)keep, shown, length);
}
