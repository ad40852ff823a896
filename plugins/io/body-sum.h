/* body-sum.h: the checksum that a server gives of a body, and the body's own */
#pragma once
#include "http-response.h"

G_BEGIN_DECLS

typedef enum {
  HR_VERIFY_AUTO, /* by the quickest checksum that the server gives */
  HR_VERIFY_NONE,
  HR_VERIFY_MD5 /* and by the MD5 that the ETag of many objects is, where there is no other */
} HrVerify;

typedef struct _HrBodySum HrBodySum;

/**
 * hr_body_sum_new:
 * @response: the head of an answer that gives the whole object, of which all bytes follow
 *
 * Returns: (nullable): %NULL if the server gives no checksum of the whole: none at all, or one of
 *   the parts ("…-7"), of which nobody knows where they begin
 */
HrBodySum *hr_body_sum_new (const HrHttpResponse *response, HrVerify verify);
void hr_body_sum_free (HrBodySum *sum);
void hr_body_sum_add (HrBodySum *sum, const guint8 *bytes, gsize size);
/* all bytes have been added: are they those that the server has? #HR_RESOURCE_ERROR_READ. Once */
gboolean hr_body_sum_check (HrBodySum *sum, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrBodySum, hr_body_sum_free)

G_END_DECLS
