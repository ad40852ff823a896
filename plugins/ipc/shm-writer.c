/* shm-writer.c */
#include "shm-writer.h"
#include "hr-json.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "hr-bell.h"
#include "hr-memfd.h"
#include "hr-sync.h"
#include "shm-socket.h"
#include "shm-words.h"
#include "wire-stream.h"

/* who has come and not yet said who it is: more at once are turned away */
#define MAX_GREETING 16
/* the longest word of a reader: some ten thousand releases */
#define MAX_WORD (1u << 20)
#define MAX_CREDITS (1u << 20)
/* nobody who waits is deaf for longer: for who asks what it waits for */
#define LOOK_MS 500

typedef enum { ABSENT, READY, LEFT, GONE } State;

typedef struct {
  int fd;
  guint pid;
  State state;
  GError *why;          /* it has died */
  HrWireStream *stream; /* the listening thread's */
  guint credits;
  guint64 n_sent;
  GHashTable *held; /* number of a buffer: GPtrArray of HrMemory, by block */
  GArray *pools;    /* gboolean, by pool: it has been sent; the sending thread's */
} Reader;

typedef struct {
  int fd;
  HrWireStream *stream;
} Greeting;

/* memory that readers map, by number */
typedef struct {
  guint64 id;
  HrMemfdPlace place;
} Pool;

struct _HrShmWriter {
  HrElement *element;
  guint n_readers;
  gboolean exclusive;
  int listening; /* -1: there is one connection, and no more */
  HrMutex lock;
  Reader *readers; /* with the lock, unless said otherwise */
  gboolean ended;  /* the last word has been said: who goes now is done */
  guint64 n_heard; /* words of readers */
  guint n_greeting;
  GArray *greetings; /* Greeting: the listening thread's */
  GArray *pools;     /* Pool: the sending thread's; only grows */
  guint n_pools;     /* with the lock */
  HrBell news;       /* for who sends */
  HrBell leave;      /* for who listens */
  pthread_t thread;
  gboolean has_thread;
};

/* ---- what readers hold ---- */

static void
forget_block (gpointer data)
{
  g_clear_pointer ((HrMemory **)&data, hr_memory_unref);
}

static GHashTable *
held_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                (GDestroyNotify)g_ptr_array_unref);
}

/* with the lock; what is freed is put into @freed, to die without it */
static gboolean
release (Reader *reader, const HrShmRelease *release, GPtrArray *freed, GError **error)
{
  gint64 number = (gint64)release->buffer;
  GPtrArray *blocks = g_hash_table_lookup (reader->held, &number);
  gboolean any = FALSE;

  if (blocks == NULL || release->block >= blocks->len || blocks->pdata[release->block] == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "it releases block %u of batch %" G_GUINT64_FORMAT ", which it does not hold",
                 release->block, release->buffer);
    return FALSE;
  }
  g_ptr_array_add (freed, g_steal_pointer (&blocks->pdata[release->block]));
  for (guint i = 0; i < blocks->len && !any; i++)
    any = blocks->pdata[i] != NULL;
  if (!any)
    g_hash_table_remove (reader->held, &number);
  return TRUE;
}

/* ---- readers that come and go; the listening thread ---- */

/* @error: (nullable): a broken word of it; takes it */
static void
reader_gone (HrShmWriter *writer, guint index, GError *error)
{
  Reader *reader = &writer->readers[index];
  GHashTable *held, *none = held_new ();
  GError *why = NULL;
  gboolean known;

  hr_mutex_lock (&writer->lock);
  known = reader->state == LEFT || writer->ended;
  if (!known)
    g_set_error (&why, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                 error != NULL
                     ? "reader %u (process %u) sends what it should not, after it was sent "
                       "%" G_GUINT64_FORMAT " batches: %s"
                     : "reader %u (process %u) has died: its connection closed without a word "
                       "after it was sent %" G_GUINT64_FORMAT " batches%s",
                 index, reader->pid, reader->n_sent, error != NULL ? error->message : "");
  reader->state = GONE;
  reader->why = why != NULL ? g_error_copy (why) : NULL;
  held = reader->held;
  reader->held = none;
  hr_mutex_unlock (&writer->lock);
  g_hash_table_unref (held);
  g_clear_error (&error);
  hr_bell_ring (&writer->news);
  if (why != NULL)
    hr_element_end_run (writer->element, why);
}

