/* every row that transformers and qwen-vl-utils were asked for, and the errors */
#include <string.h>
#include "hr-error.h"
#include "image-test.h"
#include "smart-resize.h"

static guint
check_rows (HrSmartResizeMode mode, const char *member)
{
  g_autoptr (JsonNode) root = image_test_json ("golden/smart_resize.json");
  JsonArray *rows = json_object_get_array_member (json_node_get_object (root), "image");
  guint refused = 0;
  g_assert_cmpuint (json_array_get_length (rows), ==, 1348);
  for (guint i = 0; i < json_array_get_length (rows); i++) {
    JsonObject *row = json_array_get_object_element (rows, i);
    HrSmartResize rule = { mode, json_object_get_int_member (row, "factor"),
                           json_object_get_int_member (row, "min"),
                           json_object_get_int_member (row, "max") };
    guint32 h = json_object_get_int_member (row, "h"), w = json_object_get_int_member (row, "w");
    gint64 out_h = -1, out_w = -1;
    gboolean ok = hr_smart_resize_compute (&rule, h, w, &out_h, &out_w);
    if (json_object_get_null_member (row, member)) {
      g_assert_false (ok);
      refused++;
      continue;
    }
    JsonArray *expected = json_object_get_array_member (row, member);
    g_assert_true (ok);
    g_assert_cmpint (out_h, ==, json_array_get_int_element (expected, 0));
    g_assert_cmpint (out_w, ==, json_array_get_int_element (expected, 1));
    /* the checked form: the same, or an error where a side vanishes */
    gint32 checked_h, checked_w;
    g_autoptr (GError) error = NULL;
    if (hr_smart_resize (&rule, h, w, &checked_h, &checked_w, &error)) {
      g_assert_cmpint (checked_h, ==, out_h);
      g_assert_cmpint (checked_w, ==, out_w);
    } else {
      g_assert_true (out_h == 0 || out_w == 0);
      image_test_assert_kind (error, "aspect-ratio");
    }
  }
  return refused;
}

static void
test_hf (void)
{
  g_assert_cmpuint (check_rows (HR_SMART_RESIZE_HF, "hf"), >, 0);
}

static void
test_qwen_vl_utils (void)
{
  g_assert_cmpuint (check_rows (HR_SMART_RESIZE_QWEN_VL_UTILS, "qvu"), >, 0);
}

/* Exact quotients, where another order of the divisions ends one step away: Python's
 * math.floor(h / beta / factor) * factor and math.ceil(h * beta / factor) * factor. */
static void
test_order (void)
{
  static const struct {
    guint32 h, w, factor;
    guint64 min, max;
    gint64 out_h, out_w;
  } rows[] = {
    { 3136, 6860, 28, 1, 3951360, 1344, 2940 },  { 6426, 4284, 14, 1, 857304, 1134, 756 },
    { 14616, 406, 14, 1, 1192464, 6552, 182 },   { 7406, 11592, 14, 1, 27426672, 4186, 6538 },
    { 3822, 196, 14, 1, 137592, 1638, 84 },      { 135, 9, 28, 11760, 1 << 30, 420, 28 },
    { 114, 3, 14, 7448, 1 << 30, 532, 14 },      { 174, 783, 14, 3841992, 1 << 30, 938, 4158 },
    { 152, 665, 14, 219520, 1 << 30, 238, 994 }, { 35, 190, 28, 10218656, 1 << 30, 1372, 7476 }
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    HrSmartResize rule = { HR_SMART_RESIZE_HF, rows[i].factor, rows[i].min, rows[i].max };
    gint64 h, w;
    g_assert_true (hr_smart_resize_compute (&rule, rows[i].h, rows[i].w, &h, &w));
    g_assert_cmpint (h, ==, rows[i].out_h);
    g_assert_cmpint (w, ==, rows[i].out_w);
  }
}

