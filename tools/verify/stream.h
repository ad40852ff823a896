/* stream.h: samples and what was left out, written for another program to read */
#pragma once
#include <gio/gio.h>
#include "headrace.h"

/*
 * A line of JSON each; behind a sample's line its tensors' bytes, little endian, one after the
 * other, in the order of "tensors":
 *   {"sample": {"number", "uri", "byte", "length", "line", "id",
 *               "tensors": [{"name", "dtype", "shape"}]}}
 *   {"left-out": {"element", "dropped", "kind", "message", "uri", "line"}}
 */
gboolean verify_write_sample (GOutputStream *out, const HrBuffer *sample, GError **error);
gboolean verify_write_left_out (GOutputStream *out, const HrMessage *message, GError **error);
/* {@name: @value} as a line; takes @value */
gboolean verify_write_member (GOutputStream *out, const char *name, JsonNode *value,
                              GError **error);