/* it takes no more, which is its right, but then it need not go on here either */
static void
reader_leaves (HrShmWriter *writer, guint index)
{
  Reader *reader = &writer->readers[index];
  g_autoptr (GError) note = NULL;

  hr_mutex_lock (&writer->lock);
  if (!writer->ended)
    note = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_STOPPED,
                        "reader %u (process %u) takes no more after %" G_GUINT64_FORMAT
                        " batches: the run is stopped",
                        index, reader->pid, reader->n_sent);
  hr_mutex_unlock (&writer->lock);
  if (note != NULL) {
    hr_element_warn (writer->element, note);
    hr_element_end_run (writer->element, NULL);
  }
  hr_mutex_lock (&writer->lock);
  reader->state = LEFT; /* not before: who sends would leave, and the run be over without a word */
  hr_mutex_unlock (&writer->lock);
  hr_bell_ring (&writer->news);
}

static gboolean
hear_releases (HrShmWriter *writer, Reader *reader, const guint8 *description, gsize size,
               GError **error)
{
  g_autoptr (GArray) releases = hr_shm_read_release (description, size, error);
  g_autoptr (GPtrArray) freed = g_ptr_array_new_with_free_func (forget_block);
  gboolean good = releases != NULL;

  hr_mutex_lock (&writer->lock);
  for (guint i = 0; good && i < releases->len; i++)
    good = release (reader, &g_array_index (releases, HrShmRelease, i), freed, error);
  hr_mutex_unlock (&writer->lock);
  return good;
}

static gboolean
hear_word (HrShmWriter *writer, guint index, const HrWireHeader *header, const guint8 *description,
           GError **error)
{
  Reader *reader = &writer->readers[index];
  guint n;

  switch (header->kind) {
  case HR_WIRE_CREDIT:
    if (!hr_shm_read_credit (description, header->description, &n, error))
      return FALSE;
    hr_mutex_lock (&writer->lock);
    reader->credits = MIN (reader->credits + MIN (n, MAX_CREDITS), MAX_CREDITS);
    writer->n_heard++;
    hr_mutex_unlock (&writer->lock);
    hr_bell_ring (&writer->news);
    return TRUE;
  case HR_WIRE_RELEASE:
    hr_stall ();
    return hear_releases (writer, reader, description, header->description, error);
  case HR_WIRE_LEAVE:
    reader_leaves (writer, index);
    return TRUE;
  default:
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "a message of kind %d, which no reader sends", header->kind);
    return FALSE;
  }
}

static void
hear_reader (HrShmWriter *writer, guint index)
{
  Reader *reader = &writer->readers[index];
  HrWireHeader header;
  const guint8 *description;
  HrMemory *payload;
  GError *error = NULL;
  HrWireGot got;

  while ((got = hr_wire_stream_read (reader->stream, &header, &description, &payload, &error))
         == HR_WIRE_GOT_MESSAGE)
    if (!hear_word (writer, index, &header, description, &error)) {
      got = HR_WIRE_GOT_ERROR;
      break;
    }
  if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT))
    g_clear_error (&error); /* half a word is a death like any other */
  if (got != HR_WIRE_GOT_NOTHING)
    reader_gone (writer, index, error);
}

/* ---- who has just come ---- */

static void
greeting_clear (gpointer data)
{
  Greeting *greeting = data;

  g_clear_pointer (&greeting->stream, hr_wire_stream_free);
  if (greeting->fd >= 0)
    close (greeting->fd);
}

/* small words go through, or whoever is there does not listen */
static gboolean
say (int fd, const HrWireMessage *message)
{
  HrWireSending sending = { message, -1 };

  return hr_wire_send (fd, &sending, NULL) == HR_WIRE_SENT;
}