/* sizes and messages of case 04 */
static void
test_aspect (void)
{
  g_autoptr (JsonNode) root = image_test_json ("cases/04-aspect-over-200/case.json");
  JsonArray *images = json_object_get_array_member (
      json_object_get_object_member (json_node_get_object (root), "expected"), "images");
  static const char *const settings[] = { "default", "min-pixels=4096 max-pixels=262144" };
  const HrSmartResize rules[] = { { HR_SMART_RESIZE_HF, 32, 65536, 16777216 },
                                  { HR_SMART_RESIZE_HF, 32, 4096, 262144 } };
  for (guint i = 0; i < json_array_get_length (images); i++) {
    JsonObject *o = json_array_get_object_element (images, i);
    const char *name = json_object_get_string_member (o, "file");
    guint32 w = json_object_get_int_member (o, "width"),
            h = json_object_get_int_member (o, "height");
    for (guint r = 0; r < 2; r++) {
      g_autoptr (GError) error = NULL;
      gint32 out_h, out_w;
      gboolean ok = hr_smart_resize (&rules[r], h, w, &out_h, &out_w, &error);
      g_assert_true (ok == json_object_get_boolean_member (o, "delivered"));
      if (ok) {
        JsonArray *hw = json_object_get_array_member (
            json_object_get_object_member (o, settings[r]), "resized_hw");
        g_assert_cmpint (out_h, ==, json_array_get_int_element (hw, 0));
        g_assert_cmpint (out_w, ==, json_array_get_int_element (hw, 1));
        continue;
      }
      JsonObject *expected = json_object_get_object_member (o, "error");
      JsonArray *names = json_object_get_array_member (expected, "message_names");
      image_test_assert_kind (error, json_object_get_string_member (expected, "kind"));
      for (guint k = 0; k < json_array_get_length (names); k++) {
        const char *part = json_array_get_string_element (names, k);
        if (!g_str_equal (part, name) && strstr (error->message, part) == NULL)
          g_error ("\"%s\" does not name \"%s\"", error->message, part);
      }
    }
  }
}

static void
test_huge (void)
{
  HrSmartResize rule = { HR_SMART_RESIZE_HF, 32, G_GUINT64_CONSTANT (1) << 50,
                         G_GUINT64_CONSTANT (1) << 52 };
  g_autoptr (GError) error = NULL;
  gint32 h, w;
  g_assert_false (hr_smart_resize (&rule, 10, 10, &h, &w, &error));
  image_test_assert_kind (error, "image-too-large");
}

/* a turned image has the same sides, turned: sizes may be told without its orientation */
static void
test_turned (void)
{
  for (guint i = 0; i < 20000; i++) {
    HrSmartResize rule = { g_test_rand_bit () ? HR_SMART_RESIZE_HF : HR_SMART_RESIZE_QWEN_VL_UTILS,
                           (guint)g_test_rand_int_range (1, 64),
                           (guint64)g_test_rand_int_range (1, 500000), 0 };
    guint32 height = (guint32)g_test_rand_int_range (1, 5000);
    guint32 width = (guint32)g_test_rand_int_range (1, 5000);
    gint32 h, w, turned_h, turned_w;
    gboolean good;

    rule.max_pixels = rule.min_pixels + (guint64)g_test_rand_int_range (0, 3000000);
    good = hr_smart_resize (&rule, height, width, &h, &w, NULL);
    g_assert_cmpint (hr_smart_resize (&rule, width, height, &turned_h, &turned_w, NULL), ==, good);
    if (good) {
      g_assert_cmpint (h, ==, turned_w);
      g_assert_cmpint (w, ==, turned_h);
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/smart-resize/hf", test_hf);
  g_test_add_func ("/smart-resize/qwen-vl-utils", test_qwen_vl_utils);
  g_test_add_func ("/smart-resize/order", test_order);
  g_test_add_func ("/smart-resize/aspect", test_aspect);
  g_test_add_func ("/smart-resize/huge", test_huge);
  g_test_add_func ("/smart-resize/turned", test_turned);
  return g_test_run ();
}
