/* hr-check-private.h: the parts of the check of a finished graph */
#pragma once
#include "hr-field-set.h"
#include "hr-element-private.h"

typedef struct {
  HrPipeline *pipeline;
  guint n;
  HrElement **order; /* sources first; an element stands behind all that feed it */
  HrElement *culprit;
} HrCheck;

/* "imagedecode", or the element's name if there are several of its kind */
const char *hr_check_label (const HrCheck *check, HrElement *element);
/* Sets the error: its first line is what is wrong, further ones are advice. Returns FALSE. */
gboolean hr_check_fail (HrCheck *check, HrElement *culprit, HrParseError code, GError **error,
                        const char *format, ...) G_GNUC_PRINTF (5, 6);

/* hr-check-fields.c: does every element get the fields that it needs? */
gboolean hr_check_fields (HrCheck *check, GError **error);

/**
 * hr_repair_find:
 * @set: what comes
 * @needs: (element-type HrFieldSpec): what must come
 *
 * Returns: (transfer full) (nullable) (element-type utf8): names of the fewest elements of the
 * registry that make one of the other, in their order
 */
GPtrArray *hr_repair_find (const HrFieldSet *set, GArray *needs);
/* names of elements that give @spec, at most @most of them; (transfer full) (element-type utf8) */
GPtrArray *hr_repair_givers (const HrFieldSpec *spec, guint most);

/* hr-print.c: the canonical text, without secrets, with elements put into links: @inserted maps
 * #HrLink to #GPtrArray of names. (transfer full) */
char *hr_print_with (HrPipeline *pipeline, GHashTable *inserted);