static void turn_away (int fd, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
turn_away (int fd, const char *format, ...)
{
  g_autoptr (GError) why = NULL;
  g_autoptr (HrWireMessage) message = NULL;
  va_list args;

  va_start (args, format);
  why = g_error_new_valist (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN, format, args);
  va_end (args);
  message = hr_wire_write_failed (0, why, NULL);
  say (fd, message);
}

/* the number that it will have; -1: it is turned away */
static gint
find_place (HrShmWriter *writer, int fd, const HrShmHello *hello)
{
  gint place = hello->reader;

  if (place >= (gint)writer->n_readers) {
    turn_away (fd, "there is no reader %d: it has readers=%u, counted from 0", place,
               writer->n_readers);
    return -1;
  }
  for (gint i = 0; place < 0 && i < (gint)writer->n_readers; i++)
    if (writer->readers[i].state == ABSENT)
      place = i;
  if (place >= 0 && writer->readers[place].state == ABSENT)
    return place;
  turn_away (fd,
             place < 0 ? "all its %u readers are there already"
                       : "of its %u readers, that one is there already",
             writer->n_readers);
  return -1;
}

static void
welcome (HrShmWriter *writer, Greeting *greeting, const HrShmHello *said)
{
  gint place = find_place (writer, greeting->fd, said);
  HrShmHello hello = { .is_writer = TRUE,
                       .pid = (guint)getpid (),
                       .reader = place,
                       .n_readers = writer->n_readers,
                       .exclusive = writer->exclusive };
  g_autoptr (HrWireMessage) message = hr_shm_write_hello (&hello);
  Reader *reader;

  if (place < 0 || !say (greeting->fd, message))
    return;
  reader = &writer->readers[place];
  hr_mutex_lock (&writer->lock);
  reader->fd = greeting->fd;
  reader->stream = g_steal_pointer (&greeting->stream);
  reader->pid = said->pid;
  reader->credits = MIN (said->credits, MAX_CREDITS);
  reader->state = READY;
  writer->n_heard++;
  hr_mutex_unlock (&writer->lock);
  greeting->fd = -1;
  hr_bell_ring (&writer->news);
}

/* FALSE: it greets no more */
static gboolean
hear_greeting (HrShmWriter *writer, Greeting *greeting)
{
  HrWireHeader header;
  const guint8 *description;
  HrMemory *payload;
  HrShmHello hello;
  g_autoptr (GError) error = NULL;
  HrWireGot got = hr_wire_stream_read (greeting->stream, &header, &description, &payload, &error);

  if (got == HR_WIRE_GOT_NOTHING)
    return TRUE;
  if (got == HR_WIRE_GOT_MESSAGE && header.kind == HR_WIRE_HELLO
      && hr_shm_read_hello (description, header.description, &hello, &error) && !hello.is_writer) {
    welcome (writer, greeting, &hello);
    return FALSE;
  }
  if (got == HR_WIRE_GOT_MESSAGE)
    turn_away (greeting->fd, "a reader says hello first; is there another shmsink at that end?");
  else if (error != NULL)
    turn_away (greeting->fd, "%s", error->message);
  return FALSE;
}

static void
count_greeting (HrShmWriter *writer, gint n)
{
  hr_mutex_lock (&writer->lock);
  writer->n_greeting = (guint)((gint)writer->n_greeting + n);
  hr_mutex_unlock (&writer->lock);
  hr_bell_ring (&writer->news);
}

static void
forget_greeting (HrShmWriter *writer, guint index)
{
  gboolean welcomed = g_array_index (writer->greetings, Greeting, index).stream == NULL;

  g_array_remove_index (writer->greetings, index);
  count_greeting (writer, -1);
  if (!welcomed && writer->listening < 0) /* nobody else will come */
    hr_element_end_run (writer->element,
                        g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                                     "the reader has died before a word could be changed with it, "
                                     "or it is none"));
}

static void
add_greeting (HrShmWriter *writer, int fd)
{
  Greeting greeting = { fd, hr_wire_stream_new (fd, MAX_WORD) };

  count_greeting (writer, 1);
  g_array_append_val (writer->greetings, greeting);
}

