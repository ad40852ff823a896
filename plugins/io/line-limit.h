/* line-limit.h: how long a line may be, as the elements behind a source say */
#pragma once
#include "hr-element.h"

G_BEGIN_DECLS

/**
 * hr_line_limit:
 * @wanted: the source's own max-line-bytes, 0: not set
 *
 * A source may not hold a line in memory that will be refused for its length anyway, so it asks
 * whoever refuses: the first element behind it with a property max-line-bytes.
 *
 * Returns: bytes of a line, without its end
 */
gsize hr_line_limit (HrOut *out, guint64 wanted);

G_END_DECLS
