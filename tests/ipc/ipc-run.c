/* ipc-run.c: pipelines at both ends of a socket */
#include "ipc-run.h"
#include <sys/socket.h>

HrPipeline *
ipc_start (const char *format, ...)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  HrPipeline *pipeline;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  pipeline = hr_parse_launch (text, &error);
  g_assert_no_error (error);
  hr_pipeline_start (pipeline, &error);
  g_assert_no_error (error);
  return pipeline;
}

void
ipc_pair (int fds[2])
{
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
}
