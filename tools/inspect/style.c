/* style.c: colours, where stdout is a terminal that wants them */
#include "style.h"
#include <unistd.h>

static gboolean coloured;

static gboolean
wants_colours (void)
{
  const char *no = g_getenv ("NO_COLOR"), *term = g_getenv ("TERM");

  return isatty (STDOUT_FILENO) && (no == NULL || *no == '\0') && term != NULL && *term != '\0'
         && !g_str_equal (term, "dumb");
}

gboolean
style_choose (const char *when)
{
  if (g_str_equal (when, "auto"))
    coloured = wants_colours ();
  else if (g_str_equal (when, "always") || g_str_equal (when, "never"))
    coloured = g_str_equal (when, "always");
  else
    return FALSE;
  return TRUE;
}

const char *
style_on (Style style)
{
  static const char *const codes[STYLE_N] = {
    [STYLE_TITLE] = "\033[1m",   /* bold */
    [STYLE_NAME] = "\033[1;36m", /* cyan, readable on light and dark */
    [STYLE_FACT] = "\033[32m",   /* green */
    [STYLE_MATCH] = "\033[1;33m" /* yellow */
  };

  return coloured ? codes[style] : "";
}

const char *
style_off (void)
{
  return coloured ? "\033[0m" : "";
}
