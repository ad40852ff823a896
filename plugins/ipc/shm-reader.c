/* shm-reader.c */
#include "shm-reader.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "hr-ref.h"
#include "hr-sync.h"
#include "shm-socket.h"
#include "shm-words.h"
#include "wire-stream.h"

/* small tensors come in the message itself */
#define MAX_MESSAGE ((guint64)1 << 31)
#define MAX_POOLS 4096
/* of one message; what is more goes with the next */
#define MAX_RELEASES 16384

struct _HrShmReader {
  gint ref_count;
  pid_t pid; /* whose connection it is: a fork's copy has nothing to say */
  int fd;
  HrWireStream *stream; /* of the thread that reads, as all down to the lock */
  GPtrArray *pools;     /* HrMemory, by number; NULL: has not come */
  gboolean welcome;     /* the writer has said hello … */
  HrShmHello hello;     /* … and this */
  gboolean over;        /* an end, or an error */
  guint64 n_buffers;
  HrMutex lock; /* what is to be sent */
  GQueue words; /* HrWireMessage */
  HrWireSending sending;
  GArray *releases; /* HrShmRelease */
  gboolean deaf;    /* nobody reads there any more */
};

/* a block that somebody holds */
typedef struct {
  HrShmReader *reader;
  HrShmRelease name;
} Block;

/* ---- what is sent ---- */

/* with the lock; never waits */
static void
send_words (HrShmReader *reader)
{
  while (!reader->deaf && reader->pid == getpid ()) {
    if (reader->sending.message == NULL && reader->words.length == 0 && reader->releases->len > 0) {
      guint n = MIN (reader->releases->len, MAX_RELEASES);

      g_queue_push_tail (&reader->words,
                         hr_shm_write_release ((HrShmRelease *)reader->releases->data, n));
      g_array_remove_range (reader->releases, 0, n);
    }
    if (reader->sending.message == NULL)
      reader->sending = (HrWireSending){ g_queue_pop_head (&reader->words), -1 };
    if (reader->sending.message == NULL)
      return;
    switch (hr_wire_send (reader->fd, &reader->sending, NULL)) {
    case HR_WIRE_SENT:
      hr_wire_message_free ((HrWireMessage *)reader->sending.message);
      reader->sending.message = NULL;
      break;
    case HR_WIRE_SENT_PARTLY:
      return;
    case HR_WIRE_SENT_ERROR:
      reader->deaf = TRUE; /* the one who reads finds out why */
      break;
    }
  }
}

/* takes @word */
static void
say (HrShmReader *reader, HrWireMessage *word)
{
  hr_mutex_lock (&reader->lock);
  g_queue_push_tail (&reader->words, word);
  send_words (reader);
  hr_mutex_unlock (&reader->lock);
}

void
hr_shm_reader_flush (HrShmReader *reader)
{
  hr_mutex_lock (&reader->lock);
  send_words (reader);
  hr_mutex_unlock (&reader->lock);
}

int
hr_shm_reader_get_fd (HrShmReader *reader, short *events)
{
  hr_mutex_lock (&reader->lock);
  *events = POLLIN | (reader->sending.message != NULL && !reader->deaf ? POLLOUT : 0);
  hr_mutex_unlock (&reader->lock);
  return reader->fd;
}

void
hr_shm_reader_grant (HrShmReader *reader, guint n)
{
  say (reader, hr_shm_write_credit (n));
}

void
hr_shm_reader_leave (HrShmReader *reader)
{
  if (!reader->over)
    say (reader, hr_shm_write_leave ());
}

/* ---- life ---- */

static void
free_pool (gpointer pool)
{
  g_clear_pointer ((HrMemory **)&pool, hr_memory_unref);
}

HrShmReader *
hr_shm_reader_new (int fd, gint index, guint credits, GError **error)
{
  HrShmReader *reader;
  HrShmHello hello = { .pid = (guint)getpid (), .reader = index, .credits = credits };

  if (!hr_shm_check (fd, error)) {
    close (fd);
    return NULL;
  }
  reader = g_new0 (HrShmReader, 1);
  reader->ref_count = 1;
  reader->pid = getpid ();
  reader->fd = fd;
  reader->stream = hr_wire_stream_new (fd, MAX_MESSAGE);
  reader->pools = g_ptr_array_new_with_free_func (free_pool);
  reader->releases = g_array_new (FALSE, FALSE, sizeof (HrShmRelease));
  g_queue_init (&reader->words);
  hr_mutex_init (&reader->lock);
  say (reader, hr_shm_write_hello (&hello));
  return reader;
}

HrShmReader *
hr_shm_reader_ref (HrShmReader *reader)
{
  hr_ref_inc (&reader->ref_count);
  return reader;
}

