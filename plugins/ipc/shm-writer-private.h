/* shm-writer-private.h: a writer as its two threads see it: shm-listen.c hears readers,
 * shm-writer.c sends */
#pragma once
#include <pthread.h>
#include "hr-bell.h"
#include "hr-memfd.h"
#include "hr-sync.h"
#include "shm-writer.h"
#include "wire-stream.h"

/* who has come and not yet said who it is: more at once are turned away */
#define MAX_GREETING 16
/* the longest word of a reader: some ten thousand releases */
#define MAX_WORD (1u << 20)
#define MAX_CREDITS (1u << 20)

typedef enum { ABSENT, READY, LEFT, GONE } HrShmState;

typedef struct {
  int fd;
  guint pid;
  HrShmState state;
  GError *why;          /* it has died */
  HrWireStream *stream; /* the listening thread's */
  guint credits;
  guint64 n_sent;
  GHashTable *held; /* number of a buffer: GPtrArray of HrMemory, by block */
  GArray *pools;    /* gboolean, by pool: it has been sent; the sending thread's */
} HrShmPeer;

typedef struct {
  int fd;
  HrWireStream *stream;
} HrShmGreeting;

/* memory that readers map, by number */
typedef struct {
  guint64 id;
  HrMemfdPlace place;
} HrShmPool;

struct _HrShmWriter {
  HrElement *element;
  guint n_readers;
  gboolean exclusive;
  int listening; /* -1: there is one connection, and no more */
  HrMutex lock;
  HrShmPeer *readers; /* with the lock, unless said otherwise */
  gboolean ended;     /* the last word has been said: who goes now is done */
  guint64 n_heard;    /* words of readers */
  guint n_greeting;
  GArray *greetings; /* Greeting: the listening thread's */
  GArray *pools;     /* Pool: the sending thread's; only grows */
  guint n_pools;     /* with the lock */
  HrBell news;       /* for who sends */
  HrBell leave;      /* for who listens */
  pthread_t thread;
  gboolean has_thread;
};

/* Returns: (transfer full): what one reader holds: number of a buffer: blocks */
GHashTable *hr_shm_held_new (void);
/* of one of these blocks, which may be NULL */
void hr_shm_forget_block (gpointer data);
void hr_shm_greeting_clear (gpointer data);
/* a connection that has yet to say who it is; taken. Before the thread, or in it */
void hr_shm_add_greeting (HrShmWriter *writer, int fd);
/* the listening thread, until @leave rings */
void *hr_shm_listen_loop (void *data);
