/* style.h: colours, where stdout is a terminal that wants them */
#pragma once
#include <glib.h>

typedef enum { STYLE_TITLE, STYLE_NAME, STYLE_FACT, STYLE_MATCH, STYLE_N } Style;

/* "auto", "always" or "never"; auto: on a terminal, unless NO_COLOR is set or TERM is dumb.
 * FALSE: none of these */
gboolean style_choose (const char *when);
/* what begins a style, and what ends all; "" without colours */
const char *style_on (Style style);
const char *style_off (void);
