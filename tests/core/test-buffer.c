/* fields, ownership, members, holes, lists and origins */
#include <string.h>
#include "hr-buffer.h"
#include "hr-error.h"
#include "hr-reservation.h"

static void
assert_nothing_left (void)
{
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_tensor_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static HrTensor *
tensor_of (const char *text)
{
  return hr_tensor_new_bytes (hr_memory_new_copy (text, strlen (text)));
}

static void
test_fields (void)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrList *list = hr_list_new (0);
  HrTensor *tensor = tensor_of ("abc");
  HrFieldType type;

  hr_buffer_set_tensor (buffer, "bytes", tensor);
  hr_buffer_set_list (buffer, "images", list);
  hr_buffer_set_json (buffer, "conversation", json_from_string ("[1]", NULL));
  hr_buffer_set_string (buffer, "text", "hello");
  g_assert_true (hr_buffer_get_tensor (buffer, "bytes") == tensor);
  g_assert_true (hr_buffer_get_list (buffer, "images") == list);
  g_assert_true (JSON_NODE_HOLDS_ARRAY (hr_buffer_get_json (buffer, "conversation")));
  g_assert_cmpstr (hr_buffer_get_string (buffer, "text"), ==, "hello");
  /* of another type, and not there */
  g_assert_null (hr_buffer_get_list (buffer, "bytes"));
  g_assert_null (hr_buffer_get_string (buffer, "byte"));

  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 4);
  g_assert_cmpstr (hr_buffer_get_field (buffer, 2, &type), ==, "conversation");
  g_assert_cmpint (type, ==, HR_FIELD_JSON);
  /* replaced in place, by another type */
  hr_buffer_set_string (buffer, "images", "none");
  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 4);
  g_assert_cmpstr (hr_buffer_get_field (buffer, 1, &type), ==, "images");
  g_assert_cmpint (type, ==, HR_FIELD_STRING);
  hr_buffer_remove (buffer, "bytes");
  hr_buffer_remove (buffer, "bytes");
  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 3);
  g_assert_cmpstr (hr_buffer_get_field (buffer, 0, NULL), ==, "images");
  hr_buffer_unref (buffer);
  assert_nothing_left ();
}

static void
test_names_by_text (void)
{
  /* the same name from another plugin is another pointer */
  char other[] = "bytes";
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_set_tensor (buffer, "bytes", tensor_of ("a"));
  hr_buffer_set_tensor (buffer, g_intern_string (other), tensor_of ("b"));
  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 1);
  g_assert_nonnull (hr_buffer_get_tensor (buffer, other));
  hr_buffer_unref (buffer);
}

static void
test_many_fields (void)
{
  HrBuffer *buffer = hr_buffer_new (), *other = hr_buffer_new ();

  for (guint i = 0; i < 100; i++) {
    g_autofree char *name = g_strdup_printf ("field-%u", i);

    hr_buffer_set_string (buffer, g_intern_string (name), name);
  }
  hr_buffer_set_string (other, "field-7", "mine");
  hr_buffer_set_string (other, "own", "kept");
  hr_buffer_copy_fields (other, buffer);
  hr_buffer_unref (buffer);
  g_assert_cmpuint (hr_buffer_get_n_fields (other), ==, 101);
  g_assert_cmpstr (hr_buffer_get_string (other, "field-7"), ==, "field-7");
  g_assert_cmpstr (hr_buffer_get_string (other, "field-99"), ==, "field-99");
  g_assert_cmpstr (hr_buffer_get_string (other, "own"), ==, "kept");
  hr_buffer_unref (other);
  assert_nothing_left ();
}

