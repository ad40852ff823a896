/* s3-xml.c */
#include "s3-xml.h"

void
hr_s3_xml_on_text (GMarkupParseContext *context G_GNUC_UNUSED, const char *text, gsize length,
                   gpointer data, GError **error G_GNUC_UNUSED)
{
  g_string_append_len (((HrS3Xml *)data)->text, text, length);
}

void
hr_s3_xml_take (char **field, const char *value)
{
  g_free (*field);
  *field = *value ? g_strdup (value) : NULL;
}
