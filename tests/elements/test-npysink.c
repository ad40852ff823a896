/* npysink: names, the format's bytes, and what the JSON says */
#include <string.h>
#include "folder.h"
#include "hr-harness.h"

static HrTensor *
make_tensor (HrDType dtype, guint n_dims, const gint64 *shape)
{
  gsize size = (gsize)dtype.bits / 8;
  HrMemory *memory;

  for (guint i = 0; i < n_dims; i++)
    size *= (gsize)shape[i];
  memory = hr_memory_new (size);
  for (gsize i = 0; i < size; i++)
    memory->data[i] = (guint8)i;
  return hr_tensor_new (memory, 0, dtype, n_dims, shape);
}

static HrBuffer *
make_buffer (void)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrList *list = hr_list_new (0);
  GRefString *uri = g_ref_string_new ("s3://c/train/a.jsonl");
  HrOrigin *origin = hr_origin_new (uri, NULL, 5000, 123, 17);
  const gint64 shape[] = { 2, 3, 4 };

  origin->id = g_strdup ("sample-\"17\"");
  hr_buffer_set_origin (buffer, origin);
  g_ref_string_release (uri);
  hr_buffer_set_tensor (buffer, "matrix", make_tensor (HR_FLOAT32, 3, shape));
  hr_buffer_set_tensor (buffer, "vector", make_tensor (HR_INT64, 1, shape));
  hr_buffer_set_tensor (buffer, "scalar", make_tensor (HR_UINT8, 0, NULL));
  hr_buffer_set_tensor (buffer, "brain", make_tensor (HR_BFLOAT16, 2, shape));
  hr_list_append_tensor (list, make_tensor (HR_UINT8, 2, shape));
  hr_list_append_string (list, "between");
  hr_list_append_tensor (list, make_tensor (HR_UINT8, 1, shape));
  hr_buffer_set_list (buffer, "images", list);
  hr_buffer_set_json (buffer, "tree", json_from_string ("{\"a\": [1, null]}", NULL));
  hr_buffer_set_string (buffer, "text", "\303\244\"\n");
  return buffer;
}

static char *
run (const char *element, guint n)
{
  char *folder = folder_new ();
  g_autofree char *text = g_strdup_printf ("%s location=%s", element, folder);
  HrHarness *harness = hr_harness_new (text, 1);

  for (guint i = 0; i < n; i++)
    hr_harness_push (harness, make_buffer ());
  hr_harness_wait (harness);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
  return folder;
}

static void
assert_npy (const char *folder, const char *name, const char *header, gsize n_bytes)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *content = NULL;
  gsize length, header_length;

  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpmem (content, 8, "\x93NUMPY\1\0", 8);
  header_length = (gsize)(guint8)content[8] + 256 * (gsize)(guint8)content[9];
  g_assert_cmpuint ((10 + header_length) % 64, ==, 0);
  g_assert_cmpuint (length, ==, 10 + header_length + n_bytes);
  g_assert_true (strncmp (content + 10, header, strlen (header)) == 0);
  g_assert_cmpuint (strspn (content + 10 + strlen (header), " "), ==,
                    header_length - strlen (header) - 1);
  g_assert_cmpint (content[10 + header_length - 1], ==, '\n');
  for (gsize i = 0; i < n_bytes; i++)
    g_assert_cmpuint ((guint8)content[10 + header_length + i], ==, (guint8)i);
}

static void
test_names (void)
{
  char *folder = run ("npysink", 2);
  g_autoptr (GPtrArray) names = folder_list (folder);
  const char *expected[] = { "000000.brain.npy",    "000000.images.0.npy", "000000.images.2.npy",
                             "000000.json",         "000000.matrix.npy",   "000000.scalar.npy",
                             "000000.vector.npy",   "000001.brain.npy",    "000001.images.0.npy",
                             "000001.images.2.npy", "000001.json",         "000001.matrix.npy",
                             "000001.scalar.npy",   "000001.vector.npy" };

  g_assert_cmpuint (names->len, ==, G_N_ELEMENTS (expected));
  for (guint i = 0; i < names->len; i++)
    g_assert_cmpstr (names->pdata[i], ==, expected[i]);
  folder_remove (folder);
}