static void
test_make_writable (void)
{
  GRefString *uri = g_ref_string_new ("file:///a.jsonl");
  HrBuffer *buffer = hr_buffer_new (), *copy;
  HrTensor *tensor = tensor_of ("abc");

  buffer->number = 5;
  buffer->sample = 6;
  buffer->epoch = 2;
  buffer->flags = HR_BUFFER_DROPPED;
  hr_buffer_set_tensor (buffer, "bytes", tensor);
  hr_buffer_set_origin (buffer, hr_origin_new (uri, NULL, 0, 10, 1));
  g_ref_string_release (uri);

  g_assert_true (hr_buffer_make_writable (buffer) == buffer);
  hr_buffer_ref (buffer);
  g_assert_false (hr_buffer_is_writable (buffer));
  copy = hr_buffer_make_writable (buffer);
  g_assert_true (copy != buffer);
  g_assert_true (hr_buffer_is_writable (buffer));
  g_assert_cmpint (copy->number, ==, 5);
  g_assert_cmpint (copy->sample, ==, 6);
  g_assert_cmpuint (copy->epoch, ==, 2);
  g_assert_cmpuint (copy->flags, ==, HR_BUFFER_DROPPED);
  g_assert_true (hr_buffer_get_origin (copy) == hr_buffer_get_origin (buffer));
  /* the data is shared, the list of fields is not */
  g_assert_true (hr_buffer_get_tensor (copy, "bytes") == tensor);
  hr_buffer_set_string (copy, "more", "x");
  g_assert_null (hr_buffer_get_string (buffer, "more"));
  hr_buffer_unref (buffer);
  hr_buffer_unref (copy);
  assert_nothing_left ();
}

static void
test_shared_is_read_only (void)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  g_autoptr (HrBuffer) second = hr_buffer_ref (buffer);

  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*\"text\"*shared*");
  hr_buffer_set_string (second, "text", "x");
  g_test_assert_expected_messages ();
  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 0);
}

static void
test_n_bytes (void)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  HrBuffer *member = hr_buffer_new ();
  HrList *list = hr_list_new (2);
  HrTensor *tensor = tensor_of ("12345");

  hr_list_append_tensor (list, hr_tensor_ref (tensor));
  hr_list_append_string (list, "not counted");
  hr_list_append_tensor (list, tensor_of ("123"));
  hr_buffer_set_list (buffer, "images", list);
  hr_buffer_set_tensor (buffer, "bytes", tensor);
  hr_buffer_set_string (buffer, "text", "not counted");
  hr_buffer_set_tensor (member, "bytes", tensor_of ("not followed"));
  hr_buffer_add_member (buffer, member);
  g_assert_cmpuint (hr_buffer_get_n_bytes (buffer), ==, 13);
}

static HrBuffer *
make_sample (gint64 number)
{
  HrBuffer *buffer = hr_buffer_new ();

  buffer->number = buffer->sample = number;
  buffer->epoch = 3;
  hr_buffer_set_tensor (buffer, "bytes", tensor_of ("abc"));
  return buffer;
}

static void
test_members (void)
{
  HrBuffer *batch = hr_buffer_new (), *copy;

  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 0);
  hr_buffer_add_member (batch, make_sample (9));
  hr_buffer_add_member (batch, make_sample (8));
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 2);
  g_assert_cmpint (hr_buffer_get_member (batch, 1)->sample, ==, 8);
  g_assert_cmpint (batch->sample, ==, 8);
  g_assert_cmpuint (batch->epoch, ==, 3);
  g_assert_true (batch->flags & HR_BUFFER_BATCH);

  copy = hr_buffer_make_writable (hr_buffer_ref (batch));
  g_assert_true (hr_buffer_get_member (copy, 0) == hr_buffer_get_member (batch, 0));
  hr_buffer_add_member (copy, make_sample (10));
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 2);
  hr_buffer_unref (batch);
  hr_buffer_unref (copy);
  assert_nothing_left ();
}

static void
give_back (gpointer owner, gint64 number G_GNUC_UNUSED, guint64 bytes)
{
  *(guint64 *)owner += bytes;
}