static void
free_word (gpointer word)
{
  hr_wire_message_free (word);
}

void
hr_shm_reader_unref (HrShmReader *reader)
{
  if (!hr_ref_dec (&reader->ref_count))
    return;
  hr_wire_stream_free (reader->stream);
  close (reader->fd);
  g_ptr_array_unref (reader->pools);
  g_array_unref (reader->releases);
  g_queue_clear_full (&reader->words, free_word);
  hr_wire_message_free ((HrWireMessage *)reader->sending.message);
  hr_mutex_clear (&reader->lock);
  g_free (reader);
}

/* ---- memory ---- */

static void
unmap (gpointer data)
{
  HrMemory *whole = data;

  munmap (whole->data, whole->size);
  g_free (whole);
}

/* a memory that may shrink under us would kill us when we read it: the writer must have given up
 * the right to do that, for itself and everybody */
static HrMemory *
map_pool (int fd, guint64 length, gboolean exclusive, GError **error)
{
  int seals = fcntl (fd, F_GET_SEALS);
  struct stat info;
  HrMemory *whole;
  void *data;

  if (seals < 0 || !(seals & F_SEAL_SHRINK)) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "the writer sends a descriptor that is no memfd sealed against shrinking");
    return NULL;
  }
  if (fstat (fd, &info) < 0 || length == 0 || length > G_MAXSSIZE
      || (guint64)info.st_size < length) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "a pool of %" G_GUINT64_FORMAT " bytes, its descriptor has %" G_GINT64_FORMAT,
                 length, (gint64)info.st_size);
    return NULL;
  }
  data = mmap (NULL, length, exclusive ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
                 "cannot map a pool of %" G_GUINT64_FORMAT " bytes: %s", length,
                 g_strerror (errno));
    return NULL;
  }
  whole = g_new0 (HrMemory, 1); /* what unmap() must know */
  whole->data = data;
  whole->size = length;
  return hr_memory_new_wrapped (data, length, unmap, whole);
}

static gboolean
add_pool (HrShmReader *reader, const guint8 *description, gsize size, GError **error)
{
  int fd = hr_wire_stream_take_fd (reader->stream);
  guint number = 0;
  guint64 length;
  HrMemory *pool = NULL;

  if (fd < 0)
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "a pool has come without its descriptor");
  else if (!hr_shm_read_pool (description, size, &number, &length, error))
    ;
  else if (number >= MAX_POOLS
           || (number < reader->pools->len && reader->pools->pdata[number] != NULL))
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "pool %u has come before, or is over the limit of %d", number, MAX_POOLS);
  else
    pool = map_pool (fd, length, reader->hello.exclusive, error);
  if (fd >= 0)
    close (fd); /* the mapping is all that is needed */
  if (pool == NULL)
    return FALSE;
  if (number >= reader->pools->len)
    g_ptr_array_set_size (reader->pools, (gint)number + 1);
  reader->pools->pdata[number] = pool;
  return TRUE;
}

/* in whatever thread the last reference dies, also long after the pipeline */
static void
release_block (gpointer data)
{
  Block *block = data;
  HrShmReader *reader = block->reader;

  hr_stall ();
  hr_mutex_lock (&reader->lock);
  g_array_append_val (reader->releases, block->name);
  send_words (reader);
  hr_mutex_unlock (&reader->lock);
  hr_shm_reader_unref (reader);
  g_free (block);
}

static HrMemory *
map_block (gpointer data, guint index, guint32 number, guint64 offset, guint64 size, GError **error)
{
  HrShmReader *reader = data;
  HrMemory *pool = number < reader->pools->len ? reader->pools->pdata[number] : NULL;
  HrMemory *memory;
  Block *block;

  if (pool == NULL || offset > pool->size || size > pool->size - offset) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "block %u: %" G_GUINT64_FORMAT " bytes from %" G_GUINT64_FORMAT
                 " on in pool %u, which %s",
                 index, size, offset, number, pool != NULL ? "is shorter" : "has not come");
    return NULL;
  }
  block = g_new (Block, 1);
  *block = (Block){ hr_shm_reader_ref (reader), { reader->n_buffers, index } };
  memory = hr_memory_new_wrapped (pool->data + offset, size, release_block, block);
  if (!reader->hello.exclusive)
    memory->parent = hr_memory_ref (pool); /* others read it: nobody here is its only owner */
  return memory;
}

/* ---- what comes ---- */

static HrShmGot
fail (HrShmReader *reader, GError **error, GError *why)
{
  reader->over = TRUE;
  if (reader->welcome)
    g_prefix_error (&why, "the writer (process %u), after %" G_GUINT64_FORMAT " batches: ",
                    reader->hello.pid, reader->n_buffers);
  else
    g_prefix_error (&why, "the writer: ");
  g_propagate_error (error, why);
  return HR_SHM_ERROR;
}

