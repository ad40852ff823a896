/* hr-pipeline-private.h: the pipeline object, and an element's part of it while it runs */
#pragma once
#include "hr-element-private.h"
#include "hr-gate.h"
#include "hr-link.h"
#include "hr-mix-run.h"
#include "hr-plan-private.h"
#include "hr-requests.h"
#include "hr-reservation.h"
#include "hr-rules.h"
#include "hr-steps.h"
#include "hr-sync.h"

typedef enum { HR_BALANCE_NONE, HR_BALANCE_PIXELS } HrBalanceBy;
typedef enum { HR_ON_STALL_TELL, HR_ON_STALL_FAIL } HrOnStall;
typedef enum { HR_SCAN_AUTO, HR_SCAN_LINES, HR_SCAN_LENGTHS } HrScan;

/* filled by hr_pipeline_props */
typedef struct {
  gboolean serial;
  gboolean automatic;
  guint64 memory; /* bytes; live */
  guint64 cpus;   /* 0: as many as the process may use; live */
  gint on_error;  /* HrOnError */
  char *max_errors;
  char *dead_letter;    /* file; NULL: none */
  char *trace;          /* the same */
  gint64 stall_timeout; /* nanoseconds; 0: never */
  gint on_stall;        /* HrOnStall */
  guint64 limit;        /* samples; 0: all */
  guint64 steps;        /* the same */
  guint64 rank;
  guint64 world;
  gint64 seed;              /* -1: the sources' own */
  gint64 epochs;            /* the same */
  guint64 checkpoint_every; /* steps; 0: never */
  gint scan;                /* HrScan */
  gint balance;             /* HrBalanceBy */
  gboolean requests;
  gint64 headspace; /* steps; 0: none, -1: as many as fit */
  gboolean checksum;
} HrSettings;

/* what a worker waits for, for the deadlock finder and the watchdog */
typedef enum {
  HR_WAIT_NONE,
  HR_WAIT_INPUT,
  HR_WAIT_OUTPUT,
  HR_WAIT_RELEASE,
  HR_WAIT_BUDGET,
  HR_WAIT_PERMIT,
  HR_WAIT_OUTSIDE /* a network, a trainer, a clock */
} HrWait;

typedef struct _HrTrace HrTrace; /* hr-trace.h */
typedef struct _HrTraceTrack HrTraceTrack;

/* One thread's part of an element, and what it counts. The counters have one writer. */
typedef struct _HrWorker HrWorker;
struct _HrWorker {
  HrRun *run;
  guint index;
  gpointer state;
  HrOut *out;
  struct _HrAsync *async;                               /* of asynchronous elements */
  gint wait;                                            /* HrWait */
  gpointer wait_for;                                    /* HrLink */
  guint64 wait_count;                                   /* how often it has begun to wait */
  gint64 waits_since;                                   /* traced: when it last did */
  HrTraceTrack *track;                                  /* NULL: nothing is traced */
  gint64 blocked_in, working, blocked_out, blocked_cpu; /* nanoseconds */
  gint64 slept;                                         /* of working, by hr_out_sleep() */
  clockid_t clock; /* its thread's processor time, while it lives; 0: none. Atomic */
  gint64 cpu;      /* … and all of it, before its clock is gone */
  guint64 items, bytes, copied;
  guint64 read;     /* bytes that came from outside */
  gint asked;       /* the watchdog wants to know what it waits for … */
  char *word;       /* … its answer, with the run's lock … */
  guint64 progress; /* … and how much of it has come so far */
};

/* one writer, many readers */
#define hr_counter_add(counter, n) __atomic_store_n ((counter), *(counter) + (n), __ATOMIC_RELAXED)
#define hr_counter_get(counter) __atomic_load_n ((counter), __ATOMIC_RELAXED)

/* places of a block that are holes */
typedef struct _HrTally HrTally; /* hr-tell.c */
typedef struct _HrTell HrTell;

