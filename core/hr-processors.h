/* hr-processors.h: processor time that was left over. Private to the core. */
#pragma once
#include <glib.h>
#include <sched.h>

/* Nanoseconds that the processors this process may use had nothing to do, since the machine began,
 * summed over them; -1: this machine does not say */
gint64 hr_processors_get_idle (void);
/* … by the text of /proc/stat and those processors */
gint64 hr_processors_parse_idle (const char *stat, const cpu_set_t *set);
