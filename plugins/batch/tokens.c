/* tokens.c: the form of what a sample holds for each of its tokens */
#include "tokens.h"

const char *const hr_token_fields[HR_N_TOKEN_FIELDS] = { "input_ids", "labels", "attention_mask",
                                                         "mm_token_type_ids", "position_ids" };

/* ---- from upstream ---- */

static HrWalk
end_at_property (HrElement *element, gpointer property)
{
  return g_object_class_find_property (G_OBJECT_GET_CLASS (element), property) != NULL ? HR_WALK_END
                                                                                       : HR_WALK_ON;
}

/* tokenize ids=int32|int64 */
static HrDType
read_width (HrElement *element)
{
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "ids");
  g_auto (GValue) value = G_VALUE_INIT;
  g_autoptr (GEnumClass) widths = NULL;

  if (spec == NULL || !G_IS_PARAM_SPEC_ENUM (spec))
    return HR_INT64;
  g_value_init (&value, spec->value_type);
  g_object_get_property (G_OBJECT (element), "ids", &value);
  widths = g_type_class_ref (spec->value_type);
  return g_str_equal (g_enum_get_value (widths, g_value_get_enum (&value))->value_nick, "int32")
             ? HR_INT32
             : HR_INT64;
}

void
hr_token_form_init (HrTokenForm *form, HrElement *element)
{
  HrElement *tokens =
      hr_element_walk_upstream (element, end_at_property, (gpointer) "position-rows");
  HrDType dtype = tokens != NULL ? read_width (tokens) : HR_INT64;
  guint64 planes = 3;

  if (tokens != NULL)
    g_object_get (tokens, "position-rows", &planes, NULL);
  *form = (HrTokenForm){ .fixed = tokens != NULL, .planes = (guint)planes };
  for (guint i = 0; i < HR_N_TOKEN_FIELDS; i++) {
    form->has[i] = TRUE;
    form->dtypes[i] = i == HR_TOKENS_TYPES ? HR_INT32 : dtype;
  }
}

/* ---- from samples ---- */

static void
read_form (HrTokenForm *form, const HrBuffer *sample)
{
  HrTensor *positions = hr_buffer_get_tensor (sample, "position_ids");

  for (guint i = 0; i < HR_N_TOKEN_FIELDS; i++) {
    HrTensor *tensor = hr_buffer_get_tensor (sample, hr_token_fields[i]);

    form->has[i] = tensor != NULL;
    if (tensor != NULL)
      form->dtypes[i] = hr_tensor_get_dtype (tensor);
  }
  if (positions != NULL && hr_tensor_get_n_dims (positions) == 2)
    form->planes = (guint)hr_tensor_get_dim (positions, 0);
  form->fixed = TRUE;
}

static gboolean
check_field (const HrTokenForm *form, const HrBuffer *sample, guint field, GError **error)
{
  const char *name = hr_token_fields[field];
  HrTensor *tensor = hr_buffer_get_tensor (sample, name);
  guint dim = field == HR_TOKENS_POSITIONS ? 1 : 0;
  HrDType dtype;

  if ((tensor != NULL) != form->has[field]) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "a sample has %s \"%s\", unlike those before it: tokenize gives it to all",
                 tensor != NULL ? "a" : "no", name);
    return FALSE;
  }
  if (tensor == NULL)
    return TRUE;
  dtype = hr_tensor_get_dtype (tensor);
  if (dtype.code != HR_DTYPE_INT || dtype.lanes != 1 || (dtype.bits != 32 && dtype.bits != 64)
      || dtype.bits != form->dtypes[field].bits || !hr_tensor_is_contiguous (tensor)
      || hr_tensor_get_n_dims (tensor) != dim + 1
      || (dim == 1 && hr_tensor_get_dim (tensor, 0) != form->planes)
      || hr_tensor_get_dim (tensor, dim) != hr_tokens_count (sample)) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "a sample's \"%s\" is not the int%u %s that those before it have, of a number for "
                 "each of its %" G_GINT64_FORMAT " input_ids",
                 name, form->dtypes[field].bits, dim == 1 ? "[rows, length]" : "[length]",
                 hr_tokens_count (sample));
    return FALSE;
  }
  return TRUE;
}

gboolean
hr_token_form_check (HrTokenForm *form, const HrBuffer *sample, GError **error)
{
  HrTensor *ids = hr_buffer_get_tensor (sample, "input_ids");

  if (ids == NULL || hr_tensor_get_n_dims (ids) != 1 || hr_tensor_get_dim (ids, 0) < 1) {
    g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                         "a sample has no \"input_ids\" of one or more tokens: put tokenize before "
                         "a batch that is padded or packed");
    return FALSE;
  }
  if (!form->fixed)
    read_form (form, sample);
  for (guint i = 0; i < HR_N_TOKEN_FIELDS; i++)
    if (!check_field (form, sample, i, error))
      return FALSE;
  return TRUE;
}

gint64
hr_tokens_count (const HrBuffer *sample)
{
  return hr_tensor_get_dim (hr_buffer_get_tensor (sample, "input_ids"), 0);
}

gint64
hr_tokens_count_images (const HrBuffer *sample)
{
  HrTensor *types = hr_buffer_get_tensor (sample, "mm_token_type_ids");
  gint64 n = 0;

  if (types == NULL)
    return 0;
  for (gint64 i = 0; i < hr_tensor_get_dim (types, 0); i++)
    if (hr_tensor_get_dtype (types).bits == 32)
      n += ((const gint32 *)hr_tensor_get_data (types))[i] != 0;
    else
      n += ((const gint64 *)hr_tensor_get_data (types))[i] != 0;
  return n;
}
