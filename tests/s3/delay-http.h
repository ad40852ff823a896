/* delay-http.h: reading along with HTTP/1.1, one side of a connection at a time */
#pragma once
#include <glib.h>
#include <stdio.h>

/* the whole proxy's counts and log */
typedef struct {
  gint64 start_us;
  FILE *log; /* NULL: none */
  guint requests, aborted, in_flight, max_in_flight;
  gint64 flight_changed, flight_area, flight_busy;
} Watch;

/* what is left of the message at hand */
typedef enum { HEAD, BODY, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER, TO_THE_END } Part;

typedef struct {
  Part part;
  GString *line; /* head, or the line at hand */
  guint64 left;
  guint64 bytes;
  guint status;
} Side;

typedef struct {
  Watch *watch;
  guint id;
  Side up, down;
  GQueue requests; /* asked and not yet answered */
} Talk;

double watch_seconds (const Watch *watch, gint64 t);
/* accounts for the time that has passed and changes the number in flight */
void watch_count (Watch *watch, int change);
/* mean number of requests in flight while there was any */
double watch_mean (const Watch *watch);

void talk_init (Talk *talk, Watch *watch, guint id);
/* the client has seen the end of its answers; what it still waits for is aborted */
void talk_end (Talk *talk);
void talk_clear (Talk *talk);
/* bytes that the client has sent, or that have reached it */
void talk_read (Talk *talk, Side *side, const guint8 *bytes, gsize size);