typedef struct {
  guint epoch;
  gint64 block;   /* its first place */
  GArray *places; /* gint64 */
} HrSkipped;

/* steps of an epoch that have been taken */
typedef struct {
  gint64 epoch;
  gint64 step;
  gint64 row; /* packed: and rows of the next step's block */
} HrPosition;

#define HR_MAX_WORKERS 256
/* most buffers that a worker pops at once */
#define HR_MAX_RUN 128

struct _HrRun {
  HrPipeline *pipeline;
  HrElement *element;
  const HrElementDef *def;
  gpointer self;
  gpointer shared;
  gboolean started;

  gint closed;     /* leave every wait */
  HrMutex lock;    /* threads, workers, closed_fd */
  GArray *threads; /* pthread_t, joined by the owner */
  guint n_alive;
  gboolean leaving; /* no new threads */
  HrWorker *workers[HR_MAX_WORKERS];
  guint n_workers; /* ever made */
  HrBell bell;
  int closed_fd; /* -1 until asked for */

  HrAllocator *pool;
  GHashTable *allocators; /* by field: those that consumers have proposed; NULL: none has */
  HrPlan *plan;
  HrPlanOrders orders; /* sources: what goes for their plan … */
  HrPlanStart start;   /* … and where it begins */
  GPtrArray *front;    /* HrElement: those that lengths are found out with; NULL: none are wanted */
  HrRequestReader reader; /* … or what it has read of what was asked for */
  HrMixRun *mix;          /* of a mix, and of its members: the mix's */
  gboolean behind_prefetch;
  gboolean stamps_below; /* an element behind it makes samples of blocks */
  guint64
      ahead;    /* steps that the deepest prefetchqueue upstream allows; start() and live changes */
  guint group;  /* samples in each buffer it gets */
  guint packer; /* whose rows it gets, from 1; 0: no packer's */
  guint packer_out;            /* … and gives */
  gboolean numbered_rows;      /* of a packer: what comes is marked, row by row … */
  gboolean block_ends;         /* … and that was the last of a row … */
  gint64 block_row;            /* … which is this */
  guint block_in;              /* of a packer: samples of the block at hand, so far */
  gint64 n_blocks, epoch_rows; /* … blocks so far, and rows of this epoch */
  guint empty_epochs;          /* … and epochs without any, one after the other */
  gint64 block_place;          /* … where it begins */
  guint block_epoch;
  GQueue skipped;        /* HrSkipped: of the last blocks; with the lock */
  GPtrArray *left_out;   /* HrBuffer: holes of blocks that no row has been made of yet */
  guint delivered_rows;  /* rows of the first block that an earlier run has delivered … */
  GArray *known_skipped; /* … and what it left out of it */
  guint64 again_lines, again_bytes; /* … and what was read again for them; atomic */
  gboolean raw;                     /* what it gives are blocks, not samples yet */
  HrLink *numbers; /* of sources and what works on blocks: the link where samples get numbers */
  guint segment;   /* the unordered element that it stands before, see hr-steps.h */

  /* sinks */
  guint sink;
  gint64 step;
  gboolean gated; /* a batch upstream: sources wait until the sink's steps are asked for */
  gint64 wait_time, train_time, cold_start; /* -1: no step yet */
  gboolean asking;                          /* for a step that pull() has not got yet */
  gint64 asked_at, got_at;                  /* it waits, or trains, since then; 0: it does not */
  gint64 n_samples, n_images;
  HrPosition taken;         /* behind the step that has come; epoch -1: not known */
  HrPosition done;          /* … that the trainer is done with: with the lock */
  gint64 n_done;            /* steps of the whole run up to there; -1: none */
  HrForeign *foreign_taken; /* of what has come from another run, like taken … */
  HrForeign *foreign_done;  /* … and done: with the lock */
  GChecksum *checksum;
  HrTraceTrack *pull_track; /* of the thread that pulls; NULL: nothing is traced */
  HrTally *tally;           /* of the samples it has got; NULL: none */

