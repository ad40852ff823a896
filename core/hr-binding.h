/* hr-binding.h: setters for languages whose strings come and go; C uses those of hr-buffer.h */
#pragma once
#include "hr-buffer.h"

G_BEGIN_DECLS

void hr_buffer_set_tensor_named (HrBuffer *buffer, const char *name, HrTensor *tensor);
void hr_buffer_set_list_named (HrBuffer *buffer, const char *name, HrList *list);
void hr_buffer_set_json_named (HrBuffer *buffer, const char *name, JsonNode *node);
void hr_buffer_set_string_named (HrBuffer *buffer, const char *name, const char *value);

G_END_DECLS
