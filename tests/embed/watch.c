/* watch.c: what of a program a library could change behind its back */
#include "watch.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* ---- calls ----
 * The program exports functions of these names, so that calls of all libraries come here first. */

static gint watching;
static GMutex lock;
static GPtrArray *called;

static gpointer
note (const char *name, gboolean changes)
{
  if (g_atomic_int_get (&watching) && changes) {
    g_mutex_lock (&lock);
    if (!g_ptr_array_find_with_equal_func (called, name, g_str_equal, NULL))
      g_ptr_array_add (called, g_strdup (name));
    g_mutex_unlock (&lock);
  }
  return dlsym (RTLD_NEXT, name);
}

#define WATCH(type, name, params, args, changes)                                                   \
  G_MODULE_EXPORT type name params;                                                                \
  type name params                                                                                 \
  {                                                                                                \
    type (*real) params = (type (*) params)note (#name, changes);                                  \
                                                                                                   \
    return real args;                                                                              \
  }

/* clang-format off */
#define G_MODULE_EXPORT __attribute__ ((visibility ("default")))
WATCH (int, setenv, (const char *name, const char *value, int overwrite), (name, value, overwrite), TRUE)
WATCH (int, unsetenv, (const char *name), (name), TRUE)
WATCH (int, putenv, (char *string), (string), TRUE)
WATCH (int, clearenv, (void), (), TRUE)
WATCH (int, chdir, (const char *path), (path), TRUE)
WATCH (int, fchdir, (int fd), (fd), TRUE)
WATCH (char *, setlocale, (int category, const char *locale), (category, locale), locale != NULL)
WATCH (mode_t, umask, (mode_t mask), (mask), TRUE)
WATCH (int, setrlimit, (__rlimit_resource_t resource, const struct rlimit *limit), (resource, limit), TRUE)
WATCH (sighandler_t, signal, (int number, sighandler_t handler), (number, handler), TRUE)
WATCH (int, sigaction, (int number, const struct sigaction *act, struct sigaction *old), (number, act, old), act != NULL && number != SIGPIPE)
WATCH (int, mallopt, (int parameter, int value), (parameter, value), TRUE)
WATCH (int, setpriority, (__priority_which_t which, id_t who, int value), (which, who, value), TRUE)
WATCH (int, nice, (int by), (by), TRUE)
WATCH (pid_t, fork, (void), (), TRUE)
WATCH (int, system, (const char *command), (command), TRUE)
WATCH (long, random, (void), (), TRUE)
WATCH (int, rand, (void), (), TRUE)
/* clang-format on */

void
watch_begin (void)
{
  called = g_ptr_array_new ();
  g_atomic_int_set (&watching, 1);
}

char **
watch_end (void)
{
  g_atomic_int_set (&watching, 0);
  g_ptr_array_add (called, NULL);
  return (char **)g_ptr_array_free (called, FALSE);
}

/* ---- state ---- */

static void
add_signals (GPtrArray *lines)
{
  sigset_t mask;
  GString *blocked = g_string_new ("signal mask:");

  pthread_sigmask (SIG_SETMASK, NULL, &mask);
  for (int i = 1; i < NSIG; i++) {
    struct sigaction action;

    if (sigismember (&mask, i) == 1)
      g_string_append_printf (blocked, " %d", i);
    if (sigaction (i, NULL, &action) == 0)
      g_ptr_array_add (lines,
                       g_strdup_printf ("signal %d: %p, flags %x", i, (gpointer)action.sa_handler,
                                        (guint)action.sa_flags & ~0x04000000u));
  }
  g_ptr_array_add (lines, g_string_free (blocked, FALSE));
}

static void
add_limits (GPtrArray *lines)
{
  for (int i = 0; i < RLIMIT_NLIMITS; i++) {
    struct rlimit limit;

    getrlimit (i, &limit);
    g_ptr_array_add (lines, g_strdup_printf ("limit %d: %lu %lu", i, (gulong)limit.rlim_cur,
                                             (gulong)limit.rlim_max));
  }
}

State
state_take (void)
{
  GPtrArray *lines = g_ptr_array_new ();
  g_autofree char *folder = g_get_current_dir ();
  GLogLevelFlags fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  mode_t mask = umask (0);
  cpu_set_t cpus;
  char name[17] = "";

  umask (mask);
  add_signals (lines);
  add_limits (lines);
  for (guint i = 0; environ[i] != NULL; i++)
    g_ptr_array_add (lines, g_strdup_printf ("environment: %s", environ[i]));
  g_ptr_array_add (lines, g_strdup_printf ("folder: %s", folder));
  g_ptr_array_add (lines, g_strdup_printf ("locale: %s", setlocale (LC_ALL, NULL)));
  g_ptr_array_add (lines, g_strdup_printf ("umask: %o", mask));
  g_ptr_array_add (lines, g_strdup_printf ("priority: %d", getpriority (PRIO_PROCESS, 0)));
  sched_getaffinity (0, sizeof cpus, &cpus);
  g_ptr_array_add (lines, g_strdup_printf ("processors: %d", CPU_COUNT (&cpus)));
  prctl (PR_GET_NAME, name);
  g_ptr_array_add (lines, g_strdup_printf ("thread name: %s", name));
  g_ptr_array_add (lines, g_strdup_printf ("dumpable: %d", prctl (PR_GET_DUMPABLE)));
  g_ptr_array_add (lines, g_strdup_printf ("program name: %s", g_get_prgname ()));
  g_ptr_array_add (lines, g_strdup_printf ("application name: %s", g_get_application_name ()));
  g_ptr_array_add (lines, g_strdup_printf ("rounding: %d", fegetround ()));
  g_log_set_always_fatal (fatal);
  g_ptr_array_add (lines, g_strdup_printf ("fatal messages: %d", fatal));
  g_ptr_array_add (lines, NULL);
  return (State){ (char **)g_ptr_array_free (lines, FALSE) };
}

void
state_clear (State *state)
{
  g_clear_pointer (&state->lines, g_strfreev);
}

char *
state_compare (const State *before, const State *after)
{
  for (guint i = 0; before->lines[i] != NULL || after->lines[i] != NULL; i++) {
    if (g_strcmp0 (before->lines[i], after->lines[i]) != 0)
      return g_strdup_printf ("\"%s\" became \"%s\"", before->lines[i], after->lines[i]);
    if (before->lines[i] == NULL)
      break;
  }
  return NULL;
}

static guint
count_entries (const char *path)
{
  DIR *dir = opendir (path);
  guint n = 0;

  while (readdir (dir) != NULL)
    n++;
  closedir (dir);
  return n - 2;
}

guint
count_threads (void)
{
  return count_entries ("/proc/self/task");
}

char *
name_threads (void)
{
  DIR *dir = opendir ("/proc/self/task");
  GString *names = g_string_new (NULL);
  struct dirent *entry;

  while ((entry = readdir (dir)) != NULL) {
    g_autofree char *path = g_strdup_printf ("/proc/self/task/%s/comm", entry->d_name),
                    *name = NULL;

    if (entry->d_name[0] != '.' && atoi (entry->d_name) != getpid ()
        && g_file_get_contents (path, &name, NULL, NULL))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", g_strchomp (name));
  }
  closedir (dir);
  return g_string_free (names, FALSE);
}

guint
count_files (void)
{
  return count_entries ("/proc/self/fd") - 1; /* without that of the folder itself */
}

guint64
find_inherited (void)
{
  guint64 found = 0;

  for (int fd = 0; fd < 64; fd++) {
    int flags = fcntl (fd, F_GETFD), domain = 0;
    socklen_t size = sizeof domain;

    /* the pair that libcurl 7.88 wakes itself with is of its own making */
    getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0 && domain != AF_UNIX)
      found |= (guint64)1 << fd;
  }
  return found;
}
