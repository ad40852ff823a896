/* hr-binding.c: a buffer keeps the pointer to a field's name, which in other languages is gone when
 * the call is over */
#include "hr-binding.h"

/**
 * hr_buffer_set_tensor_named: (rename-to hr_buffer_set_tensor)
 * @name: the field
 * @tensor: (transfer full): its value
 *
 * Sets a field, whatever was there.
 */
void
hr_buffer_set_tensor_named (HrBuffer *buffer, const char *name, HrTensor *tensor)
{
  hr_buffer_set_tensor (buffer, g_intern_string (name), tensor);
}

/**
 * hr_buffer_set_list_named: (rename-to hr_buffer_set_list)
 * @name: the field
 * @list: (transfer full): its value
 *
 * Sets a field, whatever was there.
 */
void
hr_buffer_set_list_named (HrBuffer *buffer, const char *name, HrList *list)
{
  hr_buffer_set_list (buffer, g_intern_string (name), list);
}

/**
 * hr_buffer_set_json_named: (rename-to hr_buffer_set_json)
 * @name: the field
 * @node: (transfer full): its value
 *
 * Sets a field, whatever was there.
 */
void
hr_buffer_set_json_named (HrBuffer *buffer, const char *name, JsonNode *node)
{
  hr_buffer_set_json (buffer, g_intern_string (name), node);
}

/**
 * hr_buffer_set_string_named: (rename-to hr_buffer_set_string)
 * @name: the field
 * @value: its value, copied
 *
 * Sets a field, whatever was there.
 */
void
hr_buffer_set_string_named (HrBuffer *buffer, const char *name, const char *value)
{
  hr_buffer_set_string (buffer, g_intern_string (name), value);
}
