/* file.c: objects on disk: what a location names, and their bytes */
#include "file.h"
#include "glob.h"
#include "hr-error.h"
#include "inflate.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".jsonl"

static gboolean
fail (const char *path, GError **error)
{
  int code = errno, kind = HR_RESOURCE_ERROR_READ;

  /* a socket, and a device that is not there, cannot be opened */
  if (code == ENOENT || code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG || code == ENXIO
      || code == ENODEV)
    kind = HR_RESOURCE_ERROR_NOT_FOUND;
  else if (code == EACCES || code == EPERM)
    kind = HR_RESOURCE_ERROR_FORBIDDEN;
  g_set_error (error, HR_RESOURCE_ERROR, kind, "%s: %s", path, g_strerror (code));
  return FALSE;
}

char *
hr_file_path (const char *location, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autofree char *host = NULL;
  char *path;

  if (g_str_has_prefix (location, "s3://")) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                 "\"%s\" is no file: objects in S3 are read by s3src", location);
    return NULL;
  }
  if (!g_str_has_prefix (location, "file:"))
    return g_strdup (location);
  path = g_filename_from_uri (location, &host, &failure);
  if (path && (!host || !*host || strcmp (host, "localhost") == 0))
    return path;
  g_free (path);
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, "\"%s\" is no file: file:///PATH",
               location);
  return NULL;
}

typedef struct {
  HrPlan *plan;
  const char *pattern; /* relative; NULL: every *.jsonl */
  GString *path;
  gsize root_length;
  GArray *above; /* struct stat of the folders we are in */
} Walk;

char *
hr_file_identity (const struct stat *info)
{
  if (!S_ISREG (info->st_mode))
    return NULL;
  return g_strdup_printf ("%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT ".%09ld", (gint64)info->st_size,
                          (gint64)info->st_mtim.tv_sec, info->st_mtim.tv_nsec);
}

static void
add_file (HrPlan *plan, const char *path, const char *key, const struct stat *info)
{
  g_autofree char *identity = hr_file_identity (info);

  hr_plan_add_object (plan, path, key, identity != NULL ? info->st_size : -1, identity);
  if (identity != NULL && hr_stored_of (key) != HR_STORED_PLAIN)
    hr_plan_mark_compressed (plan);
}

static gboolean
is_wanted (const Walk *walk, const char *key)
{
  return walk->pattern ? hr_glob_match (walk->pattern, key) : hr_stored_is_jsonl (key);
}

static gboolean
is_circle (const Walk *walk, const struct stat *info)
{
  for (guint i = 0; i < walk->above->len; i++) {
    const struct stat *folder = &g_array_index (walk->above, struct stat, i);

    if (folder->st_dev == info->st_dev && folder->st_ino == info->st_ino)
      return TRUE;
  }
  return FALSE;
}

static gboolean walk_folder (Walk *walk, const struct stat *info, GError **error);

static gboolean
walk_entry (Walk *walk, GError **error)
{
  const char *path = walk->path->str, *key = path + walk->root_length;
  struct stat info;

  if (stat (path, &info) != 0)
    /* a link to nothing, or to itself, is no file, unless it was to be read */
    return (errno == ENOENT || errno == ELOOP) && !is_wanted (walk, key) ? TRUE
                                                                         : fail (path, error);
  if (S_ISDIR (info.st_mode)) {
    /* below the last "/" of a pattern without "**" there is nothing for it */
    if (walk->pattern && !strstr (walk->pattern, "**") && !strchr (walk->pattern, '/'))
      return TRUE;
    return is_circle (walk, &info) || walk_folder (walk, &info, error);
  }
  if (is_wanted (walk, key))
    add_file (walk->plan, path, key, &info);
  return TRUE;
}