static void
let_in (HrShmWriter *writer)
{
  g_autoptr (GError) error = NULL;
  int fd = hr_shm_accept (writer->listening, &error);

  if (error != NULL)
    hr_element_warn (writer->element, error);
  if (fd < 0)
    return;
  if (writer->greetings->len < MAX_GREETING) {
    add_greeting (writer, fd);
    return;
  }
  turn_away (fd, "too many come at once");
  close (fd);
}

/* ---- the listening thread ---- */

static guint
collect_fds (HrShmWriter *writer, struct pollfd *fds)
{
  guint n = 0;

  fds[n++] = (struct pollfd){ writer->leave.fd, POLLIN, 0 };
  fds[n++] = (struct pollfd){ writer->listening, POLLIN, 0 };
  hr_mutex_lock (&writer->lock);
  for (guint i = 0; i < writer->n_readers; i++) {
    const Reader *reader = &writer->readers[i];

    fds[n++] = (struct pollfd){ reader->state == READY || reader->state == LEFT ? reader->fd : -1,
                                POLLIN, 0 };
  }
  hr_mutex_unlock (&writer->lock);
  for (guint i = 0; i < writer->greetings->len; i++)
    fds[n++] = (struct pollfd){ g_array_index (writer->greetings, Greeting, i).fd, POLLIN, 0 };
  return n;
}

static void *
listen_loop (void *data)
{
  HrShmWriter *writer = data;
  g_autofree struct pollfd *fds = g_new (struct pollfd, 2 + writer->n_readers + MAX_GREETING + 1);

  pthread_setname_np (pthread_self (), "shm-readers");
  for (;;) {
    guint n = collect_fds (writer, fds), first = 2 + writer->n_readers;

    if (poll (fds, n, -1) < 0 && errno != EINTR)
      break;
    if (fds[0].revents != 0)
      break;
    for (guint i = 0; i < writer->n_readers; i++)
      if (fds[2 + i].revents != 0)
        hear_reader (writer, i);
    for (guint i = writer->greetings->len; i-- > 0;)
      if (fds[first + i].revents != 0
          && !hear_greeting (writer, &g_array_index (writer->greetings, Greeting, i)))
        forget_greeting (writer, i);
    if (fds[1].revents != 0)
      let_in (writer);
  }
  return NULL;
}

/* ---- life ---- */

static gboolean
begin (HrShmWriter *writer, const char *address, int fd, GError **error)
{
  int failed;

  if (!hr_bell_init (&writer->news, error) || !hr_bell_init (&writer->leave, error))
    return FALSE;
  if (address != NULL && (writer->listening = hr_shm_listen (address, error)) < 0)
    return FALSE;
  if (address == NULL && !hr_shm_check (fd, error))
    return FALSE;
  failed = pthread_create (&writer->thread, NULL, listen_loop, writer);
  if (failed == 0)
    writer->has_thread = TRUE;
  else
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED, "cannot start a thread: %s",
                 g_strerror (failed));
  return failed == 0;
}

HrShmWriter *
hr_shm_writer_new (HrElement *element, const char *address, int fd, guint n_readers,
                   gboolean exclusive, GError **error)
{
  HrShmWriter *writer = g_new0 (HrShmWriter, 1);

  writer->element = element;
  writer->n_readers = n_readers;
  writer->exclusive = exclusive;
  writer->listening = -1;
  writer->news.fd = writer->leave.fd = -1;
  hr_mutex_init (&writer->lock);
  writer->readers = g_new0 (Reader, n_readers);
  for (guint i = 0; i < n_readers; i++) {
    writer->readers[i].fd = -1;
    writer->readers[i].held = held_new ();
    writer->readers[i].pools = g_array_new (FALSE, TRUE, sizeof (gboolean));
  }
  writer->pools = g_array_new (FALSE, FALSE, sizeof (Pool));
  writer->greetings = g_array_new (FALSE, FALSE, sizeof (Greeting));
  g_array_set_clear_func (writer->greetings, greeting_clear);
  if (address == NULL)
    add_greeting (writer, fd);
  if (!begin (writer, address, fd, error))
    g_clear_pointer (&writer, hr_shm_writer_free);
  return writer;
}