  /* asynchronous elements: sums of nanoseconds, for the verdict */
  gint64 first_byte_time, body_time;
  guint64 n_transfers;
};

typedef struct _HrAuto HrAuto; /* hr-auto.c */
typedef struct _HrSerial HrSerial;
typedef struct _HrAccount HrAccount;     /* hr-account.h */
typedef struct _HrRecent HrRecent;       /* hr-recent.h */
typedef struct _HrHeadspace HrHeadspace; /* hr-headspace.c */

struct _HrPipeline {
  GObject parent_instance;
  HrSettings settings;
  GPtrArray *elements; /* HrElement, owned */
  GPtrArray *links;    /* HrLink, owned */

  HrMutex lock;
  HrCond changed; /* state, messages */
  HrState state;
  gint stopping;
  HrBell stop_bell; /* rung by stop(), never hushed; made when somebody asks for it */
  gint failed;
  GError *error;
  GQueue messages;
  HrTell *tell;    /* from start() on */
  guint n_running; /* threads */
  pid_t pid;

  HrGate *memory;
  HrGate *cpus;
  gboolean weighs; /* an element tells costs */
  HrSteps *steps;
  gint64 skipped[HR_N_DATA_ERRORS];
  gint64 dropped[HR_N_DATA_ERRORS]; /* by an element's policy */
  gint64 n_dropped;                 /* the same, by one that does not say why */
  gint64 started_at, ended_at;
  gint64 cpu_at_start, cpu_at_end;
  HrAuto *automatic;        /* NULL in serial mode */
  HrAccount *first_account; /* what was counted up to the first step; atomic */
  HrRecent *recent;
  HrHeadspace *headspace; /* NULL: none is wanted */
  char *final_stats;      /* once all threads have left */
  gboolean wound_up;
  HrMutex live;     /* live changes, one at a time */
  GPtrArray *order; /* HrElement, from sink to source */
  HrElement *pull_sink;
  gboolean hands_out;  /* the last element is not of the text: see hr-handout.h */
  gboolean pulled_out; /* nobody will pull again */
  struct _HrSerial *serial_run;
  gint64 serial_nested; /* serial mode: time of elements upstream, inside the one that demands */
  struct _HrMonitor *monitor;
  HrTrace *trace;       /* NULL: none */
  HrRequests *requests; /* from the beginning */
  JsonNode *resume;     /* the checkpoint it goes on from; NULL: none */
  gboolean resume_force;
  gint64 first_step;    /* steps that the run had before this one */
  gint64 told_step;     /* of the last checkpoint that was posted; with the lock */
  gint64 foreign_steps; /* of the run of another process that this one goes on with; -1: unknown, or
                         * there is none. Atomic */
  HrPipeline *inner;    /* finds out lengths meanwhile; with the lock */
  GPtrArray *scans; /* char *: JSON: what those that have ended did, for the stats; with the lock */
  gboolean measures; /* is such a one: all lines as they lie there, holes are delivered, too … */
  gboolean (*wants_object) (gpointer user, const HrObject *object); /* … of those objects */
  gpointer wants_user;
};

/* hr-run.c */
gboolean hr_run_start (HrRun *run, GError **error);
void hr_run_stop (HrRun *run);
/* @field: interned; "*": every one without an allocator of its own. The first holds */
void hr_run_set_allocator (HrRun *run, const char *field, HrAllocator *allocator);
/* (transfer none): where the bytes of that field come from */
HrAllocator *hr_run_get_allocator (const HrRun *run, const char *field);
HrRun *hr_run_new (HrPipeline *pipeline, HrElement *element);
void hr_run_free (HrRun *run);
HrWorker *hr_worker_new (HrRun *run, GError **error);
/* leave every wait: closed downstream, or the pipeline stops */
void hr_run_close (HrRun *run);
void hr_run_wake (HrRun *run);
gboolean hr_run_is_closed (const HrRun *run);
guint hr_run_get_n_workers (const HrRun *run);
guint64 hr_run_get_window (const HrRun *run);
gboolean hr_run_spawn (HrRun *run, guint n, GError **error);
/* effective bounds of the links into this element */
void hr_run_get_bounds (const HrRun *run, guint64 *items, guint64 *bytes);
int hr_run_get_closed_fd (HrRun *run);
/* the number of the next sample that is stamped below it: what it works on is not earlier */
gint64 hr_run_get_next (const HrRun *run);
/* the thread leaves; the last one ends the outputs */
void hr_run_leave (HrRun *run);

