/* file.h: objects on disk: what a location names, and their bytes */
#pragma once
#include "hr-memory.h"
#include "hr-plan.h"
#include <sys/stat.h>

G_BEGIN_DECLS

/* the path of a path, or of a "file:///" location; (transfer full) */
char *hr_file_path (const char *location, GError **error);

/**
 * hr_file_list:
 * @path: a file; a folder: every *.jsonl under it; or a pattern, hr_glob_match()
 * @plan: where to list them; not yet hr_plan_listed()
 * @root: (out): the folder, or the file's or pattern's: the tree that links may not leave
 *   (transfer full)
 * @error: #HR_RESOURCE_ERROR: naming what is missing, or that nothing matches
 *
 * Links are followed, circles of them are not. An object's identity is its size and the time it
 * was changed.
 */
gboolean hr_file_list (const char *path, HrPlan *plan, char **root, GError **error);

/* what tells a file from another, and from itself when it has been changed: size and time; NULL: it
 * is no regular file. (transfer full) */
char *hr_file_identity (const struct stat *info);
/* a descriptor for reading, which does not wait for a pipe's other end; @size (out) (optional): -1
 * if it is no regular file */
int hr_file_open (const char *path, gint64 *size, GError **error);
/* reads at @offset, or what comes next of a descriptor that has no offsets; 0 at the end, -1 with
 * #HR_RESOURCE_ERROR_READ. @wake_fd: ends a wait for a pipe, with #HR_CORE_ERROR_STOPPED */
gssize hr_file_read (int fd, const char *path, gint64 offset, guint8 *into, gsize size, int wake_fd,
                     GError **error);

G_END_DECLS
