/* hr-log.h: HR_DEBUG=element:level,*:2 logging with element, sample and thread */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

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

/* @sample: its number, or -1 */
#define hr_log(category, level, sample, ...)                                                       \
  G_STMT_START                                                                                     \
  {                                                                                                \
    if (G_UNLIKELY (hr_log_enabled ((category), (level))))                                         \
      hr_log_write ((category), (level), (sample), __VA_ARGS__);                                   \
  }                                                                                                \
  G_STMT_END

G_END_DECLS
