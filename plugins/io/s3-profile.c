/* s3-profile.c: the files ~/.aws/credentials and ~/.aws/config */
#include "s3-profile.h"
#include "hr-error.h"
#include <string.h>

#define N_FILES 2

struct _HrS3Profile {
  char *name;
  GHashTable *settings[N_FILES];
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

/* "name" or 'name' is name */
static char *
unquote (char *name)
{
  gsize length = strlen (name);

  if (length >= 2 && (*name == '"' || *name == '\'') && name[length - 1] == *name) {
    name[length - 1] = '\0';
    name++;
  }
  return name;
}

/* of "[kind name]" the name, of "[name]" too if there is no kind; else NULL */
static char *
section_name (char *line, const char *kind)
{
  char *end = strrchr (line, ']'), *name = line + 1;
  gsize length = kind ? strlen (kind) : 0;

  if (!end)
    return NULL;
  *end = '\0';
  name = g_strstrip (name);
  if (!kind || (strcmp (kind, "profile") == 0 && strcmp (name, "default") == 0))
    return name;
  if (!g_str_has_prefix (name, kind) || !g_ascii_isspace (name[length]))
    return NULL;
  return unquote (g_strchug (name + length));
}

/* what a section is read into */
typedef struct {
  const char *kind; /* NULL: sections have only names */
  const char *name;
  const char *prefix; /* of its keys */
  GHashTable *settings;
  gboolean found;
} Section;

static void
take_setting (Section *section, char *line, gboolean indented, char **parent)
{
  char *value = indented ? strchr (line, '=') : strpbrk (line, "=:");
  g_autofree char *key = NULL, *full = NULL;

  if (!value)
    return;
  *value++ = '\0';
  key = g_ascii_strdown (g_strstrip (line), -1);
  if (indented && *parent) {
    g_autofree char *child = g_steal_pointer (&key);

    key = g_strconcat (*parent, ".", child, NULL);
  } else {
    g_free (*parent);
    *parent = g_strdup (key);
  }
  value = g_strstrip (value);
  strip_comment (value);
  full = g_strconcat (section->prefix, key, NULL);
  if (*value && !g_hash_table_contains (section->settings, full))
    g_hash_table_insert (section->settings, g_steal_pointer (&full), g_strdup (value));
}

static void
parse (Section *section, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *parent = NULL;
  gboolean mine = FALSE;

  for (char **line = lines; *line; line++) {
    gboolean indented = g_ascii_isspace (**line);

    g_strchomp (*line);
    if (**line == '[') {
      mine = g_strcmp0 (section_name (*line, section->kind), section->name) == 0;
      section->found |= mine;
      g_clear_pointer (&parent, g_free);
    } else if (mine && **line && **line != '#' && **line != ';') {
      take_setting (section, *line, indented, &parent);
    }
  }
}

static char *
get_path (const char *variable, const char *file)
{
  const char *path = g_getenv (variable), *home = g_getenv ("HOME");

  if (!home)
    home = g_get_home_dir ();
  if (!path || !*path)
    return g_build_filename (home, ".aws", file, NULL);
  return g_str_has_prefix (path, "~/") ? g_build_filename (home, path + 2, NULL) : g_strdup (path);
}

/* NULL without an error: there is none */
static char *
read_file (const char *variable, const char *file, GError **error)
{
  g_autofree char *path = get_path (variable, file);
  char *text = NULL;
  g_autoptr (GError) failure = NULL;

  if (g_file_get_contents (path, &text, NULL, &failure)
      || g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOENT)
      || g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOTDIR))
    return text;
  g_set_error_literal (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, failure->message);
  return NULL;
}

HrS3Profile *
hr_s3_profile_parse (const char *name, const char *credentials, const char *config)
{
  HrS3Profile *profile = g_new0 (HrS3Profile, 1);
  Section section = { .name = name, .prefix = "" };
  g_autofree char *services = NULL;

  profile->name = g_strdup (name);
  for (guint i = 0; i < N_FILES; i++)
    profile->settings[i] = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  section.settings = profile->settings[HR_S3_PROFILE_CREDENTIALS];
  if (credentials)
    parse (&section, credentials);
  section.settings = profile->settings[HR_S3_PROFILE_CONFIG];
  section.kind = "profile";
  if (config)
    parse (&section, config);
  profile->exists = section.found;
  services = g_strdup (hr_s3_profile_get (profile, "services"));
  section =
      (Section){ .kind = "services", .name = services, .prefix = "services.", section.settings };
  if (services && config)
    parse (&section, config);
  return profile;
}

HrS3Profile *
hr_s3_profile_load (const char *name, GError **error)
{
  g_autofree char *credentials = NULL, *config = NULL;
  GError *failure = NULL;

  credentials = read_file ("AWS_SHARED_CREDENTIALS_FILE", "credentials", &failure);
  if (!failure)
    config = read_file ("AWS_CONFIG_FILE", "config", &failure);
  if (!failure)
    return hr_s3_profile_parse (name, credentials, config);
  g_propagate_error (error, failure);
  return NULL;
}

void
hr_s3_profile_free (HrS3Profile *profile)
{
  for (guint i = 0; i < N_FILES; i++)
    g_hash_table_unref (profile->settings[i]);
  g_free (profile->name);
  g_free (profile);
}

gboolean
hr_s3_profile_exists (const HrS3Profile *profile)
{
  return profile->exists;
}

const char *
hr_s3_profile_get_name (const HrS3Profile *profile)
{
  return profile->name;
}

const char *
hr_s3_profile_get_in (const HrS3Profile *profile, HrS3ProfileFile file, const char *key)
{
  return g_hash_table_lookup (profile->settings[file], key);
}

const char *
hr_s3_profile_get (const HrS3Profile *profile, const char *key)
{
  const char *value = hr_s3_profile_get_in (profile, HR_S3_PROFILE_CREDENTIALS, key);

  return value ? value : hr_s3_profile_get_in (profile, HR_S3_PROFILE_CONFIG, key);
}
