/* a consumer proposes an allocator, and who writes the field uses it: nothing is copied */
#include "propose-writers.h"
#include "small.h"
#include <string.h>
#include "hr-memfd.h"
#include "hr-registry.h"

/* ---- an allocator that knows its blocks ---- */

typedef struct {
  HrAllocator parent;
  guint limit; /* blocks, then there is no memory */
  gint blocks; /* that exist */
  gint made;
} Counted;

static gint n_counted; /* allocators that exist */
static gint n_made;    /* blocks, of all of them */

static gboolean
counted_alloc (HrAllocator *allocator, HrMemory *memory, gsize size, GError **error)
{
  Counted *counted = (Counted *)allocator;

  if ((guint)g_atomic_int_add (&counted->made, 1) >= counted->limit) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY, "%s: no block is left",
                 allocator->name);
    return FALSE;
  }
  memory->data = g_malloc (MAX (size, 1));
  memory->capacity = size;
  g_atomic_int_inc (&counted->blocks);
  g_atomic_int_inc (&n_made);
  return TRUE;
}

static void
counted_free (HrAllocator *allocator, HrMemory *memory)
{
  g_atomic_int_add (&((Counted *)allocator)->blocks, -1);
  g_free (memory->data);
}

static void
counted_finalize (HrAllocator *allocator)
{
  g_assert_cmpint (((Counted *)allocator)->blocks, ==, 0);
  g_atomic_int_add (&n_counted, -1);
  g_free (allocator);
}

static HrAllocator *
counted_new (const char *name, guint limit)
{
  Counted *counted = g_new0 (Counted, 1);

  hr_allocator_init (&counted->parent, name);
  counted->parent.alloc = counted_alloc;
  counted->parent.free = counted_free;
  counted->parent.finalize = counted_finalize;
  counted->limit = limit;
  g_atomic_int_inc (&n_counted);
  return &counted->parent;
}

/* ---- a consumer ---- */

typedef struct {
  char *field; /* "a" or "a,b" or "*" */
  guint64 limit;
  gboolean memfd;
} Wants;

typedef struct {
  HrAllocator *allocator;
  HrBuffer *kept;
} WantsState;

static HrBuffer *kept; /* the last that came to any; taken by the test */
static gboolean keeps;

static const HrProp wants_props[] = {
  HR_PROP_STRING (Wants, field, NULL, "What it proposes for"),
  HR_PROP_UINT (Wants, limit, 0, 1 << 20, 1 << 20, "Blocks that there are"),
  HR_PROP_BOOL (Wants, memfd, FALSE, "Memory that other processes can map"), HR_PROP_END
};

static gboolean
wants_start (gconstpointer data, gpointer shared, HrElement *element, GError **error G_GNUC_UNUSED)
{
  const Wants *self = data;
  WantsState *state = shared;
  g_auto (GStrv) fields = g_strsplit (self->field, ",", 0);

  state->allocator = self->memfd ? hr_allocator_memfd_new (1 << 20)
                                 : counted_new (g_intern_string (hr_element_get_name (element)),
                                                (guint)self->limit);
  for (guint i = 0; fields[i] != NULL; i++)
    hr_element_propose_allocator (element, fields[i], state->allocator);
  return TRUE;
}

static void
wants_stop (gconstpointer self G_GNUC_UNUSED, gpointer shared)
{
  g_clear_pointer (&((WantsState *)shared)->allocator, hr_allocator_unref);
}

/* every byte of a tensor is the number in its first */
static void
look_at (const WantsState *state, HrTensor *tensor, gboolean uniform, HrOut *out)
{
  const guint8 *data = hr_tensor_get_data (tensor);
  gsize size = hr_tensor_get_n_bytes (tensor);
  HrMemfdPlace place;

  for (gsize i = 0; uniform && i < size; i++)
    g_assert_cmpuint (data[i], ==, data[0]);
  if (!hr_memory_is_from (hr_tensor_get_memory (tensor), state->allocator))
    hr_out_count_copy (out, size);
  else if (strcmp (state->allocator->name, "memfd") == 0)
    g_assert_true (hr_memory_get_memfd (hr_tensor_get_memory (tensor), &place)
                   && place.offset + size <= place.length);
}

