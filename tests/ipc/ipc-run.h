/* ipc-run.h: pipelines at both ends of a socket */
#pragma once
#include "headrace.h"

/* a pipeline of that text, which runs */
HrPipeline *ipc_start (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* two ends that are connected */
void ipc_pair (int fds[2]);