static gboolean
walk_folder (Walk *walk, const struct stat *info, GError **error)
{
  gsize length = walk->path->len;
  DIR *folder = opendir (length > 0 ? walk->path->str : ".");
  struct dirent *entry;
  gboolean good = TRUE;

  if (!folder)
    return fail (walk->path->str, error);
  g_array_append_val (walk->above, *info);
  if (length > 0 && walk->path->str[length - 1] != '/')
    g_string_append_c (walk->path, '/');
  if (walk->above->len == 1)
    walk->root_length = walk->path->len;
  length = walk->path->len;
  while (good && (errno = 0, entry = readdir (folder))) {
    if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
      continue;
    g_string_append (walk->path, entry->d_name);
    good = walk_entry (walk, error);
    g_string_truncate (walk->path, length);
  }
  if (good && errno != 0)
    good = fail (walk->path->str, error);
  closedir (folder);
  g_array_set_size (walk->above, walk->above->len - 1);
  return good;
}

static gboolean
list_folder (const char *folder, const char *pattern, HrPlan *plan, GError **error)
{
  g_autoptr (GString) path = g_string_new (folder);
  g_autoptr (GArray) above = g_array_new (FALSE, FALSE, sizeof (struct stat));
  Walk walk = { .plan = plan, .pattern = pattern, .path = path, .above = above };
  guint n = hr_plan_get_n_objects (plan);
  struct stat info;

  if (stat (*folder ? folder : ".", &info) != 0)
    return fail (folder, error);
  if (!walk_folder (&walk, &info, error))
    return FALSE;
  if (hr_plan_get_n_objects (plan) > n)
    return TRUE;
  if (pattern)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, "no file matches \"%s%s\"",
                 folder, pattern);
  else
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                 "there is no *" SUFFIX ", *" SUFFIX ".gz or *" SUFFIX ".zst file under \"%s\"",
                 folder);
  return FALSE;
}

static char *
folder_of (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash ? g_strndup (path, slash + 1 - path) : g_strdup ("./");
}

gboolean
hr_file_list (const char *path, HrPlan *plan, char **root, GError **error)
{
  struct stat info;
  int missing;

  if (stat (path, &info) == 0) {
    if (S_ISDIR (info.st_mode)) {
      *root = g_strconcat (path, g_str_has_suffix (path, "/") ? "" : "/", NULL);
      return list_folder (path, NULL, plan, error);
    }
    if (access (path, R_OK) != 0)
      return fail (path, error);
    *root = folder_of (path);
    add_file (plan, path, strrchr (path, '/') ? strrchr (path, '/') + 1 : path, &info);
    return TRUE;
  }
  missing = errno;
  /* a file whose name looks like a pattern is taken by its name, above */
  if (hr_glob_is_pattern (path)) {
    gsize length = hr_glob_folder_length (path);
    g_autofree char *folder = g_strndup (path, length);

    *root = g_strdup (length > 0 ? folder : "./");
    return list_folder (folder, path + length, plan, error);
  }
  errno = missing;
  return fail (path, error);
}

int
hr_file_open (const char *path, gint64 *size, GError **error)
{
  int fd;
  struct stat info;

  do
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 || fstat (fd, &info) != 0) {
    fail (path, error);
    if (fd >= 0)
      close (fd);
    return -1;
  }
  if (S_ISDIR (info.st_mode)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, "%s: %s", path,
                 g_strerror (EISDIR));
    close (fd);
    return -1;
  }
  if (size)
    *size = S_ISREG (info.st_mode) ? info.st_size : -1;
  return fd;
}

static gboolean
wait_for (int fd, int wake_fd, GError **error)
{
  struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };

  while (poll (fds, 2, -1) < 0 && errno == EINTR)
    ;
  if (fds[1].revents == 0)
    return TRUE;
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

gssize
hr_file_read (int fd, const char *path, gint64 offset, guint8 *into, gsize size, int wake_fd,
              GError **error)
{
  for (;;) {
    gssize n = pread (fd, into, size, offset);

    if (n < 0 && (errno == ESPIPE || errno == EAGAIN)) {
      if (!wait_for (fd, wake_fd, error))
        return -1;
      n = read (fd, into, size);
    }
    if (n >= 0)
      return n;
    if (errno != EINTR && errno != EAGAIN) {
      fail (path, error);
      return -1;
    }
  }
}