static gboolean
wants_consume (gconstpointer data, gpointer worker, HrBuffer *in, HrOut *out,
               GError **error G_GNUC_UNUSED)
{
  const Wants *self = data;
  WantsState *state = worker;

  for (guint i = 0; i < hr_buffer_get_n_fields (in); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (in, i, &type);
    gboolean uniform = !g_str_equal (name, "image_cu") && !g_str_equal (name, "image_targets")
                       && !g_str_equal (name, "input_ids");

    if (g_str_equal (self->field, "*") ? !uniform : strstr (self->field, name) == NULL)
      continue;
    if (type == HR_FIELD_TENSOR)
      look_at (state, hr_buffer_get_tensor (in, name), uniform, out);
    for (guint k = 0;
         type == HR_FIELD_LIST && k < hr_list_get_length (hr_buffer_get_list (in, name)); k++)
      look_at (state, hr_list_get_tensor (hr_buffer_get_list (in, name), k), uniform, out);
  }
  if (keeps) {
    g_clear_pointer (&kept, hr_buffer_unref);
    kept = in;
  } else {
    hr_buffer_unref (in);
  }
  return TRUE;
}

HR_ELEMENT (wants, Wants, .summary = "Proposes", .props = wants_props,
            .shared_size = sizeof (WantsState), .start = wants_start, .stop = wants_stop,
            .consume = wants_consume)

/* ---- running ---- */

/* (transfer full): the stats of a run of @text in a mode */
static JsonNode *
run (const char *mode, const char *text)
{
  SmallLive live = small_live ();
  gboolean serial = g_str_equal (mode, "serial=true");
  g_autoptr (GString) whole = g_string_new (serial ? "serial=true " : "");
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  g_autofree char *stats = NULL;
  HrGateStats memory;

  g_string_append (whole, text);
  g_string_replace (whole, "WORKERS", serial ? "" : mode, 0);
  pipeline = hr_parse_launch (whole->str, &error);
  g_assert_no_error (error);
  n_made = 0;
  small_run (pipeline);
  stats = hr_pipeline_get_stats (pipeline);
  hr_gate_get_stats (pipeline->memory, &memory);
  g_assert_cmpuint (memory.used, ==, 0);
  g_clear_object (&pipeline);
  small_assert_live (live);
  g_assert_cmpint (n_counted, ==, 0);
  return json_from_string (stats, NULL);
}

static JsonObject *
element_of (JsonNode *stats, const char *name)
{
  JsonArray *elements = json_object_get_array_member (json_node_get_object (stats), "elements");

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    if (g_str_equal (json_object_get_string_member (element, "name"), name))
      return element;
  }
  g_assert_not_reached ();
}

static void
assert_copied (JsonNode *stats, const char *name, gint64 bytes)
{
  g_assert_cmpint (json_object_get_int_member (element_of (stats, name), "bytes_copied"), ==,
                   bytes);
}

/* @allocator NULL: none was proposed */
static void
assert_allocator (JsonNode *stats, const char *name, const char *field, const char *allocator)
{
  JsonObject *element = element_of (stats, name);
  JsonObject *all = json_object_has_member (element, "allocators")
                        ? json_object_get_object_member (element, "allocators")
                        : NULL;

  if (allocator == NULL)
    g_assert_true (all == NULL || !json_object_has_member (all, field));
  else
    g_assert_cmpstr (json_object_get_string_member (all, field), ==, allocator);
}

static const char *const modes[] = { "workers=1", "workers=4", "serial=true" };

/* ---- the cases ---- */

/* the consumer copies @copied bytes, and @made blocks are of its allocator, in all modes; @at gives
 * the field from it, and @not does not, if there are such */
typedef struct {
  const char *path;
  const char *text;
  gint64 copied;
  gint made;
  const char *field, *at, *not ;
} Case;

