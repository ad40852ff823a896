/* filesink: which bytes, and what happens when they cannot be written */
#include <string.h>
#include "folder.h"
#include "hr-harness.h"

static HrBuffer *
make_buffer (void)
{
  HrBuffer *buffer = hr_buffer_new ();
  HrList *list = hr_list_new (0);
  const gint32 numbers[] = { 1, 2 };
  const gint64 shape = 2, flipped[] = { 2, 3 }, strides[] = { 1, 2 };

  hr_buffer_set_tensor (buffer, "bytes", hr_tensor_new_bytes (hr_memory_new_copy ("abc", 3)));
  hr_buffer_set_string (buffer, "text", "TEXT");
  hr_buffer_set_tensor (
      buffer, "numbers",
      hr_tensor_new (hr_memory_new_copy (numbers, sizeof numbers), 0, HR_INT32, 1, &shape));
  hr_list_append_tensor (list, hr_tensor_new_bytes (hr_memory_new_copy ("first", 5)));
  hr_list_append_string (list, "second");
  hr_buffer_set_list (buffer, "list", list);
  /* "135246" read in columns */
  hr_buffer_set_tensor (
      buffer, "turned",
      hr_tensor_new_strided (hr_memory_new_copy ("142536", 6), 0, HR_UINT8, 2, flipped, strides));
  return buffer;
}

static void
assert_written (const char *arguments, guint n, const char *expected, gsize size)
{
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "out file", NULL);
  g_autofree char *text = g_strdup_printf ("filesink location=\"%s\" %s", path, arguments);
  HrHarness *harness = hr_harness_new (text, 1);
  g_autofree char *content = NULL;
  gsize length;

  for (guint i = 0; i < n; i++)
    hr_harness_push (harness, make_buffer ());
  hr_harness_wait (harness);
  hr_harness_free (harness);
  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpmem (content, length, expected, size);
  folder_remove (folder);
  hr_harness_assert_no_leaks ();
}

static void
test_content (void)
{
  assert_written ("", 0, "", 0);
  assert_written ("", 2, "abcfirst123456abcfirst123456", 28);
  assert_written ("field=bytes", 2, "abcabc", 6);
  assert_written ("field=text", 2, "TEXTTEXT", 8);
  assert_written ("field=numbers", 1, "\1\0\0\0\2\0\0\0", 8);
  assert_written ("field=list", 1, "firstsecond", 11);
  assert_written ("field=turned", 1, "123456", 6);
  assert_written ("field=none-such", 2, "", 0);
}

static void
test_replaces (void)
{
  char *folder = folder_new ();
  g_autofree char *path = g_build_filename (folder, "out", NULL);
  g_autofree char *text =
      g_strdup_printf ("fakesrc num-buffers=3 size=7 ! filesink location=%s", path);
  g_autofree char *content = NULL;
  gsize length;

  g_assert_true (
      g_file_set_contents (path, "a longer content than what will be written", -1, NULL));
  g_free (hr_harness_run (text));
  g_assert_true (g_file_get_contents (path, &content, &length, NULL));
  g_assert_cmpuint (length, ==, 21);
  folder_remove (folder);
}

static void
test_errors (void)
{
  HrHarness *harness;

  hr_harness_new_failing ("filesink location=/does/not/exist", HR_RESOURCE_ERROR,
                          HR_RESOURCE_ERROR_NOT_FOUND, "*/does/not/exist*");
  hr_harness_new_failing ("filesink location=/", HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                          "*/: *");
  harness = hr_harness_new ("fakesrc size=1MiB ! filesink location=/dev/full", 1);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_WRITE,
                           "*filesink0*/dev/full*");
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("filesink");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/filesink/content", test_content);
  g_test_add_func ("/filesink/replaces", test_replaces);
  g_test_add_func ("/filesink/errors", test_errors);
  g_test_add_func ("/filesink/examples", test_examples);
  return g_test_run ();
}