void
hr_shm_writer_free (HrShmWriter *writer)
{
  if (writer->has_thread) {
    hr_bell_ring (&writer->leave);
    pthread_join (writer->thread, NULL);
  }
  for (guint i = 0; i < writer->n_readers; i++) {
    Reader *reader = &writer->readers[i];

    g_clear_pointer (&reader->stream, hr_wire_stream_free);
    g_clear_error (&reader->why);
    if (reader->fd >= 0)
      close (reader->fd);
    g_hash_table_unref (reader->held);
    g_array_unref (reader->pools);
  }
  g_array_unref (writer->greetings);
  g_array_unref (writer->pools);
  if (writer->listening >= 0)
    close (writer->listening);
  hr_bell_clear (&writer->news);
  hr_bell_clear (&writer->leave);
  hr_mutex_clear (&writer->lock);
  g_free (writer->readers);
  g_free (writer);
}

/* ---- the sending thread ---- */

static gboolean
is_closed (HrOut *out, GError **error)
{
  if (out == NULL || !hr_out_is_closed (out))
    return FALSE;
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return TRUE;
}

static gboolean
stopped (GError **error)
{
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED, "stopped");
  return FALSE;
}

/* with the lock: what the next message to it waits for */
typedef enum { WAIT_NOTHING, WAIT_CREDIT, WAIT_READERS, WAIT_NEVER } Wait;

static Wait
find_wait (const HrShmWriter *writer, guint index)
{
  if (writer->readers[index].state == LEFT || writer->readers[index].state == GONE)
    return WAIT_NEVER;
  for (guint i = 0; i < writer->n_readers; i++)
    if (writer->readers[i].state == ABSENT)
      return WAIT_READERS;
  return writer->readers[index].credits == 0 ? WAIT_CREDIT : WAIT_NOTHING;
}

/* It died, or it took no more, which has ended the run. The error is said by whoever is first, or
 * the run could be over before it is. */
static gboolean
has_gone (HrShmWriter *writer, guint index, GError **error)
{
  GError *why = NULL;

  hr_mutex_lock (&writer->lock);
  if (writer->readers[index].why != NULL)
    why = g_error_copy (writer->readers[index].why);
  hr_mutex_unlock (&writer->lock);
  if (why == NULL)
    return stopped (error);
  g_propagate_error (error, why);
  return FALSE;
}

gboolean
hr_shm_writer_wait (HrShmWriter *writer, guint index, HrOut *out, GError **error)
{
  struct pollfd fds[] = { { writer->news.fd, POLLIN, 0 }, { hr_out_get_wake_fd (out), POLLIN, 0 } };

  for (;;) {
    Wait wait;

    hr_stall ();
    hr_bell_hush (&writer->news);
    hr_mutex_lock (&writer->lock);
    wait = find_wait (writer, index);
    hr_mutex_unlock (&writer->lock);
    if (is_closed (out, error))
      return FALSE;
    if (wait == WAIT_NOTHING)
      return TRUE;
    if (wait == WAIT_NEVER)
      return has_gone (writer, index, error);
    poll (fds, G_N_ELEMENTS (fds), LOOK_MS);
    hr_out_answer (out);
  }
}

/* Nobody reads there any more. Why, only the other thread hears: it has said something before, or
 * not. */
static gboolean
await_reason (HrShmWriter *writer, guint index, HrOut *out, GError **error)
{
  struct pollfd fds[] = { { writer->news.fd, POLLIN, 0 },
                          { out != NULL ? hr_out_get_wake_fd (out) : -1, POLLIN, 0 } };

  for (;;) {
    gboolean known;

    hr_bell_hush (&writer->news);
    hr_mutex_lock (&writer->lock);
    known = writer->readers[index].state == GONE || writer->readers[index].state == LEFT;
    hr_mutex_unlock (&writer->lock);
    if (is_closed (out, error))
      return FALSE;
    if (known || out == NULL)
      return has_gone (writer, index, error);
    poll (fds, G_N_ELEMENTS (fds), LOOK_MS);
  }
}