#define N N_SAMPLES
static const Case cases[] = {
  { "source", "writes ! wants name=w field=a", 0, N, "a", "writes0", NULL },
  { "other-field", "writes ! wants name=w field=b", 0, N, "b", "writes0", NULL },
  { "not-there", "writes ! wants name=w field=c", 0, 0, "c", NULL, "writes0" },
  { "all-fields", "writes ! wants name=w field=*", 0, 2 * N, "a", "writes0", NULL },
  { "two-fields", "writes ! wants name=w field=b,a", 0, 2 * N, "b", "writes0", NULL },
  { "last-writer", "writes ! twice WORKERS ! wants name=w field=a", 0, N, "a", "twice0",
    "writes0" },
  { "past-others", "writes ! twice WORKERS ! wants name=w field=*", 0, 2 * N, "a", "twice0",
    "writes0" },
  { "passed-on", "writes ! identity WORKERS ! batch size=5 ! prefetchqueue ! wants name=w field=a",
    0, N, "a", "writes0", NULL },
  { "maybe-passed-on", "writes ! odd WORKERS ! wants name=w field=a", 0, N + N / 2, "a", "writes0",
    NULL },
  { "copier", "writes ! copies WORKERS ! wants name=w field=a", 0, N, "a", "copies0", "writes0" },
  { "copier-of-others", "writes ! copies WORKERS ! wants name=w field=b", 0, N, "b", "writes0",
    "copies0" },
  { "taken", "writes ! renames ! wants name=w field=a", 0, 0, "a", NULL, "writes0" },
  { "renamed", "writes ! renames ! wants name=w field=c", (gint64)N *A_BYTES, 0, "c", "renames0",
    "writes0" },
  { "wrapped", "writes ! wraps WORKERS ! wants name=w field=a", (gint64)N *A_BYTES, 0, "a",
    "wraps0", "writes0" },
  { "asynchronous", "writes ! flies ! wants name=w field=a", 0, N, "a", "flies0", "writes0" },
  { "tee-first", "writes ! tee name=t t. ! wants name=w field=a t. ! fakesink", 0, N, "a",
    "writes0", NULL },
  { "tee-second", "writes ! tee name=t t. ! fakesink t. ! wants name=w field=a", 0, N, "a",
    "writes0", NULL },
  { "tee-behind-writer",
    "writes ! tee name=t t. ! twice WORKERS ! fakesink t. ! wants name=w field=a", 0, N, "a",
    "writes0", "twice0" },
  { "join",
    "writes ! tee name=t t. ! identity ! j. t. ! identity WORKERS ! j. "
    "join name=j mode=concat ! wants name=w field=a",
    0, N, "a", "writes0", NULL },
  { "two-sources", "writes ! j. writes ! j. join name=j mode=any ! wants name=w field=a", 0, 2 * N,
    "a", "writes1", NULL },
  { "batch-list", "tokens ! batch size=4 ! wants name=w field=input_ids", 0, N, "input_ids",
    "tokens0", NULL },
  { "batch-padded", "tokens ! batch size=4 mode=padded ! wants name=w field=input_ids", 0, N / 4,
    "input_ids", "batch0", "tokens0" },
  { "batch-packed", "tokens ! batch mode=packed max-tokens=20 ! wants name=w field=input_ids", 0,
    N / 4, "input_ids", "batch0", "tokens0" },
  { "resize",
    "bmps ! imagedecode WORKERS ! resize WORKERS min-pixels=1024 ! wants name=w field=images", 0,
    /* one of two is passed on by resize, and imagedecode wrote it; the other one both wrote */
    3 * N, "images", "resize0", NULL },
  { "resize-batch",
    "bmps ! imagedecode WORKERS ! resize WORKERS min-pixels=1024 ! batch size=4 ! "
    "prefetchqueue ! identity WORKERS ! wants name=w field=images",
    0, 3 * N, "images", "resize0", NULL },
  { "resize-tee",
    "bmps ! imagedecode WORKERS ! resize WORKERS min-pixels=1024 ! batch size=4 ! tee name=t "
    "t. ! patchify WORKERS ! fakesink t. ! prefetchqueue ! wants name=w field=images",
    0, 3 * N, "images", "imagedecode0", NULL },
  { "resize-memfd",
    "bmps ! imagedecode WORKERS ! resize WORKERS min-pixels=1024 ! batch size=4 ! "
    "prefetchqueue ! wants name=memfd field=images memfd=true",
    0, 0, "images", "resize0", NULL },
};
#undef N

static void
test_case (gconstpointer data)
{
  const Case *one = data;
  const char *sink = strstr (one->text, "name=memfd") != NULL ? "memfd" : "w";

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autoptr (JsonNode) stats = run (modes[i], one->text);

    assert_copied (stats, sink, one->copied);
    g_assert_cmpint (n_made, ==, one->made);
    if (one->at != NULL)
      assert_allocator (stats, one->at, one->field, sink);
    if (one->not != NULL)
      assert_allocator (stats, one->not, one->field, NULL);
  }
}

/* two want the same field: the first branch gets it, the other copies; each its own otherwise */
static void
test_two_proposals (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autoptr (JsonNode) same =
        run (modes[i], "writes ! tee name=t t. ! identity WORKERS ! wants name=v field=a "
                       "t. ! wants name=w field=a");
    g_autoptr (JsonNode) other =
        run (modes[i], "writes ! tee name=t t. ! wants name=v field=a t. ! wants name=w field=*");

    assert_copied (same, "v", 0);
    assert_copied (same, "w", (gint64)N_SAMPLES * A_BYTES);
    assert_allocator (same, "writes0", "a", "v");
    assert_copied (other, "v", 0);
    assert_copied (other, "w", (gint64)N_SAMPLES * A_BYTES);
    assert_allocator (other, "writes0", "a", "v");
    assert_allocator (other, "writes0", "b", "w");
  }
}

