/* stress.h: random graphs of test elements on the real scheduler, each compared with its serial run
 *
 * A graph is a text, made at random or by hand:
 *
 *   S source   R<k> source of blocks of up to k samples   X<workers> cuts blocks into samples
 *   U source that the program pushes into
 *   P<workers> pool   E<workers> each member of a list   A<transfers> asynchronous
 *   B<size> batch     G<block> packer: rows of blocks     Q<ahead> prefetchqueue (w<n>: warm-up)
 *   K trainer         L sink that the program pulls
 *   ( a | b ) tee and join, zip      { a | b } tee into two ends
 *   [ a | b ]c two sources and a join: c concat, n any, z zip
 *   < R | R … > members of a mix, which gives blocks as R does
 *
 * Letters behind an element: g reserves bytes, s sleeps instead of computing, l light, u unordered,
 * d drops some samples, c tells costs, w<n> window, q<n> queue-items, b<n> queue-bytes, n<n>
 * samples of a source, k<n> nobody goes on before n are at work at once, t<us> time; m of a packer:
 * behind R or <>, its rows are numbered beforehand: each sample says whether it is the last of its
 * row, and rows have any number of samples, about <block>. */
#pragma once
#include "hr-pipeline-private.h"
#include <stdio.h>

#define MAX_NODES 64
#define MAX_SINKS 4
#define MAX_MEMBERS 8

typedef struct _Run Run;
typedef struct _Node Node;

/* an element of the graph, and what its calls count */
struct _Node {
  Run *run;
  int id;
  char kind;
  gint64 arg;
  gboolean reserves, sleeps, light, unordered, drops, sure, costs, marked, mixed;
  gint64 window, items, bytes, n, together, time, warm_up;
  gint64 first_id;      /* of a source: its samples have their own numbers */
  gboolean behind;      /* … a prefetchqueue */
  struct _Node *packer; /* whose rows it gets; NULL: no packer's */
  GHashTable
      *row_bytes; /* of a packer: id → bytes reserved behind it in a row's name, serial run only */
  int sink;
  HrElement *element;
  /* atomic */
  gint inside, most_inside;
};

typedef enum {
  STOP_NEVER,
  STOP_OUTSIDE, /* by another thread, some time */
  STOP_INSIDE,  /* by an element */
  STOP_TWICE,   /* by two threads */
  STOP_EARLY,   /* by another thread while it starts */
  STOP_PULLING  /* the program pulls a few and lets go */
} Stop;

typedef struct {
  guint64 seed;
  char top[512];
  gint64 n;                  /* samples of a source that does not say */
  gint64 cpus, memory, size; /* size: of a sample's bytes, at most */
  gint64 items, bytes;       /* of links whose element does not say; 0: random to 8 */
  gint64 work, train, hold;  /* microseconds, microseconds, steps */
  gint64 fail;               /* per mille */
  gint64 fatal;              /* an error that ends the run: 1 */
  gint64 limit, live, stall;
  gint64 stop, stop_us;
  gint64 check;  /* compare with serial */
  gint64 forced; /* 0: no grant may have been forced; -1: does not matter */
} Config;

typedef struct {
  GArray *digests; /* guint64 a buffer consumed */
  GArray *samples; /* guint64 a sample in them */
  gint64 steps;
} Outcome;

/* one run of a graph, serial or not */
struct _Run {
  const Config *config;
  gboolean serial;
  HrPipeline *pipeline;
  Node nodes[MAX_NODES];
  int n_nodes;
  int n_sinks;
  Node *pulled, *pushed;
  gint64 n_all; /* atomic: samples of all, as soon as the last one is made; before that, more */
  Node *marked; /* a packer whose rows are numbered beforehand; NULL: none */
  gboolean any_order;    /* an unordered element or a join any */
  gboolean many_sources; /* numbers of samples differ from the sources' own */
  gboolean raw_reserves;
  HrMutex lock; /* outcomes, held, step_bytes */
  Outcome outcomes[MAX_SINKS];
  guint groups[MAX_SINKS]; /* samples a step */
  GPtrArray *held[MAX_SINKS];
  GHashTable *sample_bytes; /* id → bytes reserved in its name, serial run only */
  const Run *reference;
  int fatal_node;
  gint computing, most_computing; /* atomic */
  gint over;                      /* atomic: the threads around it shall end */
  gint begun;                     /* atomic: start() has returned */
};

/* what everybody who does something counts up, for the watchdog */
extern gint stress_progress;
void stress_die (const char *format, ...) G_GNUC_PRINTF (1, 2) G_GNUC_NORETURN;

static inline guint64
stress_mix (guint64 x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* values.c: what a sample is, as a pure function of seed, element and number */
typedef struct {
  guint64 hash;
  gint64 id;
} Value;

guint64 stress_hash (const Node *node, gint64 id, int salt);
gsize stress_size (const Node *node, gint64 id, int salt);
gboolean stress_fails (const Node *node, gint64 id);
gboolean stress_is_fatal (const Node *node, gint64 id);
Value stress_get (const HrBuffer *buffer);
void stress_set (HrBuffer *buffer, Value value);
HrBuffer *stress_sample (const Node *node, gint64 id);
/* of the samples from @id on, as a source of lines gives it; @memory: room for their numbers */
HrBuffer *stress_block (const Node *node, gint64 id, guint n, HrMemory *memory);
/* of a run with a packer that is marked: the row of a sample, and whether it is its last */
gint64 stress_row_of (const Run *run, gint64 id);
gboolean stress_ends_row (const Run *run, gint64 id);
guint64 stress_digest (const HrBuffer *buffer, GArray *samples);
void stress_compute (gint64 microseconds);
/* microseconds that the element takes for a sample, 0 in a serial run */
gint64 stress_time (const Node *node, gint64 id);
/* bytes asked for in a sample's name: the serial run notes them */
void stress_note_bytes (Node *node, gint64 id, gsize bytes);
/* a sample reaches a sink */
void stress_record (Node *node, HrBuffer *buffer);

/* elements.c, transforms.c, packer.c, mix.c */
const HrElementDef *stress_def (const Node *node);
const HrElementDef *stress_pool_def (const Node *node);
const HrElementDef *stress_each_def (const Node *node);
extern const HrElementDef stress_async_def, stress_cutter_def, stress_light_cutter_def,
    stress_packer_def, stress_member_def, stress_mix_def;
/* of the element, as its properties make it */
gint64 stress_window (const Node *node);
void stress_enter (Node *node, HrOut *out);
void stress_leave (Node *node);
typedef struct {
  Node *node;
} Self;

/* choice.c */
guint64 stress_cost (gconstpointer self, const HrBuffer *in, guint index);
/* a worker has done with something, and begins with something */
void stress_note_choice (const Node *node);
void stress_check_choice (const Node *node, const HrBuffer *in, guint index);

/* graph.c */
/* FALSE: the text is no graph */
gboolean stress_build (Run *run, const Config *config, gboolean serial);

/* config.c */
void stress_random_config (Config *config, guint64 seed);
/* everything as config.c's table says */
void stress_plain_config (Config *config, guint64 seed);
gboolean stress_set_config (Config *config, const char *text);
char *stress_print_config (const Config *config);

/* run.c */
void stress_run (const Config *config);
void stress_dump (FILE *file);
