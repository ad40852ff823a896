/* checkpoint.c */
#include "checkpoint.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/stat.h>

/* A checkpoint takes the place of the file that was there: that must not be a device. */
static gboolean
is_replaceable (const char *file, GError **error)
{
  struct stat about;

  if (stat (file, &about) != 0 || S_ISREG (about.st_mode))
    return TRUE;
  g_set_error (
      error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
      "--checkpoint %s: is there, and is no regular file; name a file that may be replaced", file);
  return FALSE;
}

/* Else that would be found out when the first one is written, many steps later. */
static gboolean
has_folder (const char *file, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (file);

  if (g_access (folder, W_OK | X_OK) == 0)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno),
               "--checkpoint %s: no file can be written into %s: %s", file, folder,
               g_strerror (errno));
  return FALSE;
}

gboolean
launch_checkpoint_read (HrPipeline *pipeline, const char *file, LaunchResume resume, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) own = NULL;

  if (file != NULL && (!is_replaceable (file, error) || !has_folder (file, error)))
    return FALSE;
  if (resume == LAUNCH_RESUME_NO)
    return TRUE;
  if (!g_file_get_contents (file, &text, NULL, &own)) {
    if (!g_error_matches (own, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
      g_propagate_error (error, g_steal_pointer (&own));
      return FALSE;
    }
    fprintf (stderr, "%s: no checkpoint yet, beginning at the first step\n", file);
    return TRUE;
  }
  if (hr_pipeline_resume (pipeline, text, resume == LAUNCH_RESUME_FORCE, error))
    return TRUE;
  g_prefix_error (error, "%s: ", file);
  return FALSE;
}

gboolean
launch_checkpoint_check (HrPipeline *pipeline, GError **error)
{
  g_autoptr (GError) own = NULL;
  g_autofree char *text = hr_pipeline_get_checkpoint (pipeline, NULL, &own);

  if (text != NULL || g_error_matches (own, HR_CORE_ERROR, HR_CORE_ERROR_NO_STEP))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&own));
  return FALSE;
}

gboolean
launch_checkpoint_write (const char *file, const char *text, GError **error)
{
  return g_file_set_contents_full (
      file, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0666, error);
}

gboolean
launch_checkpoint_end (HrPipeline *pipeline, const char *file, GError **error)
{
  g_autoptr (GError) own = NULL;
  g_autofree char *text = hr_pipeline_get_checkpoint (pipeline, NULL, &own);

  /* a run that ended before its first step has nothing to note; the last file stands */
  if (text == NULL && g_error_matches (own, HR_CORE_ERROR, HR_CORE_ERROR_NO_STEP))
    return TRUE;
  if (text == NULL) {
    g_propagate_error (error, g_steal_pointer (&own));
    return FALSE;
  }
  return launch_checkpoint_write (file, text, error);
}
