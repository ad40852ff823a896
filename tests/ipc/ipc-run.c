/* ipc-run.c: pipelines at both ends of a socket */
#include "ipc-run.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* No descriptor more, until the limit returned is set again. 0, 1 and 2 are there, so none is free
 * below it, whatever another thread closes meanwhile; poll() takes no more than that either. */
static struct rlimit
close_the_door (void)
{
  struct rlimit before, now;

  g_assert_cmpint (getrlimit (RLIMIT_NOFILE, &before), ==, 0);
  now = (struct rlimit){ 3, before.rlim_max };
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &now), ==, 0);
  return before;
}

IpcVisitor
ipc_come_to_closed_door (const char *address)
{
  struct sockaddr_un name = { .sun_family = AF_UNIX };
  IpcVisitor visitor = { .fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
  gsize length =
      (gsize)g_snprintf (name.sun_path + 1, sizeof name.sun_path - 1, "headrace/%s", address);

  visitor.before = close_the_door ();
  length += 1 + G_STRUCT_OFFSET (struct sockaddr_un, sun_path);
  g_assert_cmpint (connect (visitor.fd, (const struct sockaddr *)&name, (socklen_t)length), ==, 0);
  return visitor;
}

void
ipc_leave (const IpcVisitor *visitor)
{
  g_assert_cmpint (setrlimit (RLIMIT_NOFILE, &visitor->before), ==, 0);
  close (visitor->fd);
}
