/* report.c: misuse, and what the environment says */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "standin.h"

#define EXIT_STATUS 97
#ifdef STANDIN_BEFORE_12_8
#define RUNTIME 12040
#else
#define RUNTIME 13000
#endif

StandinConfig standin_config;

typedef struct {
  char *name;
  guint64 nth; /* 0: each */
  int code;
} Failure;

static pthread_mutex_t lock;
static GPtrArray *misuses;
static GArray *failures;
static GHashTable *calls; /* function → how often */
static GRand *rand_state;

void
standin_lock (void)
{
  pthread_mutex_lock (&lock);
}

void
standin_unlock (void)
{
  pthread_mutex_unlock (&lock);
}

/* at once: a program may end by a signal */
static void
report (const char *line)
{
  const char *path = g_getenv ("HR_STANDIN_REPORT");
  FILE *file = path != NULL ? fopen (path, "a") : NULL;

  if (file == NULL)
    return;
  fprintf (file, "%s\n", line);
  fclose (file);
}

void
standin_misuse (const char *kind, const char *format, ...)
{
  g_autofree char *what = NULL;
  va_list arguments;

  va_start (arguments, format);
  what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_ptr_array_add (misuses, g_strdup_printf ("%s: %s", kind, what));
  report (misuses->pdata[misuses->len - 1]);
}

char **
standin_take_misuses (void)
{
  char **taken;

  standin_lock ();
  g_ptr_array_add (misuses, NULL);
  taken = (char **)g_ptr_array_free (misuses, FALSE);
  misuses = g_ptr_array_new_with_free_func (g_free);
  standin_unlock ();
  return taken;
}

char **
standin_list_left (void)
{
  GPtrArray *lines = g_ptr_array_new ();

  standin_lock ();
  standin_memory_list_left (lines);
  standin_work_list_left (lines);
  standin_runtime_list_left (lines);
  standin_code_list_left (lines);
  standin_unlock ();
  g_ptr_array_add (lines, NULL);
  return (char **)g_ptr_array_free (lines, FALSE);
}

int
standin_fail (const char *name)
{
  guint64 n = GPOINTER_TO_SIZE (g_hash_table_lookup (calls, name)) + 1;

  g_hash_table_insert (calls, (gpointer)name, GSIZE_TO_POINTER (n));
  for (guint i = 0; i < failures->len; i++) {
    const Failure *failure = &g_array_index (failures, Failure, i);

    if (strcmp (failure->name, name) == 0 && (failure->nth == 0 || failure->nth == n))
      return failure->code;
  }
  return 0;
}

gboolean
standin_chance (guint percent)
{
  return standin_random (100) < percent;
}

guint
standin_random (guint end)
{
  return (guint)g_rand_int_range (rand_state, 0, (gint32)end);
}

/* ---- the environment ---- */

static void
refuse (const char *name, const char *text, const char *expected)
{
  fprintf (stderr, "cuda stand-in: %s=%s: expected %s\n", name, text, expected);
  _exit (EXIT_STATUS);
}

static guint64
read_number (const char *name, guint64 otherwise)
{
  const char *text = g_getenv (name);
  guint64 number;

  if (text == NULL)
    return otherwise;
  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT64, &number, NULL))
    refuse (name, text, "a number");
  return number;
}

/* NAME:NTH=CODE, or NAME=CODE for every call; several with commas */
static void
read_failures (void)
{
  const char *text = g_getenv ("HR_STANDIN_FAIL");
  g_auto (GStrv) parts = g_strsplit (text != NULL ? text : "", ",", -1);

  for (guint i = 0; parts[i] != NULL; i++) {
    Failure failure = { NULL, 0, 0 };
    char *equals = strchr (parts[i], '='), *colon = strchr (parts[i], ':');

    if (equals == NULL)
      refuse ("HR_STANDIN_FAIL", text, "NAME:NTH=CODE,…");
    else {
      failure.code = atoi (equals + 1);
      *equals = '\0';
      if (colon != NULL) {
        failure.nth = g_ascii_strtoull (colon + 1, NULL, 10);
        *colon = '\0';
      }
      failure.name = g_strdup (parts[i]);
      g_array_append_val (failures, failure);
    }
  }
}

static void
read_order (void)
{
  const char *text = g_getenv ("HR_STANDIN_ORDER");
  const char *colon = text != NULL ? strchr (text, ':') : NULL;

  standin_config.order = STANDIN_LATE;
  if (text == NULL || strcmp (text, "late") == 0)
    return;
  if (strcmp (text, "now") == 0)
    standin_config.order = STANDIN_NOW;
  else if (g_str_has_prefix (text, "random:"))
    standin_config.order = STANDIN_RANDOM;
  else if (g_str_has_prefix (text, "thread:"))
    standin_config.order = STANDIN_THREAD;
  else
    refuse ("HR_STANDIN_ORDER", text, "late, now, random:SEED or thread:SEED");
  if (colon != NULL)
    standin_config.seed = (guint32)g_ascii_strtoull (colon + 1, NULL, 10);
}

__attribute__ ((constructor)) static void
begin (void)
{
  const char *capability = g_getenv ("HR_STANDIN_CAPABILITY");
  const struct rlimit none = { 0, 0 };
  pthread_mutexattr_t attributes;

  /* some of its programs crash on purpose, with gigabytes of devices in them */
  setrlimit (RLIMIT_CORE, &none);
  pthread_mutexattr_init (&attributes);
  pthread_mutexattr_settype (&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init (&lock, &attributes);
  pthread_mutexattr_destroy (&attributes);
  misuses = g_ptr_array_new_with_free_func (g_free);
  failures = g_array_new (FALSE, FALSE, sizeof (Failure));
  calls = g_hash_table_new (g_str_hash, g_str_equal);
  standin_config.n_devices = (int)read_number ("HR_STANDIN_DEVICES", 1);
  standin_config.memory = read_number ("HR_STANDIN_MEMORY", 1 << 30);
  standin_config.copy_rate = MAX (read_number ("HR_STANDIN_COPY_RATE", 25000), 1);
  standin_config.driver = (int)read_number ("HR_STANDIN_DRIVER", 13000);
  standin_config.runtime = (int)read_number ("HR_STANDIN_RUNTIME", RUNTIME);
  standin_config.lazy = read_number ("HR_STANDIN_LAZY", 1) != 0;
  standin_config.major = 9;
  if (capability != NULL
      && sscanf (capability, "%d.%d", &standin_config.major, &standin_config.minor) != 2)
    refuse ("HR_STANDIN_CAPABILITY", capability, "9.0");
  read_failures ();
  read_order ();
  rand_state = g_rand_new_with_seed (standin_config.seed);
}

/* ---- the end ---- */

/* A program that misused it ends with a status of its own, whatever it thinks of itself. */
__attribute__ ((destructor)) static void
end (void)
{
  g_auto (GStrv) taken = standin_take_misuses ();
  g_auto (GStrv) left = standin_list_left ();
  gboolean leaks = g_strcmp0 (g_getenv ("HR_STANDIN_LEAKS"), "allow") != 0;

  for (guint i = 0; taken[i] != NULL; i++)
    fprintf (stderr, "cuda stand-in: %s\n", taken[i]);
  for (guint i = 0; leaks && left[i] != NULL; i++) {
    g_autofree char *line = g_strconcat ("left at exit: ", left[i], NULL);

    fprintf (stderr, "cuda stand-in: %s\n", line);
    report (line);
  }
  if (taken[0] != NULL || (leaks && left[0] != NULL)) {
    fflush (NULL);
    _exit (EXIT_STATUS);
  }
}
