/* shm-writer.c: the thread of a writer that sends */
#include "shm-writer-private.h"
#include "hr-json.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "shm-socket.h"
#include "shm-words.h"

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
  failed = pthread_create (&writer->thread, NULL, hr_shm_listen_loop, writer);
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
  writer->readers = g_new0 (HrShmPeer, n_readers);
  for (guint i = 0; i < n_readers; i++) {
    writer->readers[i].fd = -1;
    writer->readers[i].held = hr_shm_held_new ();
    writer->readers[i].pools = g_array_new (FALSE, TRUE, sizeof (gboolean));
  }
  writer->pools = g_array_new (FALSE, FALSE, sizeof (HrShmPool));
  writer->greetings = g_array_new (FALSE, FALSE, sizeof (HrShmGreeting));
  g_array_set_clear_func (writer->greetings, hr_shm_greeting_clear);
  if (address == NULL)
    hr_shm_add_greeting (writer, fd);
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
    HrShmPeer *reader = &writer->readers[i];

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
    poll (fds, G_N_ELEMENTS (fds), HR_SHM_LOOK_MS);
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
    poll (fds, G_N_ELEMENTS (fds), HR_SHM_LOOK_MS);
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
    poll (fds, G_N_ELEMENTS (fds), out != NULL ? HR_SHM_LOOK_MS : (int)left + 1);
    if (out != NULL)
      hr_out_answer (out);
  }
  return sent == HR_WIRE_SENT || await_reason (writer, index, out, error);
}

/* the pools that @blocks lie in, if it does not know them */
static gboolean
send_pools (HrShmWriter *writer, guint index, GPtrArray *blocks, HrOut *out, GError **error)
{
  HrShmPeer *reader = &writer->readers[index];
  gboolean good = TRUE;

  g_array_set_size (reader->pools, writer->pools->len);
  for (guint i = 0; good && blocks != NULL && i < blocks->len; i++) {
    HrWirePlace place;
    const HrShmPool *pool;
    g_autoptr (HrWireMessage) message = NULL;
    HrWireSending sending = { 0 };

    if (blocks->pdata[i] == NULL
        || !hr_shm_writer_share (writer, blocks->pdata[i], ((HrMemory *)blocks->pdata[i])->data,
                                 &place)
        || g_array_index (reader->pools, gboolean, place.pool))
      continue;
    pool = &g_array_index (writer->pools, HrShmPool, place.pool);
    message = hr_shm_write_pool (place.pool, pool->place.length);
    sending = (HrWireSending){ message, pool->place.fd };
    good = send_all (writer, index, &sending, out, hr_now () + HR_SECOND, error);
    g_array_index (reader->pools, gboolean, place.pool) = good;
  }
  return good;
}

/* before it is sent: the reader may be quicker than we are */
static void
hold (HrShmWriter *writer, HrShmPeer *reader, GPtrArray *blocks)
{
  GPtrArray *held = g_ptr_array_new_with_free_func (hr_shm_forget_block);
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
  HrShmPeer *reader = &writer->readers[index];
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
    poll (fds, G_N_ELEMENTS (fds), HR_SHM_LOOK_MS);
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
  while (number < writer->pools->len
         && g_array_index (writer->pools, HrShmPool, number).id != where.id)
    number++;
  if (number == writer->pools->len) {
    HrShmPool pool = { where.id, where };

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
