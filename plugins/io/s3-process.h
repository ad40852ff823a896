/* s3-process.h: keys that a program prints: credential_process */
#pragma once
#include "s3-keys.h"

G_BEGIN_DECLS

/**
 * hr_s3_process_fetch:
 * @command: split into words as a shell does, and run without one
 * @wake_fd: when this becomes readable, the program is killed, with #HR_CORE_ERROR_STOPPED
 * @error: says how it ended, and the end of what it wrote to stderr
 *
 * A program that takes longer than a minute is killed.
 */
gboolean hr_s3_process_fetch (const char *command, int wake_fd, HrS3Keys *keys, GError **error);

G_END_DECLS
