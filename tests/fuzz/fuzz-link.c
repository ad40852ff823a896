/* fuzz-link.c: any text as a link of a record; what may be followed lies where it is allowed to */
#include <string.h>
#include "media-link.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
try_link (const char *base, const char *root, const char *link)
{
  g_autofree char *uri = hr_media_link_resolve (base, link);
  g_autofree char *shown = hr_media_link_shorten (link);
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (shown);
  if (!hr_media_link_check (link, uri, root, NULL, &error)) {
    g_assert_nonnull (error);
    return;
  }
  g_assert_no_error (error);
  if (g_ascii_strncasecmp (uri, "data:", 5) == 0)
    return;
  g_assert_true (g_str_has_prefix (uri, root));
  if (root[0] == '/') { /* as the file system sees it */
    g_autofree char *path = g_canonicalize_filename (uri, "/");
    g_autofree char *folder = g_strconcat (path, "/", NULL);

    g_assert_true (g_str_has_prefix (folder, root));
  } else {
    g_assert_null (strstr (uri + strlen (root), "/../"));
  }
}

static void
try_allowed (const char *link, const char *folder)
{
  const char *const allow[] = { folder, NULL };
  g_autofree char *uri = hr_media_link_resolve ("/r/d/", link);

  if (hr_media_link_check (link, uri, NULL, allow, NULL)
      && g_ascii_strncasecmp (uri, "data:", 5) != 0)
    g_assert_true (g_str_has_prefix (uri, folder));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = size > 0 ? g_strndup ((const char *)data, size) : g_strdup ("");
  const char *const words[] = { text, NULL };
  g_autofree char *base = hr_media_link_base (text), *folder = hr_media_link_folder (text);

  g_assert_true (g_str_has_suffix (base, "/") && g_str_has_suffix (folder, "/"));
  try_link ("/r/d/", "/r/", text);
  try_link ("s3://b/r/d/", "s3://b/r/", text);
  try_link ("https://h/r/d/", "https://h/r/", text);
  try_allowed (text, "https://h/ok/");
  try_allowed (text, "s3://b/ok/");
  try_allowed (text, "/ok/");
  hr_media_link_check_allow (words, NULL);
  return 0;
}
