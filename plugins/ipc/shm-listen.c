/* shm-listen.c: the thread of a writer that listens to its readers: lets them in, counts what they
 * grant and takes back what they release */
#include "shm-writer-private.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "shm-socket.h"
#include "shm-words.h"

/* ---- what readers hold ---- */

void
hr_shm_forget_block (gpointer data)
{
  g_clear_pointer ((HrMemory **)&data, hr_memory_unref);
}

GHashTable *
hr_shm_held_new (void)
{
  return g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                (GDestroyNotify)g_ptr_array_unref);
}

/* with the lock; what is freed is put into @freed, to die without it */
static gboolean
release (HrShmPeer *reader, const HrShmRelease *release, GPtrArray *freed, GError **error)
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
  HrShmPeer *reader = &writer->readers[index];
  GHashTable *held, *none = hr_shm_held_new ();
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
  HrShmPeer *reader = &writer->readers[index];
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
hear_releases (HrShmWriter *writer, HrShmPeer *reader, const guint8 *description, gsize size,
               GError **error)
{
  g_autoptr (GArray) releases = hr_shm_read_release (description, size, error);
  g_autoptr (GPtrArray) freed = g_ptr_array_new_with_free_func (hr_shm_forget_block);
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
  HrShmPeer *reader = &writer->readers[index];
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
  HrShmPeer *reader = &writer->readers[index];
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
  if (got == HR_WIRE_GOT_CUT)
    g_clear_error (&error); /* half a word is a death like any other */
  if (got != HR_WIRE_GOT_NOTHING)
    reader_gone (writer, index, error);
}

/* ---- who has just come ---- */

void
hr_shm_greeting_clear (gpointer data)
{
  HrShmGreeting *greeting = data;

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
welcome (HrShmWriter *writer, HrShmGreeting *greeting, const HrShmHello *said)
{
  gint place = find_place (writer, greeting->fd, said);
  HrShmHello hello = { .is_writer = TRUE,
                       .pid = (guint)getpid (),
                       .reader = place,
                       .n_readers = writer->n_readers,
                       .exclusive = writer->exclusive };
  g_autoptr (HrWireMessage) message = hr_shm_write_hello (&hello);
  HrShmPeer *reader;

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
hear_greeting (HrShmWriter *writer, HrShmGreeting *greeting)
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
  gboolean welcomed = g_array_index (writer->greetings, HrShmGreeting, index).stream == NULL;

  g_array_remove_index (writer->greetings, index);
  count_greeting (writer, -1);
  if (!welcomed && writer->listening < 0) /* nobody else will come */
    hr_element_end_run (writer->element,
                        g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                                     "the reader has died before a word could be changed with it, "
                                     "or it is none"));
}

void
hr_shm_add_greeting (HrShmWriter *writer, int fd)
{
  HrShmGreeting greeting = { fd, hr_wire_stream_new (fd, MAX_WORD) };

  count_greeting (writer, 1);
  g_array_append_val (writer->greetings, greeting);
}

static void
let_in (HrShmWriter *writer)
{
  g_autoptr (GError) error = NULL;
  int fd = hr_shm_accept (writer->listening, &error);

  if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN)) {
    hr_element_warn (writer->element, error);
  } else if (error != NULL) {
    close (writer->listening);
    writer->listening = -1;
    hr_element_end_run (writer->element, g_steal_pointer (&error));
  }
  if (fd < 0)
    return;
  if (writer->greetings->len < MAX_GREETING) {
    hr_shm_add_greeting (writer, fd);
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
    const HrShmPeer *reader = &writer->readers[i];

    fds[n++] = (struct pollfd){ reader->state == READY || reader->state == LEFT ? reader->fd : -1,
                                POLLIN, 0 };
  }
  hr_mutex_unlock (&writer->lock);
  for (guint i = 0; i < writer->greetings->len; i++)
    fds[n++] = (struct pollfd){ g_array_index (writer->greetings, HrShmGreeting, i).fd, POLLIN, 0 };
  return n;
}

void *
hr_shm_listen_loop (void *data)
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
          && !hear_greeting (writer, &g_array_index (writer->greetings, HrShmGreeting, i)))
        forget_greeting (writer, i);
    if (fds[1].revents != 0)
      let_in (writer);
  }
  return NULL;
}