static void
test_hole (void)
{
  guint64 returned = 0;
  HrBuffer *buffer = make_sample (4), *copy;

  hr_buffer_set_origin (buffer, hr_origin_new (NULL, NULL, 100, 10, -1));
  buffer->reservation = hr_reservation_new (&returned, 4, 77, give_back, NULL);
  g_assert_null (hr_buffer_get_error (buffer));
  hr_buffer_make_hole (buffer, g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON, "cut off"));
  g_assert_cmpuint (returned, ==, 77);
  g_assert_cmpuint (buffer->flags, ==, HR_BUFFER_HOLE);
  g_assert_cmpuint (hr_buffer_get_n_fields (buffer), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
  g_assert_cmpint (buffer->sample, ==, 4);
  g_assert_nonnull (hr_buffer_get_origin (buffer));
  g_assert_error (hr_buffer_get_error (buffer), HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON);
  /* a copy knows why, too */
  copy = hr_buffer_make_writable (hr_buffer_ref (buffer));
  hr_buffer_unref (buffer);
  g_assert_error (hr_buffer_get_error (copy), HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON);
  hr_buffer_unref (copy);
}

static void
test_hole_of_batch (void)
{
  g_autoptr (HrBuffer) batch = hr_buffer_new ();
  HrBuffer *bad = make_sample (1);
  g_autoptr (HrBuffer) shared = make_sample (2);

  hr_buffer_make_hole (bad, g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_BAD_JSON, "cut off"));
  hr_buffer_add_member (batch, make_sample (0));
  hr_buffer_add_member (batch, bad);
  hr_buffer_add_member (batch, hr_buffer_ref (shared));
  hr_buffer_make_hole (batch, g_error_new (HR_DATA_ERROR, HR_DATA_ERROR_OTHER, "all of them"));
  g_assert_cmpuint (hr_buffer_get_n_members (batch), ==, 3);
  for (guint i = 0; i < 3; i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    g_assert_true (member->flags & HR_BUFFER_HOLE);
    g_assert_cmpint (member->sample, ==, i);
    g_assert_cmpuint (hr_buffer_get_n_fields (member), ==, 0);
    g_assert_true (g_error_matches (hr_buffer_get_error (member), HR_DATA_ERROR,
                                    i == 1 ? HR_DATA_ERROR_BAD_JSON : HR_DATA_ERROR_OTHER));
  }
  /* who shared a member still has it whole */
  g_assert_cmpuint (hr_buffer_get_n_fields (shared), ==, 1);
}

static void
test_list (void)
{
  HrList *list = hr_list_new (1), *both = hr_list_new (0);

  hr_list_append_tensor (list, tensor_of ("abc"));
  hr_list_append_string (list, "text");
  hr_list_append_json (list, json_from_string ("{}", NULL));
  g_assert_cmpuint (hr_list_get_length (list), ==, 3);
  g_assert_cmpint (hr_list_get_item_type (list, 1), ==, HR_FIELD_STRING);
  g_assert_nonnull (hr_list_get_tensor (list, 0));
  g_assert_null (hr_list_get_tensor (list, 1));
  g_assert_cmpstr (hr_list_get_string (list, 1), ==, "text");
  g_assert_null (hr_list_get_string (list, 2));
  g_assert_nonnull (hr_list_get_json (list, 2));
  g_assert_null (hr_list_get_json (list, 0));

  hr_list_append_list (both, list);
  hr_list_append_list (both, list);
  g_assert_cmpuint (hr_list_get_length (both), ==, 6);
  g_assert_true (hr_list_get_tensor (both, 3) == hr_list_get_tensor (list, 0));
  hr_list_set_tensor (both, 1, tensor_of ("new"));
  g_assert_nonnull (hr_list_get_tensor (both, 1));
  g_assert_cmpstr (hr_list_get_string (list, 1), ==, "text");
  hr_list_unref (list);
  g_assert_cmpmem (hr_tensor_get_data (hr_list_get_tensor (both, 0)), 3, "abc", 3);
  hr_list_unref (hr_list_ref (both));
  hr_list_unref (both);
  assert_nothing_left ();
}

