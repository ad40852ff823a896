/* test-shm-evil.c: shmsrc and shmsink against somebody who knows the protocol and means harm: an
 * error says what was wrong, and nothing is left */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "hr-harness.h"
#include "ipc-run.h"
#include "shm-words.h"
#include "wire-stream.h"

static void
expect_error (HrPipeline *pipeline, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (hr_pipeline_wait (pipeline, &error));
  g_test_message ("%s", error->message);
  g_assert_true (g_pattern_match_simple (pattern, error->message));
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

/* takes @message */
static void
say (int socket, HrWireMessage *message, int fd)
{
  HrWireSending sending = { message, fd };

  g_assert_cmpint (hr_wire_send (socket, &sending, NULL), ==, HR_WIRE_SENT);
  hr_wire_message_free (message);
}

static void
say_hello (int socket)
{
  HrShmHello hello = { .is_writer = TRUE, .pid = 1, .n_readers = 1, .exclusive = TRUE };

  say (socket, hr_shm_write_hello (&hello), -1);
}

static int
new_memfd (gsize size, int seals)
{
  int fd = memfd_create ("evil", MFD_CLOEXEC | MFD_ALLOW_SEALING);

  g_assert_cmpint (ftruncate (fd, (off_t)size), ==, 0);
  if (seals != 0)
    g_assert_cmpint (fcntl (fd, F_ADD_SEALS, seals), ==, 0);
  return fd;
}

/* ---- an evil writer ---- */

static gboolean
place_far (gpointer user, guint block G_GNUC_UNUSED, HrMemory *memory G_GNUC_UNUSED,
           const guint8 *data G_GNUC_UNUSED, gsize size G_GNUC_UNUSED, HrWirePlace *place,
           GError **error G_GNUC_UNUSED)
{
  *place = *(HrWirePlace *)user;
  return TRUE;
}

static HrWireMessage *
new_buffer (HrWirePlace place)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();

  hr_buffer_set_tensor (buffer, "x", hr_tensor_new_bytes (hr_memory_new (4096)));
  return hr_wire_write_buffer (buffer, NULL, place_far, &place, NULL);
}

typedef struct {
  const char *name;
  gsize size; /* of its memfd; 0: it sends none */
  int seals;
  guint64 claimed;
  guint n_pools; /* how often */
  HrWirePlace place;
  const char *pattern;
} Evil;

static const Evil evils[] = {
  { "unsealed", 65536, 0, 65536, 1, { 0, 0 }, "*no memfd sealed against shrinking*" },
  { "grow-only", 65536, F_SEAL_GROW, 65536, 1, { 0, 0 }, "*no memfd sealed against shrinking*" },
  { "too-short",
    4096,
    F_SEAL_SHRINK,
    65536,
    1,
    { 0, 0 },
    "*a pool of 65536 bytes, its descriptor has 4096*" },
  { "huge",
    4096,
    F_SEAL_SHRINK,
    G_MAXUINT64,
    1,
    { 0, 0 },
    "*a pool of 18446744073709551615 bytes*" },
  { "no-bytes", 4096, F_SEAL_SHRINK, 0, 1, { 0, 0 }, "*a pool of 0 bytes*" },
  { "twice", 4096, F_SEAL_SHRINK, 4096, 2, { 0, 0 }, "*has come before*" },
  { "no-descriptor", 0, 0, 4096, 1, { 0, 0 }, "*without its descriptor*" },
  { "no-pool", 0, 0, 0, 0, { 0, 0 }, "*in pool 0, which has not come*" },
  { "outside", 4096, F_SEAL_SHRINK, 4096, 1, { 0, 64 }, "*in pool 0, which is shorter*" },
  { "overflow",
    4096,
    F_SEAL_SHRINK,
    4096,
    1,
    { 0, G_MAXUINT64 - 100 },
    "*in pool 0, which is shorter*" },
};

