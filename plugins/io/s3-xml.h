/* s3-xml.h: what the readers of a server's documents have in common */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* the first field of each reader's own; @text: of the element at hand */
typedef struct {
  GString *text;
} HrS3Xml;

/* a #GMarkupParser's, whose data begins with an #HrS3Xml */
void hr_s3_xml_on_text (GMarkupParseContext *context, const char *text, gsize length, gpointer data,
                        GError **error);
/* the last of several counts; without any text there is none */
void hr_s3_xml_take (char **field, const char *value);

G_END_DECLS
