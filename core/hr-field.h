/* hr-field.h: one value of a buffer's field or a list's item; private to the core */
#pragma once
#include "hr-buffer.h"

G_BEGIN_DECLS

typedef struct {
  HrFieldType type;
  union {
    gpointer pointer;
    HrTensor *tensor;
    HrList *list;
    JsonNode *json;
    GRefString *string;
  };
} HrValue;

struct _HrField {
  const char *name; /* interned */
  HrValue value;
};

HrValue hr_value_ref (const HrValue *value);
void hr_value_clear (HrValue *value);
/* bytes of its tensors */
gsize hr_value_get_n_bytes (const HrValue *value);

G_END_DECLS
