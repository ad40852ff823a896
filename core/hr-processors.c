/* hr-processors.c: processor time that was left over. Who asks twice knows how much more could have
 * been computed in between, whatever other programs did. */
#include "hr-processors.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* its first lines, one a processor; what follows is not of interest, and long */
#define MOST_TEXT (256 * 1024)

enum { IDLE = 3, IO_WAIT = 4, N_KINDS = 8 };

/* user, nice, system, idle, iowait, irq, softirq, steal. Waiting for a disk takes no processor. */
static gboolean
parse_line (const char *line, guint64 *idle, guint64 *all)
{
  char *end;

  for (guint i = 0; i < N_KINDS; i++) {
    guint64 ticks = g_ascii_strtoull (line, &end, 10);

    if (end == line)
      return i > IO_WAIT;
    *all += ticks;
    *idle += i == IDLE || i == IO_WAIT ? ticks : 0;
    line = end;
  }
  return TRUE;
}

gint64
hr_processors_parse_idle (const char *stat, const cpu_set_t *set)
{
  guint64 idle = 0, all = 0;

  for (const char *line = stat; line != NULL && g_str_has_prefix (line, "cpu");
       line = strchr (line, '\n'), line = line != NULL ? line + 1 : NULL) {
    char *end;
    guint64 cpu;

    if (!g_ascii_isdigit (line[3])) /* the sum of all */
      continue;
    cpu = g_ascii_strtoull (line + 3, &end, 10);
    if (cpu < CPU_SETSIZE && CPU_ISSET (cpu, set) && !parse_line (end, &idle, &all))
      return -1;
  }
  /* there are containers that say nothing but zeros */
  return all > 0 ? (gint64)(idle * (1000000000 / (guint64)sysconf (_SC_CLK_TCK))) : -1;
}

gint64
hr_processors_get_idle (void)
{
  g_autofree char *text = NULL;
  cpu_set_t set;
  gssize n = 0, got = 1;
  int fd;

  if (sched_getaffinity (0, sizeof set, &set) != 0)
    return -1;
  fd = open ("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  text = g_malloc (MOST_TEXT + 1);
  while (n < MOST_TEXT && (got = read (fd, text + n, MOST_TEXT - (gsize)n)) > 0)
    n += got;
  close (fd);
  text[n] = '\0';
  return got < 0 ? -1 : hr_processors_parse_idle (text, &set);
}