/* until all of it has gone; @until: hr_now(), without @out */
static gboolean
send_all (HrShmWriter *writer, guint index, HrWireSending *sending, HrOut *out, gint64 until,
          GError **error)
{
  int fd = writer->readers[index].fd;
  struct pollfd fds[] = { { fd, POLLOUT, 0 },
                          { out != NULL ? hr_out_get_wake_fd (out) : -1, POLLIN, 0 } };
  HrWireSent sent;

  while ((sent = hr_wire_send (fd, sending, NULL)) == HR_WIRE_SENT_PARTLY) {
    gint64 left = (until - hr_now ()) / 1000000;

    if (is_closed (out, error))
      return FALSE;
    if (out == NULL && left <= 0)
      return stopped (error);
    poll (fds, G_N_ELEMENTS (fds), out != NULL ? LOOK_MS : (int)left + 1);
    if (out != NULL)
      hr_out_answer (out);
  }
  return sent == HR_WIRE_SENT || await_reason (writer, index, out, error);
}

/* the pools that @blocks lie in, if it does not know them */
static gboolean
send_pools (HrShmWriter *writer, guint index, GPtrArray *blocks, HrOut *out, GError **error)
{
  Reader *reader = &writer->readers[index];
  gboolean good = TRUE;

  g_array_set_size (reader->pools, writer->pools->len);
  for (guint i = 0; good && blocks != NULL && i < blocks->len; i++) {
    HrWirePlace place;
    const Pool *pool;
    g_autoptr (HrWireMessage) message = NULL;
    HrWireSending sending = { 0 };

    if (blocks->pdata[i] == NULL
        || !hr_shm_writer_share (writer, blocks->pdata[i], ((HrMemory *)blocks->pdata[i])->data,
                                 &place)
        || g_array_index (reader->pools, gboolean, place.pool))
      continue;
    pool = &g_array_index (writer->pools, Pool, place.pool);
    message = hr_shm_write_pool (place.pool, pool->place.length);
    sending = (HrWireSending){ message, pool->place.fd };
    good = send_all (writer, index, &sending, out, hr_now () + HR_SECOND, error);
    g_array_index (reader->pools, gboolean, place.pool) = good;
  }
  return good;
}

/* before it is sent: the reader may be quicker than we are */
static void
hold (HrShmWriter *writer, Reader *reader, GPtrArray *blocks)
{
  GPtrArray *held = g_ptr_array_new_with_free_func (forget_block);
  gboolean any = FALSE;
  gint64 *number;

  for (guint i = 0; blocks != NULL && i < blocks->len; i++) {
    g_ptr_array_add (held, blocks->pdata[i] != NULL ? hr_memory_ref (blocks->pdata[i]) : NULL);
    any = any || blocks->pdata[i] != NULL;
  }
  hr_mutex_lock (&writer->lock);
  number = g_memdup2 (&reader->n_sent, sizeof reader->n_sent);
  if (any && reader->state == READY)
    g_hash_table_insert (reader->held, number, g_steal_pointer (&held));
  else
    g_free (number);
  reader->n_sent++;
  reader->credits -= MIN (reader->credits, 1);
  hr_mutex_unlock (&writer->lock);
  g_clear_pointer (&held, g_ptr_array_unref);
}

gboolean
hr_shm_writer_send (HrShmWriter *writer, guint index, const HrWireMessage *message,
                    GPtrArray *blocks, HrOut *out, GError **error)
{
  Reader *reader = &writer->readers[index];
  HrWireSending sending = { message, -1 };

  if (!send_pools (writer, index, blocks, out, error))
    return FALSE;
  if (blocks != NULL)
    hold (writer, reader, blocks);
  hr_stall ();
  return send_all (writer, index, &sending, out, hr_now () + HR_SECOND, error);
}

/* those who are still to come shall hear the last word, too; when the run has failed, only those
 * who are at the door */
