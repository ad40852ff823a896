/* hr-log.h: HR_DEBUG=element:level,*:2 logging with element, sample and thread */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrLogLevel:
 * @HR_LOG_ERROR: the run ends
 * @HR_LOG_WARNING: something is wrong, the run goes on
 * @HR_LOG_INFO: once a run or an object
 * @HR_LOG_DEBUG: once a batch or a request
 * @HR_LOG_TRACE: once a buffer
 *
 * How important a line of the log is; HR_DEBUG has the number.
 */
typedef enum {
  HR_LOG_ERROR = 1,
  HR_LOG_WARNING,
  HR_LOG_INFO,
  HR_LOG_DEBUG,
  HR_LOG_TRACE
} HrLogLevel;

/* Names are element names or factories, or "core"; levels 0 to 5. HR_DEBUG_FILE instead of stderr.
 */
gboolean hr_log_enabled (const char *category, HrLogLevel level);
void hr_log_write (const char *category, HrLogLevel level, gint64 sample, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/**
 * hr_log_set_writer: (skip)
 * @writer: (nullable): gets each line, with its end, in the thread that writes it; %NULL: stderr
 *
 * For programs that draw on the terminal. HR_DEBUG_FILE comes before it.
 */
void hr_log_set_writer (void (*writer) (const char *line));

/**
 * hr_log:
 * @category: an element's name, or "core"
 * @level: how important
 * @sample: its number, or -1
 * @...: format and arguments, as for printf()
 *
 * Writes a line if hr_log_enabled(); what the line is made of is computed only then.
 */
#define hr_log(category, level, sample, ...)                                                       \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (G_UNLIKELY (hr_log_enabled ((category), (level))))                                         \
      hr_log_write ((category), (level), (sample), __VA_ARGS__);                                   \
  }                                                                                                \
  G_STMT_END

G_END_DECLS
