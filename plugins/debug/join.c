/* join.c: many inputs to one */
#include "headrace.h"

typedef struct {
  gint mode;
} Join;

static const char *const modes[] = { "zip", "concat", "any", NULL };

static const HrProp props[] = {
  HR_PROP_ENUM (
      Join, mode, modes, HR_JOIN_ZIP,
      "zip: one buffer of each input, merged; ends with the first input that ends. concat: "
      "one input after the other; ends when all have. any: whatever comes; ends when all "
      "have",
      .flags = HR_PROP_STREAM),
  HR_PROP_END
};

static HrJoin
join_join (gconstpointer data)
{
  return (HrJoin)((const Join *)data)->mode;
}

static gboolean
has_field (const HrBuffer *buffer, const char *name)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (buffer); i++)
    if (g_str_equal (hr_buffer_get_field (buffer, i, NULL), name))
      return TRUE;
  return FALSE;
}

/* What came to all inputs through a tee is the same in all; what is not is refused by the parser.
 */
static void
add_missing (HrBuffer *buffer, const HrBuffer *from)
{
  for (guint i = 0; i < hr_buffer_get_n_fields (from); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (from, i, &type);

    if (has_field (buffer, name))
      continue;
    switch (type) {
    case HR_FIELD_TENSOR:
      hr_buffer_set_tensor (buffer, name, hr_tensor_ref (hr_buffer_get_tensor (from, name)));
      break;
    case HR_FIELD_LIST:
      hr_buffer_set_list (buffer, name, hr_list_ref (hr_buffer_get_list (from, name)));
      break;
    case HR_FIELD_JSON:
      hr_buffer_set_json (buffer, name, json_node_ref (hr_buffer_get_json (from, name)));
      break;
    case HR_FIELD_STRING:
      hr_buffer_set_string (buffer, name, hr_buffer_get_string (from, name));
      break;
    }
  }
}

static HrBuffer *
join_merge (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED, HrBuffer **in,
            guint n_in, GError **error G_GNUC_UNUSED)
{
  HrBuffer *merged = n_in > 1 ? hr_buffer_make_writable (in[0]) : in[0];

  for (guint i = 1; i < n_in; i++) {
    add_missing (merged, in[i]);
    hr_buffer_unref (in[i]);
  }
  return merged;
}

HR_ELEMENT (
    join, Join, .summary = "Make one stream of several",
    .description =
        "zip merges the fields of the buffers that have the same place on their links; where "
        "one of them is a hole, the outcome is a hole. concat and any pass buffers on as they "
        "come, with new numbers; any is not ordered between its inputs. See docs/grammar.md.",
    .examples =
        (const char *const[]){
            "join name=j mode=any ! fakesink fakesrc num-buffers=3 size=0 ! j. fakesrc "
            "num-buffers=2 "
            "size=0 ! j.",
            "join name=j mode=concat ! fakesink fakesrc num-buffers=3 ! j. fakesrc num-buffers=5 "
            "! j.",
            "fakesrc num-buffers=9 ! tee name=t t. ! identity ! join name=j ! fakesink t. ! j.",
            NULL },
    .props = props, .light = TRUE, .join = join_join, .merge = join_merge)
