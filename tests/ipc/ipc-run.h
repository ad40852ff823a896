/* ipc-run.h: pipelines at both ends of a socket */
#pragma once
#include <sys/resource.h>
#include "headrace.h"

/* a pipeline of that text, which runs */
HrPipeline *ipc_start (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* two ends that are connected */
void ipc_pair (int fds[2]);

/* somebody who has come to a process that can open no descriptor more */
typedef struct {
  int fd;
  struct rlimit before;
} IpcVisitor;

/* to the writer that waits at that address; it can open none until the visitor has left */
IpcVisitor ipc_come_to_closed_door (const char *address);
void ipc_leave (const IpcVisitor *visitor);