static void
test_npy (void)
{
  char *folder = run ("npysink", 1);

  assert_npy (folder, "000000.matrix.npy",
              "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", 96);
  assert_npy (folder, "000000.vector.npy",
              "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", 16);
  assert_npy (folder, "000000.scalar.npy",
              "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1);
  assert_npy (folder, "000000.brain.npy",
              "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }", 12);
  assert_npy (folder, "000000.images.0.npy",
              "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 6);
  folder_remove (folder);
}

static JsonNode *
read_json (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;
  JsonNode *node;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  node = json_from_string (content, &error);
  g_assert_no_error (error);
  return node;
}

static void
assert_json (JsonNode *actual, const char *expected)
{
  g_autoptr (JsonNode) node = json_from_string (expected, NULL);

  g_assert_nonnull (node);
  if (!json_node_equal (actual, node)) {
    g_autofree char *text = json_to_string (actual, TRUE);

    g_error ("%s\nis not %s", text, expected);
  }
}

static void
test_json (void)
{
  char *folder = run ("npysink", 2);
  g_autoptr (JsonNode) json = read_json (folder, "000001.json");

  assert_json (
      json,
      "{\"index\": 1, \"epoch\": 0, \"step\": 1, \"sample\": 1, \"id\": \"sample-\\\"17\\\"\","
      " \"uri\": \"s3://c/train/a.jsonl\", \"byte\": 5000, \"length\": 123, \"line\": 17,"
      " \"fields\": {\"matrix\": {\"dtype\": \"float32\", \"shape\": [2, 3, 4]},"
      "  \"vector\": {\"dtype\": \"int64\", \"shape\": [2]},"
      "  \"scalar\": {\"dtype\": \"uint8\", \"shape\": []},"
      "  \"brain\": {\"dtype\": \"bfloat16\", \"shape\": [2, 3]},"
      "  \"images\": [{\"dtype\": \"uint8\", \"shape\": [2, 3]},"
      "   {\"dtype\": \"string\", \"value\": \"between\"}, {\"dtype\": \"uint8\", \"shape\": [2]}],"
      "  \"tree\": {\"dtype\": \"json\", \"value\": {\"a\": [1, null]}},"
      "  \"text\": {\"dtype\": \"string\", \"value\": \"\303\244\\\"\\n\"}},"
      " \"members\": []}");
  folder_remove (folder);
}

static void
test_batch (void)
{
  char *folder = run ("identity error-after=1 on-error=skip ! batch size=2 ! npysink", 2);
  g_autoptr (JsonNode) json = read_json (folder, "000000.json");
  JsonObject *object = json_node_get_object (json);
  JsonArray *members = json_object_get_array_member (object, "members");
  JsonObject *member = json_array_get_object_element (members, 0);
  JsonObject *hole = json_array_get_object_element (members, 1);

  g_assert_cmpint (json_object_get_int_member (object, "step"), ==, 0);
  assert_json (
      json_object_get_member (json_object_get_object_member (object, "fields"), "image_cu"),
      "{\"dtype\": \"int32\", \"shape\": [2]}");
  g_assert_cmpuint (json_array_get_length (members), ==, 2);
  g_assert_cmpint (json_object_get_int_member (member, "sample"), ==, 0);
  g_assert_cmpint (json_object_get_int_member (member, "line"), ==, 17);
  g_assert_false (json_object_has_member (member, "hole"));
  g_assert_true (json_object_has_member (json_object_get_object_member (member, "fields"), "tree"));
  g_assert_cmpint (json_object_get_int_member (hole, "sample"), ==, 1);
  g_assert_true (json_object_get_boolean_member (hole, "hole"));
  g_assert_cmpstr (json_object_get_string_member (hole, "kind"), ==, "other");
  g_assert_cmpint (json_object_get_int_member (hole, "byte"), ==, 5000);
  folder_remove (folder);
}

/* an origin that nobody knows is null */
static void
test_no_origin (void)
{
  char *folder = folder_new ();
  g_autofree char *text = g_strdup_printf (
      "fakesrc num-buffers=1 size=3 ! npysink location=%s/new/er overwrite=true", folder);
  g_autofree char *inner = g_build_filename (folder, "new", NULL);
  g_autoptr (JsonNode) json = NULL;

  g_free (hr_harness_run (text));
  json = read_json (folder, "new/er/000000.json");
  assert_json (json,
               "{\"index\": 0, \"epoch\": 0, \"step\": 0, \"sample\": 0, \"id\": null, \"uri\": "
               "null, \"byte\": null, \"length\": null, \"line\": null, \"fields\": {\"bytes\": "
               "{\"dtype\": \"uint8\", \"shape\": [3]}}, \"members\": []}");
  folder_remove (g_build_filename (folder, "new", "er", NULL));
  g_rmdir (inner);
  folder_remove (folder);
}

/* files of an earlier run are not mixed with those of this one */
static void
test_earlier_run (void)
{
  char *folder = run ("npysink", 3);
  g_autofree char *keep = g_build_filename (folder, "notes.json", NULL);
  g_autofree char *text = g_strdup_printf ("npysink location=%s", folder);
  g_autofree char *over = g_strdup_printf ("fakesrc num-buffers=1 ! %s overwrite=true", text);
  g_autoptr (GPtrArray) names = NULL;

  g_assert_true (g_file_set_contents (keep, "mine", -1, NULL));
  hr_harness_new_failing (text, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE, "*overwrite=true*");
  g_free (hr_harness_run (over));
  names = folder_list (folder);
  g_assert_cmpuint (names->len, ==, 3);
  g_assert_cmpstr (names->pdata[0], ==, "000000.bytes.npy");
  g_assert_cmpstr (names->pdata[1], ==, "000000.json");
  g_assert_cmpstr (names->pdata[2], ==, "notes.json");
  folder_remove (folder);
}

static void
test_not_a_folder (void)
{
  hr_harness_new_failing ("npysink location=/dev/null/x", HR_RESOURCE_ERROR,
                          HR_RESOURCE_ERROR_WRITE, "*/dev/null/x*");
}

static void
test_examples (void)
{
  char *folder = folder_new ();

  g_setenv ("TMPDIR", folder, TRUE);
  hr_harness_run_examples ("npysink");
  hr_harness_assert_no_leaks ();
  folder_remove (g_build_filename (folder, "headrace-npysink", NULL));
  folder_remove (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/npysink/names", test_names);
  g_test_add_func ("/npysink/npy", test_npy);
  g_test_add_func ("/npysink/json", test_json);
  g_test_add_func ("/npysink/batch", test_batch);
  g_test_add_func ("/npysink/no-origin", test_no_origin);
  g_test_add_func ("/npysink/earlier-run", test_earlier_run);
  g_test_add_func ("/npysink/not-a-folder", test_not_a_folder);
  g_test_add_func ("/npysink/examples", test_examples);
  return g_test_run ();
}