static HrShmGot
died (HrShmReader *reader, GError **error)
{
  return fail (reader, error,
               g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                            reader->welcome ? "it has died: its connection closed without an end"
                                            : "it has died, or ended, before it said a word"));
}

/* the end, but only if all has come */
static HrShmGot
hear_end (HrShmReader *reader, const HrWireMark *mark, GError **error)
{
  if (mark->n_buffers != reader->n_buffers)
    return fail (reader, error,
                 g_error_new (HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                              "it says that it has sent %" G_GUINT64_FORMAT, mark->n_buffers));
  reader->over = TRUE;
  return HR_SHM_END;
}

static HrShmGot
hear_mark (HrShmReader *reader, const HrWireHeader *header, const guint8 *description,
           GError **error)
{
  g_auto (HrWireMark) mark = { 0 };
  GError *why = NULL;

  if (!hr_wire_read_mark (header->kind, description, header->description, &mark, &why))
    return fail (reader, error, why);
  if (header->kind == HR_WIRE_EPOCH)
    return HR_SHM_NOTHING;
  if (header->kind == HR_WIRE_END)
    return hear_end (reader, &mark, error);
  if (g_error_matches (mark.why, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED))
    mark.why->code = HR_CORE_ERROR_FAILED; /* here nobody has stopped anything */
  else
    g_prefix_error (&mark.why, reader->welcome ? "it has failed: " : "it says no: ");
  return fail (reader, error, g_steal_pointer (&mark.why));
}

static HrShmGot
hear_buffer (HrShmReader *reader, const HrWireHeader *header, const guint8 *description,
             HrMemory *payload, HrBuffer **buffer, HrWirePosition *position, GError **error)
{
  GError *why = NULL;

  *buffer = hr_wire_read_buffer (description, header->description, payload, map_block, reader,
                                 position, &why);
  if (*buffer == NULL)
    return fail (reader, error, why);
  reader->n_buffers++;
  return HR_SHM_BUFFER;
}

/* HR_SHM_NOTHING: it was none that anybody waits for */
static HrShmGot
hear (HrShmReader *reader, const HrWireHeader *header, const guint8 *description, HrMemory *payload,
      HrBuffer **buffer, HrWirePosition *position, GError **error)
{
  GError *why = NULL;
  gboolean good = TRUE;

  if (header->kind == HR_WIRE_HELLO && !reader->welcome) {
    good = hr_shm_read_hello (description, header->description, &reader->hello, &why);
    if (good && !reader->hello.is_writer) {
      g_set_error (&why, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CONNECT,
                   "there is another shmsrc at that end, and no shmsink");
      good = FALSE;
    }
    reader->welcome = good;
  } else if (header->kind >= HR_WIRE_EPOCH && header->kind <= HR_WIRE_FAILED) {
    return hear_mark (reader, header, description, error);
  } else if (header->kind == HR_WIRE_POOL && reader->welcome) {
    good = add_pool (reader, description, header->description, &why);
  } else if (header->kind == HR_WIRE_BUFFER && reader->welcome) {
    return hear_buffer (reader, header, description, payload, buffer, position, error);
  } else {
    g_set_error (&why, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "a message of kind %d, which is not expected now", header->kind);
    good = FALSE;
  }
  return good ? HR_SHM_NOTHING : fail (reader, error, why);
}

HrShmGot
hr_shm_reader_read (HrShmReader *reader, HrBuffer **buffer, HrWirePosition *position,
                    GError **error)
{
  HrWireHeader header;
  const guint8 *description;
  HrMemory *payload;
  GError *why = NULL;

  *position = (HrWirePosition){ .n_steps = -1 };
  for (;;) {
    HrShmGot got;

    switch (hr_wire_stream_read (reader->stream, &header, &description, &payload, &why)) {
    case HR_WIRE_GOT_NOTHING:
      return HR_SHM_NOTHING;
    case HR_WIRE_GOT_END:
      return died (reader, error);
    case HR_WIRE_GOT_CUT:
    case HR_WIRE_GOT_ERROR:
      return fail (reader, error, why);
    case HR_WIRE_GOT_MESSAGE:
      break;
    }
    got = hear (reader, &header, description, payload, buffer, position, error);
    if (got != HR_SHM_NOTHING)
      return got;
  }
}

guint64
hr_shm_reader_describe (HrShmReader *reader, GString *into)
{
  if (!reader->welcome)
    g_string_append (into, "waits for the writer to say hello");
  else
    g_string_append_printf (
        into, "waits for the writer (process %u), which has sent %" G_GUINT64_FORMAT " batches",
        reader->hello.pid, reader->n_buffers);
  return reader->n_buffers;
}