/* for the verdict and the trace. @sample: that it is for, or -1. In the only worker's thread */
void hr_run_count_transfer (HrRun *run, const HrTransfer *transfer, gint64 sample);

/* marks what the calling worker waits for; both are cheap */
void hr_worker_begin_wait (HrWorker *worker, HrWait wait, gpointer what);
void hr_worker_end_wait (HrWorker *worker);
/* nanoseconds of a processor that its thread has had; any thread. 0 in serial mode */
gint64 hr_worker_get_cpu_time (const HrWorker *worker);
/* the worker whose thread this is */
extern _Thread_local HrWorker *hr_worker_self;

/* hr-loops.c: thread functions, by kind */
typedef void (*HrLoop) (HrWorker *worker);
HrLoop hr_loop_for (const HrElementDef *def);

/* hr-work.c: calls an element's function for one buffer, whatever the mode; results in out */
void hr_work_process (HrWorker *worker, HrBuffer *in);
void hr_work_finish (HrWorker *worker);
HrFlow hr_work_create (HrWorker *worker);
gboolean hr_work_consume (HrWorker *worker, HrBuffer *in);
/* *input: HR_NO_INPUT if it needs none */
HrFlow hr_work_choose (HrWorker *worker, guint *input);

/* hr-out.c */
struct _HrOut {
  HrWorker *worker;
  HrBuffer **buffers;
  guint n_buffers, n_room;
  guint first;            /* where the results of the call at hand begin */
  gint64 sample;          /* in whose name processors and bytes are asked for */
  gint64 row;             /* behind a packer: … and bytes */
  guint64 cost;           /* of what is at hand; 0: not known */
  HrOrigin *origin;       /* of the buffer at hand, for errors; borrowed */
  HrReservation *inherit; /* what the outputs of a stamping element hold on to */
  gboolean has_permit;
  gint64 waited;              /* inside the function, nanoseconds: budget */
  gint64 waited_cpu;          /* … permit */
  gint64 waited_in;           /* … request */
  void (*flush) (HrOut *out); /* hand on what is collected, before a wait; NULL: not in this mode */
  gpointer flush_data;
  GError *fatal;
};
HrOut *hr_out_new (HrWorker *worker);
void hr_out_free (HrOut *out);
void hr_out_take_permit (HrOut *out);
void hr_out_give_permit (HrOut *out);
void hr_out_add (HrOut *out, HrBuffer *buffer);
/* what is asked for from here on is for @in */
void hr_out_begin (HrOut *out, const HrBuffer *in);

/* hr-fault.c: what an error does */
/* Takes @error. TRUE: skipped, *hole says it, and once it has come to a sink it is told; FALSE: the
 * run ends, the pipeline has been told. @member: an image's name, or NULL; @index: which, or -1 */
gboolean hr_fault (HrRun *run, const HrOrigin *origin, const char *member, gint index,
                   GError *error, GError **hole);
/* the same where no hole is left that could come to a sink: it is told at once. @sample: where it
 * stands, or NULL. TRUE: the run goes on */
gboolean hr_fault_holeless (HrRun *run, const HrBuffer *sample, const HrOrigin *origin,
                            GError *error);
/* a sample is left out: counts and tells it; puts who and where in front of @why, which may be NULL
 */
