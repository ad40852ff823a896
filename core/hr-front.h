/* hr-front.h: the elements that know how long samples are, before a pixel is decoded; private to
 * the core */
#pragma once
#include "hr-pipeline-private.h"

/* (transfer full) (element-type HrElement): @source to the one that makes tokens, or else the one
 * that reads the sizes of images. HR_PARSE_ERROR_CONFLICT if there is none */
GPtrArray *hr_front_find (HrElement *source, GError **error);
/* what the lengths depend on, as a text: the elements, what they are set to, and the files they
 * have read; after start(). (transfer full) */
char *hr_front_describe (GPtrArray *front);
/* (transfer full): a pipeline of the same elements that ends in an appsink and goes once through
 * the objects that @wants says TRUE of, as they lie there */
HrPipeline *hr_front_copy (GPtrArray *front,
                           gboolean (*wants) (gpointer user, const HrObject *object),
                           gpointer user);
