/* fuzz-json.c: one line of JSON from a stranger, then the record in it */
#include "json-scan.h"
#include "record.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
read_record (const HrJson *json, guint root, const HrRecordRules *rules)
{
  g_auto (HrRecord) record = { 0 };
  G_GNUC_UNUSED g_autofree char *id = hr_record_dup_id (json, root);
  g_autoptr (GError) error = NULL;

  if (!hr_record_read (json, root, rules, &record, &error))
    g_assert_nonnull (error);
  else if (!record.left_out)
    g_assert_cmpuint (record.links->len, ==, record.targets->len);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static HrJson json;
  HrRecordRules rules = { 0 };
  gsize offset = 0;
  g_autoptr (GError) error = NULL;

  /* the first byte chooses the rules */
  if (size == 0)
    return 0;
  rules.strip = data[0] & 1;
  rules.missing_placeholder = data[0] >> 1 & 1;
  rules.video = data[0] >> 2 & 1;
  rules.late_system = data[0] >> 3 & 3;
  rules.late_system = MIN (rules.late_system, HR_LATE_SYSTEM_KEEP);
  if (hr_json_scan (&json, (const char *)data + 1, size - 1, 64, &offset, &error)) {
    JsonNode *node = hr_json_to_node (&json, 0);

    g_clear_pointer (&node, json_node_unref);
    g_assert_no_error (error);
    g_assert_true (g_utf8_validate ((const char *)data + 1, (gssize)size - 1, NULL)
                   || memchr (data + 1, 0, size - 1));
    read_record (&json, 0, &rules);
    if (hr_json_type (&json, 0) == HR_JSON_ARRAY)
      for (guint item = hr_json_first (&json, 0); item != 0; item = hr_json_next (&json, 0, item))
        read_record (&json, item, &rules);
  } else {
    g_assert_nonnull (error);
    g_assert_cmpuint (offset, <=, size - 1);
  }
  return 0;
}
