/* write.h: whole writes, with errors that name the file */
#pragma once
#include "headrace.h"

/* a descriptor of an empty file, or -1 */
int open_file (const char *path, GError **error);
gboolean write_bytes (int fd, const char *path, gconstpointer data, gsize size, GError **error);
/* some file systems say only now that there was no room. @ok: nothing has gone wrong before */
gboolean close_file (int fd, const char *path, gboolean ok, GError **error);
/* all elements in C order */
gboolean write_tensor (int fd, const char *path, const HrTensor *tensor, GError **error);