void hr_fault_drop (HrRun *run, const HrOrigin *origin, GError *why);
/* of one that another run has left out, and said who and where */
void hr_fault_foreign_drop (HrRun *run, const HrOrigin *origin, const GError *why);
/* the same of one that was found bad, and skipped, when lengths were found out */
void hr_fault_known (HrRun *run, const HrOrigin *origin, GError *why);
/* TRUE: a bad sample of that element is skipped */
gboolean hr_fault_skips (const HrRun *run);
/* takes @error; the first one wins; stops the pipeline */
void hr_pipeline_fail (HrPipeline *pipeline, HrElement *element, GError *error);
void hr_pipeline_post (HrPipeline *pipeline, HrMessageType type, HrElement *element,
                       const GError *error, HrOrigin *origin);
/* takes @text; instead of an older message of that type that nobody has popped yet */
void hr_pipeline_post_text (HrPipeline *pipeline, HrMessageType type, char *text);
/* … by who holds pipeline->lock */
void hr_pipeline_post_locked (HrPipeline *pipeline, HrMessageType type, HrElement *element,
                              const GError *error, HrOrigin *origin);
/* a prefetchqueue that still fills must not be waited for: the budget is full */
void hr_pipeline_thread_left (HrPipeline *pipeline);
/* this is a child of the process that started it: its locks may be held by threads that are not
 * here */
gboolean hr_pipeline_is_foreign (HrPipeline *pipeline);
void hr_pipeline_end_warm_up (HrPipeline *pipeline);
/* FALSE with an error in a child of the process that started it */
gboolean hr_pipeline_check_process (HrPipeline *pipeline, GError **error);
/* the owner will not pull again: one less to wait for */
void hr_pipeline_end_pulling (HrPipeline *pipeline);

/* hr-sink.c: shared by the sink's thread, pull and serial mode */
void hr_sink_ask (HrRun *run);
/* the steps asked for have come: counts them */
void hr_sink_take (HrRun *run, HrBuffer **buffers, guint n, gint64 now);
/* The bytes that were asked for in the names of its samples are the sink's now, until it gives them
 * back with hr_sink_deliver(), whatever happens to the memory that they pay for. */
guint64 hr_sink_hold (HrBuffer *buffer);
/* step @step, and all before it, are out of the sink's hands: the next one is in hand */
void hr_sink_deliver (HrRun *run, gint64 step, guint64 bytes);
/* the trainer has done with them */
void hr_sink_done (HrRun *run, gint64 now);
void hr_sink_leave (HrRun *run);
/* FALSE: a hole that a program does not get; its place has been counted */
gboolean hr_sink_delivers (const HrRun *run, const HrBuffer *buffer);

/* hr-join.c: merges buffers of equal number; takes them. NULL: failed, the pipeline has been told
 */
HrBuffer *hr_join_merge (HrWorker *worker, HrBuffer **in, guint n);

/* hr-digest.c */
void hr_digest_update (GChecksum *checksum, const HrBuffer *buffer);
/* hr-serial.c */
gboolean hr_serial_start (HrPipeline *pipeline, GError **error);
void hr_serial_join (struct _HrSerial *serial);
void hr_serial_free (struct _HrSerial *serial);
HrBuffer *hr_serial_pull (HrSerial *serial);
/* hr-monitor.c */
gboolean hr_monitor_start (HrPipeline *pipeline, GError **error);
void hr_monitor_join (HrPipeline *pipeline);
/* hr-stats.c: the sum of all workers' counters */
void hr_run_sum (HrRun *run, HrWorker *sum);
/* nanoseconds that copies to devices have taken, and that consumers' streams waited for
 * them, so far */
void hr_pipeline_get_transfers (HrPipeline *pipeline, gint64 *copied, gint64 *waited);
/* hr-live.c */
void hr_pipeline_settings_changed (HrPipeline *pipeline);
/* nanoseconds of the process since start() */
gint64 hr_pipeline_get_cpu_time (HrPipeline *pipeline);
/* the gate has granted the bytes of @memory */
void hr_reserve_granted (HrGate *gate, HrMemory *memory, gint64 sample);
