/* expand.h: objects that are stored compressed, read as the text that they hold */
#pragma once
#include "line-source.h"

G_BEGIN_DECLS

/**
 * HrExpander:
 *
 * Stands between a source of lines and its objects. Compressed ones (*.gz, *.zst) are read from
 * their beginning to their end, and what is asked for is bytes of their text; all others are passed
 * on.
 */
typedef struct _HrExpander HrExpander;

/* of a line source, with an #HrExpander as its data */
extern const HrLineSourceFuncs hr_expander_funcs;

/**
 * hr_expander_new:
 * @funcs: reads objects as they are stored; with @data, must outlive it
 * @part_bytes: asked for at once
 * @max_expansion: bytes of text that each stored byte may make, 0: any number
 */
HrExpander *hr_expander_new (const HrLineSourceFuncs *funcs, gpointer data, gsize part_bytes,
                             guint64 max_expansion);
void hr_expander_free (HrExpander *expander);

/* The plan is listed and has not begun. If the order that @rules ask for needs to know how large
 * all texts are, and to read in the middle of them, each is expanded once, into a temporary file
 * without a name, which goes with @expander. */
gboolean hr_expander_prepare (HrExpander *expander, HrOut *out, const HrPlanRules *rules,
                              GError **error);

/**
 * hr_expander_keep:
 * @object: compressed; its URI must outlive @expander
 *
 * Expands it into such a file, from which it is read from now on, in any order.
 *
 * Returns: bytes of its text, or -1
 */
gint64 hr_expander_keep (HrExpander *expander, HrOut *out, const HrObject *object, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrExpander, hr_expander_free)

G_END_DECLS
