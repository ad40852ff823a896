/* wire-bytes.h: the atoms of a description: numbers in little-endian order, texts with their
 * length */
#pragma once
#include <json-glib/json-glib.h>

G_BEGIN_DECLS

void hr_wire_put_u8 (GByteArray *into, guint8 value);
void hr_wire_put_u16 (GByteArray *into, guint16 value);
void hr_wire_put_u32 (GByteArray *into, guint32 value);
void hr_wire_put_u64 (GByteArray *into, guint64 value);
void hr_wire_put_i64 (GByteArray *into, gint64 value);
/* NULL is told apart from "" */
void hr_wire_put_text (GByteArray *into, const char *text);
/* a tree; FALSE: deeper than anybody reads */
gboolean hr_wire_put_json (GByteArray *into, JsonNode *node, GError **error);

/**
 * HrWireBytes:
 *
 * A description while it is read. What is read behind its end, or is not what was expected, is 0,
 * and the first mistake is kept: who reads looks at it before believing a number.
 */
typedef struct {
  const guint8 *bytes;
  gsize size;
  gsize at;
  GError *error; /* the first mistake */
} HrWireBytes;

guint8 hr_wire_get_u8 (HrWireBytes *from);
guint16 hr_wire_get_u16 (HrWireBytes *from);
guint32 hr_wire_get_u32 (HrWireBytes *from);
guint64 hr_wire_get_u64 (HrWireBytes *from);
gint64 hr_wire_get_i64 (HrWireBytes *from);
/* how many of something follow, each of at least @least bytes: never more than there is room for */
guint hr_wire_get_count (HrWireBytes *from, gsize least, const char *of);
/* (transfer full) (nullable): without NUL inside; of any encoding, as it was sent */
char *hr_wire_get_text (HrWireBytes *from);
/* (transfer full) (nullable): NULL only after a mistake */
JsonNode *hr_wire_get_json (HrWireBytes *from);
/* the first mistake; "byte 17 of the description: …" */
void hr_wire_fail (HrWireBytes *from, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* FALSE with the error, also if bytes are left */
gboolean hr_wire_finish (HrWireBytes *from, GError **error);

G_END_DECLS
