/* fail-nth.c: preloaded, it fails one step of a program: the n-th call that could have failed
 *
 * Counted are calls on what belongs to the run under test: files below the folders of
 * HR_FAIL_FOLDERS (colons between them), sockets, memfds, threads. HR_FAIL_NTH is the one that
 * fails, from 1; HR_FAIL_MODE is `once`, `from` (that one and all behind it) or `kill` (the process
 * ends by SIGKILL there). HR_FAIL_REPORT is a file that gets a line for each step that failed,
 * "failed NUMBER CALL ERRNO PATH", and at the end "steps COUNT" and "open PATH" for each descriptor
 * that was not closed.
 *
 * What libc calls inside itself is not seen; therefore opendir() is here as well as open().
 */
/* both kinds of names are defined here */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FDS 4096
#define PATH_BYTES 512

typedef enum { ONCE, FROM, KILL } Mode;

static atomic_long n_steps;
static long nth;
static Mode mode;
static char folders[4096];
static int report = -1;
/* of each descriptor that is ours: what it is */
static _Atomic (char *) ours[MAX_FDS];
/* … and how many bytes of it are on the disk for good */
static atomic_long synced[MAX_FDS];

#define REAL(name)                                                                                 \
  static __typeof__ (name) *real;                                                                  \
  if (!real)                                                                                       \
  real = (__typeof__ (name) *)dlsym (RTLD_NEXT, #name)

static void
say (const char *format, ...)
{
  char line[PATH_BYTES + 128];
  va_list args;
  int length;

  if (report < 0)
    return;
  va_start (args, format);
  length = vsnprintf (line, sizeof line, format, args);
  va_end (args);
  if (write (report, line, (size_t)length) < 0)
    abort ();
}

static void __attribute__ ((constructor)) begin (void)
{
  const char *how = getenv ("HR_FAIL_MODE"), *number = getenv ("HR_FAIL_NTH"),
             *file = getenv ("HR_FAIL_REPORT"), *where = getenv ("HR_FAIL_FOLDERS");

  nth = number ? atol (number) : 0;
  mode = how && strcmp (how, "from") == 0 ? FROM : how && strcmp (how, "kill") == 0 ? KILL : ONCE;
  snprintf (folders, sizeof folders, "%s", where ? where : "");
  if (file) {
    int fd = open (file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    /* out of the way of those who look for small numbers */
    report = fcntl (fd, F_DUPFD_CLOEXEC, 900);
    close (fd);
  }
}

static void __attribute__ ((destructor)) end (void)
{
  for (int fd = 0; fd < MAX_FDS; fd++)
    if (ours[fd])
      say ("open %s\n", ours[fd]);
  say ("steps %ld\n", atomic_load (&n_steps));
}

static bool
is_ours (const char *path)
{
  for (const char *at = folders; *at;) {
    size_t length = strcspn (at, ":");

    if (length > 0 && strncmp (path, at, length) == 0
        && (path[length] == '/' || path[length] == '\0'))
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

/* TRUE: this call fails, with errno set */
static bool
fails (const char *call, int code, const char *path)
{
  long step = atomic_fetch_add (&n_steps, 1) + 1;

  if (nth <= 0 || step < nth || (step > nth && mode != FROM))
    return false;
  say ("failed %ld %s %d %s\n", step, call, code, path);
  if (mode == KILL)
    kill (getpid (), SIGKILL);
  errno = code;
  return true;
}

static void
note_synced (int fd)
{
  struct stat info;
  REAL (fstat);

  if (fd >= 0 && fd < MAX_FDS && real (fd, &info) == 0)
    atomic_store (&synced[fd], info.st_size);
}

static int
keep (int fd, const char *path)
{
  note_synced (fd);
  if (fd >= 0 && fd < MAX_FDS)
    free (atomic_exchange (&ours[fd], strdup (path)));
  return fd;
}

static const char *
path_of (int fd)
{
  return fd >= 0 && fd < MAX_FDS ? atomic_load (&ours[fd]) : NULL;
}

/* files and sockets: what wakes another thread does not fail */
#define ON_FD(call, code, bad)                                                                     \
  do {                                                                                             \
    const char *path = path_of (fd);                                                               \
    if (path && (path[0] == '/' || path[0] == 's') && fails (call, code, path))                    \
      return bad;                                                                                  \
  } while (0)

/* ---- files by name ---- */

#define OPEN(name, ...)                                                                            \
  do {                                                                                             \
    mode_t mode_bits = 0;                                                                          \
    va_list args;                                                                                  \
    REAL (name);                                                                                   \
    va_start (args, flags);                                                                        \
    if (flags & (O_CREAT | O_TMPFILE))                                                             \
      mode_bits = va_arg (args, mode_t);                                                           \
    va_end (args);                                                                                 \
    if (!is_ours (path))                                                                           \
      return real (__VA_ARGS__ path, flags, mode_bits);                                            \
    if (fails (flags & O_CREAT ? "create" : "open", flags & O_CREAT ? ENOSPC : EMFILE, path))      \
      return -1;                                                                                   \
    return keep (real (__VA_ARGS__ path, flags, mode_bits), path);                                 \
  } while (0)
#define AT folder,

int
open (const char *path, int flags, ...)
{
  OPEN (open, );
}

int
open64 (const char *path, int flags, ...)
{
  OPEN (open64, );
}

int
openat (int folder, const char *path, int flags, ...)
{
  OPEN (openat, AT);
}

int
openat64 (int folder, const char *path, int flags, ...)
{
  OPEN (openat64, AT);
}

DIR *
opendir (const char *path)
{
  REAL (opendir);
  return is_ours (path) && fails ("opendir", EMFILE, path) ? NULL : real (path);
}

int
mkdir (const char *path, mode_t bits)
{
  REAL (mkdir);
  return is_ours (path) && fails ("mkdir", ENOSPC, path) ? -1 : real (path, bits);
}

int
stat (const char *path, struct stat *info)
{
  REAL (stat);
  return is_ours (path) && fails ("stat", EIO, path) ? -1 : real (path, info);
}

int
lstat (const char *path, struct stat *info)
{
  REAL (lstat);
  return is_ours (path) && fails ("stat", EIO, path) ? -1 : real (path, info);
}

int
stat64 (const char *path, struct stat64 *info)
{
  REAL (stat64);
  return is_ours (path) && fails ("stat", EIO, path) ? -1 : real (path, info);
}

int
lstat64 (const char *path, struct stat64 *info)
{
  REAL (lstat64);
  return is_ours (path) && fails ("stat", EIO, path) ? -1 : real (path, info);
}

int
rename (const char *path, const char *to)
{
  REAL (rename);
  return is_ours (path) && fails ("rename", EIO, path) ? -1 : real (path, to);
}

/* ---- descriptors ---- */

int
fstat (int fd, struct stat *info)
{
  REAL (fstat);
  ON_FD ("fstat", EIO, -1);
  return real (fd, info);
}

int
fstat64 (int fd, struct stat64 *info)
{
  REAL (fstat64);
  ON_FD ("fstat", EIO, -1);
  return real (fd, info);
}

ssize_t
read (int fd, void *into, size_t size)
{
  REAL (read);
  ON_FD ("read", EIO, -1);
  return real (fd, into, size);
}

ssize_t
pread (int fd, void *into, size_t size, off_t at)
{
  REAL (pread);
  ON_FD ("read", EIO, -1);
  return real (fd, into, size, at);
}

ssize_t
pread64 (int fd, void *into, size_t size, off_t at)
{
  REAL (pread64);
  ON_FD ("read", EIO, -1);
  return real (fd, into, size, at);
}

ssize_t
write (int fd, const void *from, size_t size)
{
  REAL (write);
  if (fd != report)
    ON_FD ("write", ENOSPC, -1);
  return real (fd, from, size);
}

int
ftruncate (int fd, off_t size)
{
  REAL (ftruncate);
  ON_FD ("ftruncate", EIO, -1);
  return real (fd, size);
}

int
fsync (int fd)
{
  REAL (fsync);
  ON_FD ("fsync", EIO, -1);
  note_synced (fd);
  return real (fd);
}

int
fdatasync (int fd)
{
  REAL (fdatasync);
  ON_FD ("fsync", EIO, -1);
  note_synced (fd);
  return real (fd);
}

static void
lose_bytes (int fd)
{
  REAL (ftruncate);
  if (real (fd, atomic_load (&synced[fd])) != 0)
    errno = EIO; /* it was only read: nothing to lose */
}

/* the descriptor is gone in any case, as Linux has it, and with it what was not synced */
int
close (int fd)
{
  char *path;
  int status;
  bool wrong;

  REAL (close);
  if (fd < 0 || fd >= MAX_FDS || fd == report)
    return real (fd);
  path = atomic_exchange (&ours[fd], NULL);
  wrong = path && path[0] == '/' && fails ("close", EIO, path);
  if (wrong)
    lose_bytes (fd);
  status = real (fd);
  free (path);
  if (wrong)
    errno = EIO;
  return wrong ? -1 : status;
}

int
memfd_create (const char *name, unsigned flags)
{
  REAL (memfd_create);
  return fails ("memfd_create", EMFILE, name) ? -1 : keep (real (name, flags), "memfd");
}

void *
mmap (void *address, size_t size, int protection, int flags, int fd, off_t at)
{
  REAL (mmap);
  ON_FD ("mmap", ENOMEM, MAP_FAILED);
  return real (address, size, protection, flags, fd, at);
}

int
eventfd (unsigned value, int flags)
{
  REAL (eventfd);
  return fails ("eventfd", EMFILE, "eventfd") ? -1 : keep (real (value, flags), "eventfd");
}

int
signalfd (int fd, const sigset_t *set, int flags)
{
  REAL (signalfd);
  return fails ("signalfd", EMFILE, "events") ? -1 : keep (real (fd, set, flags), "events");
}

int
socketpair (int domain, int type, int protocol, int pair[2])
{
  REAL (socketpair);
  return fails ("socketpair", EMFILE, "socketpair") ? -1 : real (domain, type, protocol, pair);
}

void *
mmap64 (void *address, size_t size, int protection, int flags, int fd, off64_t at)
{
  REAL (mmap64);
  ON_FD ("mmap", ENOMEM, MAP_FAILED);
  return real (address, size, protection, flags, fd, at);
}

/* ---- the network, threads ---- */

int
socket (int domain, int type, int protocol)
{
  REAL (socket);
  if (domain != AF_INET && domain != AF_INET6)
    return real (domain, type, protocol);
  return fails ("socket", EMFILE, "socket") ? -1 : keep (real (domain, type, protocol), "socket");
}

int
connect (int fd, const struct sockaddr *address, socklen_t length)
{
  REAL (connect);
  ON_FD ("connect", ENETUNREACH, -1);
  return real (fd, address, length);
}

ssize_t
send (int fd, const void *from, size_t size, int flags)
{
  REAL (send);
  ON_FD ("send", ECONNRESET, -1);
  return real (fd, from, size, flags);
}

ssize_t
recv (int fd, void *into, size_t size, int flags)
{
  REAL (recv);
  ON_FD ("recv", ECONNRESET, -1);
  return real (fd, into, size, flags);
}

int
pthread_create (pthread_t *thread, const pthread_attr_t *attributes, void *(*run) (void *),
                void *data)
{
  int code;

  REAL (pthread_create);
  code = errno;
  if (fails ("pthread_create", EAGAIN, "thread")) {
    errno = code;
    return EAGAIN;
  }
  return real (thread, attributes, run, data);
}
