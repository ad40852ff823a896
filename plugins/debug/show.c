/* show.c: a buffer in one line, for people */
#include "show.h"

static void
show_tensor (GString *line, const HrTensor *tensor)
{
  const gint64 *shape = hr_tensor_get_shape (tensor);

  g_string_append_printf (line, "%s [", hr_dtype_get_name (hr_tensor_get_dtype (tensor)));
  for (guint i = 0; i < hr_tensor_get_n_dims (tensor); i++)
    g_string_append_printf (line, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", shape[i]);
  g_string_append_c (line, ']');
}

static void
show_text (GString *line, const char *text)
{
  const glong most = 40;

  if (g_utf8_strlen (text, -1) > most) {
    g_autofree char *start = g_utf8_substring (text, 0, most);

    g_string_append_printf (line, "\"%s…\"", start);
  } else {
    g_string_append_printf (line, "\"%s\"", text);
  }
}

static void
show_list (GString *line, const HrList *list)
{
  guint n = hr_list_get_length (list);

  g_string_append_printf (line, "%u items", n);
  for (guint i = 0; i < MIN (n, 4); i++) {
    g_string_append (line, i == 0 ? ": " : ", ");
    if (hr_list_get_tensor (list, i) != NULL)
      show_tensor (line, hr_list_get_tensor (list, i));
    else if (hr_list_get_string (list, i) != NULL)
      show_text (line, hr_list_get_string (list, i));
    else
      g_string_append (line, "json");
  }
  if (n > 4)
    g_string_append (line, ", …");
}

static void
show_field (GString *line, const HrBuffer *buffer, guint index)
{
  HrFieldType type;
  const char *name = hr_buffer_get_field (buffer, index, &type);

  g_string_append_printf (line, "; %s: ", name);
  switch (type) {
  case HR_FIELD_TENSOR:
    show_tensor (line, hr_buffer_get_tensor (buffer, name));
    break;
  case HR_FIELD_LIST:
    show_list (line, hr_buffer_get_list (buffer, name));
    break;
  case HR_FIELD_JSON:
    g_string_append (line, "json");
    break;
  case HR_FIELD_STRING:
    show_text (line, hr_buffer_get_string (buffer, name));
    break;
  }
}

/* a line without its end; (transfer full) */
char *
show_buffer (const HrBuffer *buffer)
{
  GString *line = g_string_new (NULL);
  const HrOrigin *origin = hr_buffer_get_origin (buffer);
  guint n_members = hr_buffer_get_n_members (buffer);

  g_string_printf (line, "number %" G_GINT64_FORMAT " sample %" G_GINT64_FORMAT " epoch %u",
                   buffer->number, buffer->sample, buffer->epoch);
  if (origin != NULL) {
    g_autofree char *text = hr_origin_to_string (origin);

    g_string_append_printf (line, " %s", text);
  }
  if (buffer->flags & HR_BUFFER_HOLE)
    g_string_append (line, " hole");
  if (hr_buffer_get_error (buffer) != NULL)
    g_string_append_printf (line, " (%s)", hr_buffer_get_error (buffer)->message);
  if (n_members > 0) {
    guint n_holes = 0;

    for (guint i = 0; i < n_members; i++)
      n_holes += (hr_buffer_get_member (buffer, i)->flags & HR_BUFFER_HOLE) != 0;
    g_string_append_printf (line, " batch of %u", n_members - n_holes);
    if (n_holes > 0)
      g_string_append_printf (line, " and %u skipped", n_holes);
  }
  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++)
    show_field (line, buffer, i);
  return g_string_free (line, FALSE);
}
