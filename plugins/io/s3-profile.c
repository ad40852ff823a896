/* s3-profile.c: the files ~/.aws/credentials and ~/.aws/config */
#include "s3-profile.h"
#include "hr-error.h"
#include <string.h>

struct _HrS3Profile {
  GHashTable *settings;
  gboolean exists;
};

/* the end of a value: a '#' or ';' begins a comment only behind white space */
static void
strip_comment (char *value)
{
  for (char *c = value; *c; c++)
    if ((*c == '#' || *c == ';') && c > value && g_ascii_isspace (c[-1])) {
      *c = '\0';
      break;
    }
  g_strchomp (value);
}

/* of "[profile name]" or "[name]": the name; NULL if it is no profile's section */
static char *
section_name (char *line, gboolean config)
{
  char *end = strchr (line, ']'), *name = line + 1;

  if (!end)
    return NULL;
  *end = '\0';
  name = g_strstrip (name);
  if (config && strcmp (name, "default") != 0) {
    if (!g_str_has_prefix (name, "profile") || !g_ascii_isspace (name[7]))
      return NULL;
    name = g_strchug (name + 7);
  }
  return name;
}

static void
take_setting (HrS3Profile *profile, char *line, gboolean indented, char **parent)
{
  char *value = strchr (line, '=');
  g_autofree char *key = NULL;

  if (!value)
    return;
  *value++ = '\0';
  key = g_strdup (g_strstrip (line));
  if (indented && *parent) {
    g_autofree char *child = g_steal_pointer (&key);

    key = g_strconcat (*parent, ".", child, NULL);
  } else {
    g_free (*parent);
    *parent = g_strdup (key);
  }
  value = g_strstrip (value);
  strip_comment (value);
  /* the file that was read first wins */
  if (*value && !g_hash_table_contains (profile->settings, key))
    g_hash_table_insert (profile->settings, g_steal_pointer (&key), g_strdup (value));
}

static void
parse (HrS3Profile *profile, char *text, const char *name, gboolean config)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *parent = NULL;
  gboolean mine = FALSE;

  for (char **line = lines; *line; line++) {
    gboolean indented = g_ascii_isspace (**line);

    g_strchomp (*line);
    if (**line == '[') {
      mine = g_strcmp0 (section_name (*line, config), name) == 0;
      profile->exists |= mine;
      g_clear_pointer (&parent, g_free);
    } else if (mine && **line && **line != '#' && **line != ';') {
      take_setting (profile, *line, indented, &parent);
    }
  }
}

static gboolean
load_file (HrS3Profile *profile, const char *variable, const char *file, const char *name,
           gboolean config, GError **error)
{
  const char *path = g_getenv (variable), *home = g_getenv ("HOME");
  g_autofree char *standard =
      g_build_filename (home ? home : g_get_home_dir (), ".aws", file, NULL);
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;

  if (g_file_get_contents (path && *path ? path : standard, &text, NULL, &failure)) {
    parse (profile, text, name, config);
    return TRUE;
  }
  if (g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOENT)
      || g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOTDIR))
    return TRUE;
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, failure->message);
  return FALSE;
}

HrS3Profile *
hr_s3_profile_load (const char *name, GError **error)
{
  g_autoptr (HrS3Profile) profile = g_new0 (HrS3Profile, 1);

  profile->settings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (!load_file (profile, "AWS_SHARED_CREDENTIALS_FILE", "credentials", name, FALSE, error)
      || !load_file (profile, "AWS_CONFIG_FILE", "config", name, TRUE, error))
    return NULL;
  return g_steal_pointer (&profile);
}

void
hr_s3_profile_free (HrS3Profile *profile)
{
  g_hash_table_unref (profile->settings);
  g_free (profile);
}

gboolean
hr_s3_profile_exists (const HrS3Profile *profile)
{
  return profile->exists;
}

const char *
hr_s3_profile_get (const HrS3Profile *profile, const char *key)
{
  return g_hash_table_lookup (profile->settings, key);
}