static void
test_list_outside (void)
{
  g_autoptr (HrList) list = hr_list_new (0);

  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*index*");
  g_assert_null (hr_list_get_tensor (list, 0));
  g_test_expect_message ("headrace", G_LOG_LEVEL_CRITICAL, "*no item 0*");
  hr_list_set_tensor (list, 0, tensor_of ("x"));
  g_test_assert_expected_messages ();
  g_assert_cmpint (hr_tensor_live (), ==, 0);
}

static void
test_origin (void)
{
  const struct {
    const char *uri;
    gint64 byte, line;
    const char *id, *text;
  } rows[] = {
    { "s3://c/train/a.jsonl", 55, 1234, "x", "s3://c/train/a.jsonl:1234" },
    { "s3://c/train/a.jsonl", 55, -1, "x", "s3://c/train/a.jsonl byte 55" },
    { "s3://c/train/a.jsonl", -1, -1, "x", "s3://c/train/a.jsonl" },
    { NULL, -1, -1, "x", "x" },
    { NULL, -1, 3, NULL, "?:3" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    GRefString *uri = rows[i].uri != NULL ? g_ref_string_new (rows[i].uri) : NULL;
    GRefString *root = g_ref_string_new ("s3://c/train/");
    HrOrigin *origin = hr_origin_new (uri, root, rows[i].byte, 9, rows[i].line);
    g_autofree char *text = NULL;

    /* it has references of its own */
    g_clear_pointer (&uri, g_ref_string_release);
    g_ref_string_release (root);
    origin->id = g_strdup (rows[i].id);
    hr_origin_ref (origin);
    hr_origin_unref (origin);
    text = hr_origin_to_string (origin);
    g_assert_cmpstr (text, ==, rows[i].text);
    g_assert_cmpstr (origin->root, ==, "s3://c/train/");
    hr_origin_unref (origin);
  }
}

static gpointer
hammer (gpointer data)
{
  for (guint i = 0; i < 5000; i++) {
    HrBuffer *mine = hr_buffer_make_writable (hr_buffer_ref (data));

    hr_buffer_set_string (mine, "own", "x");
    g_assert_nonnull (hr_buffer_get_tensor (mine, "bytes"));
    hr_buffer_unref (mine);
  }
  hr_buffer_unref (data);
  return NULL;
}

static void
test_threads (void)
{
  HrBuffer *buffer = make_sample (0);
  GThread *threads[4];

  hr_buffer_set_json (buffer, "json", json_from_string ("[1, 2]", NULL));
  hr_buffer_set_string (buffer, "text", "x");
  hr_buffer_set_origin (buffer, hr_origin_new (NULL, NULL, 1, 1, 1));
  for (guint i = 0; i < 4; i++)
    threads[i] = g_thread_new ("buffer", hammer, hr_buffer_ref (buffer));
  hr_buffer_unref (buffer);
  for (guint i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  assert_nothing_left ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/buffer/fields", test_fields);
  g_test_add_func ("/buffer/names-by-text", test_names_by_text);
  g_test_add_func ("/buffer/many-fields", test_many_fields);
  g_test_add_func ("/buffer/make-writable", test_make_writable);
  g_test_add_func ("/buffer/shared-is-read-only", test_shared_is_read_only);
  g_test_add_func ("/buffer/n-bytes", test_n_bytes);
  g_test_add_func ("/buffer/members", test_members);
  g_test_add_func ("/buffer/hole", test_hole);
  g_test_add_func ("/buffer/hole-of-batch", test_hole_of_batch);
  g_test_add_func ("/buffer/threads", test_threads);
  g_test_add_func ("/list/items", test_list);
  g_test_add_func ("/list/outside", test_list_outside);
  g_test_add_func ("/origin/text", test_origin);
  return g_test_run ();
}