static void
test_evil_writer (gconstpointer data)
{
  const Evil *evil = data;
  HrPipeline *reader;
  int fds[2];

  ipc_pair (fds);
  reader = ipc_start ("shmsrc fd=%d ! fakesink", fds[1]);
  say_hello (fds[0]);
  for (guint i = 0; i < evil->n_pools; i++) {
    int memfd = evil->size > 0 ? new_memfd (evil->size, evil->seals) : -1;

    say (fds[0], hr_shm_write_pool (0, evil->claimed), memfd);
    if (memfd >= 0)
      close (memfd);
  }
  if (evil->n_pools < 2)
    say (fds[0], new_buffer (evil->place), -1);
  expect_error (reader, evil->pattern);
  close (fds[0]);
}

/* what it takes back before the reader has mapped it: sealed is sealed */
static void
test_shrinking (void)
{
  int memfd = new_memfd (65536, F_SEAL_SHRINK | F_SEAL_SEAL);

  g_assert_cmpint (ftruncate (memfd, 0), <, 0);
  close (memfd);
}

static void
test_words_of_a_writer (void)
{
  static const struct {
    const char *bytes;
    gsize size;
    const char *pattern;
  } cases[] = { { "GET / HTTP/1.1\r\nHost: somewhere.else.example\r\n\r\n", 48,
                  "*what writes there is no Headrace*" },
                { "HRwm", 4, "*its connection was cut inside a message, after 4 bytes*" },
                { "", 0, "*died, or ended, before it said a word*" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    HrPipeline *reader;
    int fds[2];

    ipc_pair (fds);
    reader = ipc_start ("shmsrc fd=%d ! fakesink", fds[1]);
    g_assert_cmpint (write (fds[0], cases[i].bytes, cases[i].size), ==, cases[i].size);
    shutdown (fds[0], SHUT_WR);
    expect_error (reader, cases[i].pattern);
    close (fds[0]);
  }
}

/* an end that says it has sent more than has come */
static void
test_lost (void)
{
  HrPipeline *reader;
  int fds[2];

  ipc_pair (fds);
  reader = ipc_start ("shmsrc fd=%d ! fakesink", fds[1]);
  say_hello (fds[0]);
  say (fds[0], hr_wire_write_end (3, NULL), -1);
  expect_error (reader, "*after 0 batches: it says that it has sent 3");
  close (fds[0]);
}

/* ---- an evil reader ---- */

static HrWireMessage *
new_releases (guint64 buffer, guint block)
{
  HrShmRelease release = { buffer, block };

  return hr_shm_write_release (&release, 1);
}

static void
test_evil_reader (void)
{
  HrShmHello as_writer = { .is_writer = TRUE, .reader = -1 },
             hello = { .pid = 1, .reader = -1, .credits = 1 };
  struct {
    HrWireMessage *first, *second;
    const char *pattern;
  } cases[] = {
    { hr_shm_write_hello (&as_writer), NULL, "*the reader has died before a word*" },
    { hr_shm_write_credit (1), NULL, "*the reader has died before a word*" },
    { hr_shm_write_hello (&hello), new_releases (100, 0),
      "*releases block 0 of batch 100, which it does not hold*" },
    { hr_shm_write_hello (&hello), new_releases (G_MAXUINT64, G_MAXUINT32),
      "*which it does not hold*" },
    { hr_shm_write_hello (&hello), hr_wire_write_end (0, NULL),
      "*a message of kind 3, which no reader sends*" },
    { hr_shm_write_hello (&hello), hr_wire_message_new (HR_WIRE_CREDIT, g_byte_array_new ()),
      "*a number takes 4 bytes, 0 are left*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    HrPipeline *writer;
    int fds[2];

    ipc_pair (fds);
    writer = ipc_start ("fakesrc size=10000 ! shmsink fd=%d", fds[1]);
    say (fds[0], cases[i].first, -1);
    if (cases[i].second != NULL)
      say (fds[0], cases[i].second, -1);
    expect_error (writer, cases[i].pattern);
    close (fds[0]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (evils); i++) {
    g_autofree char *path = g_strdup_printf ("/shm-evil/writer/%s", evils[i].name);

    g_test_add_data_func (path, &evils[i], test_evil_writer);
  }
  g_test_add_func ("/shm-evil/shrinking", test_shrinking);
  g_test_add_func ("/shm-evil/words", test_words_of_a_writer);
  g_test_add_func ("/shm-evil/lost", test_lost);
  g_test_add_func ("/shm-evil/reader", test_evil_reader);
  return g_test_run ();
}