/* what is proposed counts against the budget, and waits for it */
static void
test_budget (void)
{
  g_autoptr (JsonNode) stats =
      run ("workers=4", "memory=12000 writes ! twice WORKERS ! batch size=2 ! prefetchqueue "
                        "max-batches=8 ! identity sleep=1ms ! wants name=w field=*");
  gint64 peak = json_object_get_int_member (json_node_get_object (stats), "budget_peak_bytes");

  assert_copied (stats, "w", 0);
  /* at most the step in hand above what look-ahead may have */
  g_assert_cmpint (peak, >=, A_BYTES + B_BYTES);
  g_assert_cmpint (peak, <=, 12000 + 2 * (2 * A_BYTES + B_BYTES));
}

/* a block outlives the pipeline, and the allocator lives as long as it */
static void
test_lifetime (void)
{
  SmallLive live = small_live ();
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline =
      hr_parse_launch ("writes ! batch size=4 ! prefetchqueue ! wants name=w field=a", &error);
  HrTensor *tensor;

  g_assert_no_error (error);
  keeps = TRUE;
  small_run (pipeline);
  keeps = FALSE;
  g_object_unref (pipeline);
  g_assert_cmpint (n_counted, ==, 1);
  g_assert_cmpuint (hr_list_get_length (hr_buffer_get_list (kept, "a")), ==, 4);
  tensor = hr_list_get_tensor (hr_buffer_get_list (kept, "a"), 3);
  for (guint i = 0; i < A_BYTES; i++)
    g_assert_cmpuint (((guint8 *)hr_tensor_get_data (tensor))[i], ==, N_SAMPLES - 1);
  g_clear_pointer (&kept, hr_buffer_unref);
  g_assert_cmpint (n_counted, ==, 0);
  small_assert_live (live);
}

/* nothing is left: the run ends and says so; no byte stays reserved */
static void
test_no_memory (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    SmallLive live = small_live ();
    g_autofree char *text =
        g_strdup_printf ("%s writes ! wants name=w field=a limit=5",
                         g_str_equal (modes[i], "serial=true") ? modes[i] : "serial=false");
    g_autoptr (GError) error = NULL;
    HrPipeline *pipeline = hr_parse_launch (text, &error);
    g_autofree char *message = NULL;
    HrGateStats memory;

    g_assert_no_error (error);
    message = small_run_failing (pipeline, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY);
    g_assert_nonnull (strstr (message, "w: no block is left"));
    hr_gate_get_stats (pipeline->memory, &memory);
    g_assert_cmpuint (memory.used, ==, 0);
    g_object_unref (pipeline);
    small_assert_live (live);
  }
}

/* a view is of who made what it shows */
static void
test_is_from (void)
{
  g_autoptr (HrAllocator) one = counted_new ("one", 1), other = counted_new ("other", 1);
  g_autoptr (HrMemory) memory = hr_memory_new_from_allocator (one, 100, NULL);
  g_autoptr (HrMemory) view = hr_memory_view (memory, 10, 10);
  g_autoptr (HrMemory) inner = hr_memory_view (view, 1, 1);

  g_assert_true (hr_memory_is_from (memory, one) && hr_memory_is_from (inner, one));
  g_assert_false (hr_memory_is_from (memory, other) || hr_memory_is_from (inner, other));
}

int
main (int argc, char **argv)
{
  static const HrElementDef *const defs[] = {
    &hr_element_wants,   &hr_element_writes, &hr_element_twice, &hr_element_odd,
    &hr_element_copies,  &hr_element_wraps,  &hr_element_flies, &hr_element_tokens,
    &hr_element_renames, &hr_element_bmps,
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (defs); i++)
    hr_registry_add (defs[i]);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strconcat ("/propose/", cases[i].path, NULL);

    g_test_add_data_func (path, &cases[i], test_case);
  }
  g_test_add_func ("/propose/two-proposals", test_two_proposals);
  g_test_add_func ("/propose/budget", test_budget);
  g_test_add_func ("/propose/lifetime", test_lifetime);
  g_test_add_func ("/propose/no-memory", test_no_memory);
  g_test_add_func ("/propose/is-from", test_is_from);
  return g_test_run ();
}
