/* standin.h: what stands in for CUDA's runtime library on machines without a GPU
 *
 * A device's memory is an arena whose addresses fault when the CPU touches them. Work on streams is
 * kept until somebody waits for it, and every piece of it is checked against all others that touch
 * the same bytes: unless streams, events or the host order them, that is a misuse, whether or not
 * it would have gone wrong this time. docs/gpu.md lists what is found and which variables set what.
 */
#pragma once
#include <glib.h>
#include "cudart.h"
#include "kernel-params.h"

G_BEGIN_DECLS

#define STANDIN_PATTERN 0xD7 /* in memory that nobody has written yet */

/* ---- for tests ---- */

/* What was misused since the last call, a line each: "KIND: what". (transfer full) */
char **standin_take_misuses (void);
/* what is left: memory, streams, events, libraries, and work that nobody waited for. (transfer
 * full) */
char **standin_list_left (void);

/* ---- report.c: misuse, and what the environment says ---- */

typedef enum { STANDIN_LATE, STANDIN_NOW, STANDIN_RANDOM, STANDIN_THREAD } StandinOrder;

typedef struct {
  int n_devices;
  gsize memory;      /* bytes of each device */
  guint64 copy_rate; /* bytes a microsecond */
  int major, minor;
  int driver, runtime;
  StandinOrder order;
  guint32 seed;
  gboolean lazy; /* that code does not fit is found when it is launched */
} StandinConfig;

extern StandinConfig standin_config;

/* the one lock, held by every function of the library */
void standin_lock (void);
void standin_unlock (void);
void standin_misuse (const char *kind, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* the error that HR_STANDIN_FAIL has for this call of that function, or 0 */
int standin_fail (const char *name);
/* TRUE with probability @percent, by the seed */
gboolean standin_chance (guint percent);
guint standin_random (guint end);

/* ---- clock.c: what is known to be done before what ---- */

/* how far each stream is, by its number */
typedef struct {
  guint64 *at;
  guint n;
} StandinClock;

void standin_clock_merge (StandinClock *clock, const StandinClock *other);
void standin_clock_set (StandinClock *clock, guint stream, guint64 at);
guint64 standin_clock_get (const StandinClock *clock, guint stream);
StandinClock standin_clock_copy (const StandinClock *clock);
void standin_clock_clear (StandinClock *clock);

/* ---- memory.c: blocks of devices, and pinned ones of the host ---- */

#define STANDIN_HOST (-1)

/* some bytes that a piece of work reads or writes */
typedef struct {
  gsize begin, end; /* in the block */
  gboolean write;
  guint stream;
  guint64 index;
  const char *what;
} StandinAccess;

typedef struct {
  guint8 *begin; /* as the program knows it */
  gsize size;
  int device; /* STANDIN_HOST: pinned memory */
  gboolean freed;
  GArray *accesses; /* that the host does not know to be done */
  GArray *written;  /* of StandinAccess: begin and end */
} StandinBlock;

/* NULL: no room */
guint8 *standin_memory_new (int device, gsize size);
/* FALSE: there is no such block, or it is freed already */
gboolean standin_memory_free (void *memory, int device);
/* the block that @memory lies in, a freed one too; NULL: not one of ours */
StandinBlock *standin_memory_find (const void *memory);
gsize standin_memory_used (int device);
/* where the stand-in reaches the bytes of a device's address; host addresses are themselves */
guint8 *standin_memory_reach (const void *memory);
void standin_memory_list_left (GPtrArray *lines);

/* ---- work.c: streams, and the work on them ---- */

typedef struct _StandinStream StandinStream;
typedef struct _StandinWork StandinWork;

struct _StandinStream {
  guint number;
  int device;
  gboolean built_in; /* the legacy one and that of each thread */
  gboolean destroyed;
  guint64 given, done; /* pieces of work */
  GQueue waiting;
  StandinClock clock; /* of the piece given last */
  double time;        /* microseconds */
};

typedef enum { STANDIN_COPY, STANDIN_KERNEL, STANDIN_RECORD, STANDIN_WAIT } StandinKind;

struct _StandinWork {
  StandinKind kind;
  StandinStream *stream;
  guint64 index;
  guint64 serial; /* among all streams' */
  StandinClock clock;
  /* a copy; the bytes of a host's source as they were when it was given */
  guint8 *into;
  const guint8 *from;
  gsize size;
  guint8 *before;
  /* a kernel; its images as they were when it was launched */
  HrPatchParams params;
  HrPatchImage *images;
  guint n_blocks, n_threads;
  /* an event that is recorded */
  HrCudaEvent event;
  guint64 generation;
  /* another stream's work that is waited for */
  StandinStream *other;
  guint64 other_index;
  gboolean dead; /* was misused: it is not done */
};

struct CUevent_st {
  int device;
  guint flags;
  gboolean destroyed;
  guint64 generation; /* how often it was recorded */
  StandinStream *stream;
  guint64 index;
  StandinClock clock;
  guint queries;
  double time; /* when it was last passed */
};

StandinStream *standin_stream_new (int device);
/* the stream of that handle; NULL, with a misuse, if there is none. @launch: it must be one of
 * @current_device */
StandinStream *standin_stream_get (HrCudaStream stream, int current_device, gboolean launch);
/* Work is prepared, its bytes are noted by standin_work_touch(), and it is given: done now or
 * later. */
StandinWork *standin_work_new (StandinKind kind, StandinStream *stream);
/* notes that the work touches these bytes, and checks them against all other work and their block
 */
void standin_work_touch (StandinWork *work, const void *memory, gsize size, gboolean write,
                         const char *what);
void standin_work_give (StandinWork *work);
/* everything up to there is done, and the host knows; @clock: of that piece of work */
void standin_work_finish (StandinStream *stream, guint64 index, const StandinClock *clock);
/* the bytes that will be at that address of a device once all that is given is done */
const guint8 *standin_work_foresee (const void *memory, gsize size);
/* one that the host does not know to be done; NULL: none */
const StandinAccess *standin_work_in_flight (const GArray *accesses);
/* sometimes something is done, by the order that is set */
void standin_work_go_on (void);
void standin_work_list_left (GPtrArray *lines);

/* ---- kernel.c ---- */

/* checks the arguments and notes what is touched */
void standin_kernel_prepare (StandinWork *work);
void standin_kernel_do (StandinWork *work);

/* ---- runtime.c ---- */
void standin_runtime_list_left (GPtrArray *lines);

/* ---- code.c ---- */
void standin_code_list_left (GPtrArray *lines);

G_END_DECLS
