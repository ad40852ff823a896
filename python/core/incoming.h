/* incoming.h: batches from the process of a pipeline: one is asked for, and comes, or the end does
 */
#pragma once
#include <headrace.h>

typedef struct _Incoming Incoming;

typedef enum {
  INCOMING_NOTHING, /* yet */
  INCOMING_BATCH,
  INCOMING_END,   /* or a failure, with the error of the run */
  INCOMING_CLOSED /* the process has closed its end, or was killed */
} IncomingResult;

/* takes @fd; NULL with an error */
Incoming *incoming_new (int fd, GError **error);
void incoming_free (Incoming *incoming);
/* to wait for */
int incoming_get_fd (const Incoming *incoming);
/* Asks for the next batch, if that has not been done, and takes it, or the end, if it is there.
 * @batch: (out) (transfer full) */
IncomingResult incoming_take (Incoming *incoming, HrBuffer **batch, GError **error);