static void
await_readers (HrShmWriter *writer, HrOut *out)
{
  struct pollfd fds[] = { { writer->news.fd, POLLIN, 0 },
                          { out != NULL ? hr_out_get_wake_fd (out) : -1, POLLIN, 0 } };
  gint64 until = hr_now () + HR_SECOND;
  gboolean all = FALSE;

  while (!all && (out != NULL ? !hr_out_is_closed (out) : hr_now () < until)) {
    hr_bell_hush (&writer->news);
    hr_mutex_lock (&writer->lock);
    all = find_wait (writer, 0) != WAIT_READERS || (out == NULL && writer->n_greeting == 0);
    hr_mutex_unlock (&writer->lock);
    if (all)
      break;
    poll (fds, G_N_ELEMENTS (fds), LOOK_MS);
    if (out != NULL)
      hr_out_answer (out);
  }
}

void
hr_shm_writer_end (HrShmWriter *writer, const HrWireMessage *mark, HrOut *out)
{
  g_autofree gboolean *ready = g_new0 (gboolean, writer->n_readers);

  await_readers (writer, out);
  hr_mutex_lock (&writer->lock);
  writer->ended = TRUE;
  for (guint i = 0; i < writer->n_readers; i++)
    ready[i] = writer->readers[i].state == READY;
  hr_mutex_unlock (&writer->lock);
  for (guint i = 0; i < writer->n_readers; i++) {
    HrWireSending sending = { mark, -1 };

    if (ready[i])
      send_all (writer, i, &sending, out, hr_now () + HR_SECOND, NULL);
  }
}

gboolean
hr_shm_writer_share (HrShmWriter *writer, const HrMemory *memory, const guint8 *data,
                     HrWirePlace *place)
{
  HrMemfdPlace where;
  guint number = 0;

  if (!hr_memory_get_memfd (memory, &where))
    return FALSE;
  while (number < writer->pools->len && g_array_index (writer->pools, Pool, number).id != where.id)
    number++;
  if (number == writer->pools->len) {
    Pool pool = { where.id, where };

    g_array_append_val (writer->pools, pool);
    hr_mutex_lock (&writer->lock);
    writer->n_pools = writer->pools->len;
    hr_mutex_unlock (&writer->lock);
  }
  *place = (HrWirePlace){ number, where.offset + (guint64)(data - memory->data) };
  return TRUE;
}

guint64
hr_shm_writer_get_n_sent (const HrShmWriter *writer, guint reader)
{
  return writer->readers[reader].n_sent;
}

/* ---- words ---- */

guint64
hr_shm_writer_describe (HrShmWriter *writer, GString *into)
{
  guint n_there = 0;
  gint slow = -1;
  guint64 n_heard;

  hr_mutex_lock (&writer->lock);
  n_heard = writer->n_heard;
  for (guint i = 0; i < writer->n_readers; i++) {
    n_there += writer->readers[i].state != ABSENT;
    if (writer->readers[i].state == READY && writer->readers[i].credits == 0 && slow < 0)
      slow = (gint)i;
  }
  if (n_there < writer->n_readers)
    g_string_append_printf (into, "waits for readers: %u of %u are there", n_there,
                            writer->n_readers);
  else if (slow >= 0)
    g_string_append_printf (
        into,
        "waits for reader %d (process %u), which has been sent %" G_GUINT64_FORMAT
        " batches and grants no more",
        slow, writer->readers[slow].pid, writer->readers[slow].n_sent);
  hr_mutex_unlock (&writer->lock);
  return n_heard;
}

void
hr_shm_writer_add_metrics (HrShmWriter *writer, JsonBuilder *into)
{
  guint n_there = 0, n_held = 0, n_pools;

  hr_mutex_lock (&writer->lock);
  n_pools = writer->n_pools;
  for (guint i = 0; i < writer->n_readers; i++) {
    n_there += writer->readers[i].state == READY;
    n_held += g_hash_table_size (writer->readers[i].held);
  }
  hr_mutex_unlock (&writer->lock);
  hr_json_add_int (into, "readers", n_there);
  hr_json_add_int (into, "held_batches", n_held);
  hr_json_add_int (into, "pools", n_pools);
}
