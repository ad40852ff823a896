/* hr-log.c: HR_DEBUG=element:level,*:2 */
#include "hr-log.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hr-sync.h"

typedef struct {
  char *pattern;
  gint level;
} Rule;

static Rule *rules;
static guint n_rules;
static gint max_level; /* most calls end at a look at this */
static int descriptor = STDERR_FILENO;
static void (*writer) (const char *line); /* atomic */
static gint64 begun;

static gint
parse_level (const char *text)
{
  static const char *const names[] = { "none", "error", "warning", "info", "debug", "trace" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_ascii_strcasecmp (text, names[i]) == 0)
      return (gint)i;
  if (g_ascii_isdigit (text[0]) && text[1] == '\0')
    return MIN (text[0] - '0', HR_LOG_TRACE);
  return -1;
}

/* read once, before any thread of ours can exist */
static void __attribute__ ((constructor)) read_environment (void)
{
  const char *value = getenv ("HR_DEBUG");
  const char *file = getenv ("HR_DEBUG_FILE");
  char **parts;

  begun = hr_now ();
  if (value == NULL || *value == '\0')
    return;
  parts = g_strsplit (value, ",", -1);
  rules = g_new0 (Rule, g_strv_length (parts));
  for (char **part = parts; *part != NULL; part++) {
    char *colon = strrchr (*part, ':');
    gint level = parse_level (colon != NULL ? colon + 1 : *part);

    if (level < 0) {
      fprintf (stderr, "HR_DEBUG: \"%s\" is not NAME:LEVEL with a level of 0 to 5\n", *part);
      continue;
    }
    rules[n_rules].level = level;
    rules[n_rules++].pattern =
        colon != NULL ? g_strndup (*part, (gsize)(colon - *part)) : g_strdup ("*");
    max_level = MAX (max_level, level);
  }
  g_strfreev (parts);
  if (file != NULL && *file != '\0') {
    descriptor = open (file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      fprintf (stderr, "HR_DEBUG_FILE: %s: %s\n", file, g_strerror (errno));
      descriptor = STDERR_FILENO;
    }
  }
}

/* 3: the very name; 2: the factory of "imagedecode0"; 1: a pattern; 0: no match */
static guint
match (const char *pattern, const char *category)
{
  gsize length = strlen (pattern);

  if (strncmp (pattern, category, length) == 0) {
    const char *rest = category + length;

    if (*rest == '\0')
      return 3;
    if (length > 0 && strspn (rest, "0123456789") == strlen (rest))
      return 2;
  }
  return g_pattern_match_simple (pattern, category) ? 1 : 0;
}

/**
 * hr_log_enabled:
 * @category: an element's name, or "core"
 * @level: how important
 *
 * Asks HR_DEBUG, "element:level,*:2": names are those of elements or factories, or "core", levels 0
 * to 5.
 *
 * Returns: %TRUE if HR_DEBUG asks for it. The most specific rule counts, among equals the last.
 */
gboolean
hr_log_enabled (const char *category, HrLogLevel level)
{
  guint best = 1;
  gint allowed = 0;

  if (G_LIKELY ((gint)level > max_level))
    return FALSE;
  for (guint i = 0; i < n_rules; i++) {
    guint n = match (rules[i].pattern, category);

    if (n >= best) {
      best = n;
      allowed = rules[i].level;
    }
  }
  return (gint)level <= allowed;
}

void
hr_log_set_writer (void (*own) (const char *line))
{
  __atomic_store_n (&writer, own, __ATOMIC_RELEASE);
}

/**
 * hr_log_write:
 * @category: an element's name, or "core"
 * @level: how important
 * @sample: its number, or -1
 * @format: printf's
 * @...: what the format asks for
 *
 * Writes one line, whatever hr_log_enabled() says: time since the start, level, thread, element,
 * sample, text. Use the macro hr_log() instead.
 */
void
hr_log_write (const char *category, HrLogLevel level, gint64 sample, const char *format, ...)
{
  static const char *const names[] = { "     ", "ERROR", "WARN ", "INFO ", "DEBUG", "TRACE" };
  gint64 time = (hr_now () - begun) / 1000;
  char thread[16] = "";
  g_autoptr (GString) line = g_string_sized_new (160);
  void (*own) (const char *line);
  va_list args;

  pthread_getname_np (pthread_self (), thread, sizeof thread);
  g_string_printf (line, "%3" G_GINT64_FORMAT ".%06d %s %-15s %s", time / 1000000,
                   (gint)(time % 1000000), names[CLAMP ((gint)level, 0, 5)], thread, category);
  if (sample >= 0)
    g_string_append_printf (line, " #%" G_GINT64_FORMAT, sample);
  g_string_append (line, ": ");
  va_start (args, format);
  g_string_append_vprintf (line, format, args);
  va_end (args);
  g_string_append_c (line, '\n');
  own = __atomic_load_n (&writer, __ATOMIC_ACQUIRE);
  if (own != NULL && descriptor == STDERR_FILENO) {
    own (line->str);
    return;
  }
  /* one write a line: lines of threads never mix */
  if (write (descriptor, line->str, line->len) < 0)
    return;
}
