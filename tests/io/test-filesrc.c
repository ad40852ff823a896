/* test-filesrc.c: files become blocks of lines */
#include "hr-harness.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static char *
put (const char *name, const char *text, gsize size)
{
  char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, size, NULL));
  return path;
}

static char *
random_lines (GRand *random, gsize size)
{
  char *text = g_malloc (size + 1);

  for (gsize i = 0; i < size; i++)
    text[i] = g_rand_int_range (random, 0, 20) ? (char)('a' + i % 26) : '\n';
  text[size] = '\0';
  return text;
}

static GString *
pull_all (HrHarness *harness, const char *path)
{
  GString *text = g_string_new (NULL);
  HrBuffer *block;

  while ((block = hr_harness_pull (harness))) {
    HrTensor *lines = hr_buffer_get_tensor (block, "lines");
    HrOrigin *origin = hr_buffer_get_origin (block);

    g_assert_cmpstr (origin->uri, ==, path);
    g_assert_cmpint (origin->byte, ==, text->len);
    g_string_append_len (text, hr_tensor_get_data (lines), hr_tensor_get_n_bytes (lines));
    hr_buffer_unref (block);
  }
  return text;
}

static void
test_blocks (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (11);

  for (guint round = 0; round < 40; round++) {
    gsize size = g_rand_int_range (random, 1, 3000);
    g_autofree char *text = random_lines (random, size), *path = put ("one.jsonl", text, size);
    g_autofree char *element = g_strdup_printf ("filesrc location=%s block-bytes=%d", path,
                                                g_rand_int_range (random, 1, 500));
    HrHarness *harness = hr_harness_new (element, 1);
    GString *got = pull_all (harness, path);

    g_assert_cmpmem (got->str, got->len, text, size);
    g_string_free (got, TRUE);
    hr_harness_free (harness);
  }
  hr_harness_assert_no_leaks ();
}

/* in the order of the names' bytes, each with its own offsets; empty ones are nothing */
static void
test_folder (void)
{
  static const char *const expected[] = { "a-.jsonl", "a.jsonl", "b.jsonl" };
  static const char *const files[][2] = { { "a.jsonl", "2\n" },
                                          { "b.jsonl", "3" },
                                          { "a-.jsonl", "1\n1\n" },
                                          { "aa.jsonl", "" },
                                          { "c.txt", "no\n" } };
  g_autofree char *old = g_build_filename (folder, "one.jsonl", NULL);
  g_autofree char *element = g_strdup_printf ("filesrc location=%s", folder);
  g_autofree char *root = g_strconcat (folder, "/", NULL);
  HrHarness *harness;

  g_remove (old);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    g_free (put (files[i][0], files[i][1], strlen (files[i][1])));
  harness = hr_harness_new (element, 1);
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++) {
    g_autoptr (HrBuffer) block = hr_harness_pull (harness);
    HrOrigin *origin = hr_buffer_get_origin (block);

    g_assert_true (g_str_has_suffix (origin->uri, expected[i]));
    g_assert_cmpstr (origin->root, ==, root);
    g_assert_cmpint (origin->byte, ==, 0);
    g_assert_cmpint (origin->line, ==, 1);
  }
  g_assert_null (hr_harness_pull (harness));
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_failures (void)
{
  HrHarness *harness = hr_harness_new ("filesrc location=/nonexistent/a.jsonl", 1);

  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                           "*filesrc*/nonexistent/a.jsonl*");
  hr_harness_free (harness);
  hr_harness_new_failing ("filesrc location=file://host/a.jsonl", HR_PARSE_ERROR,
                          HR_PARSE_ERROR_BAD_VALUE, "*file://host/a.jsonl*");
  hr_harness_assert_no_leaks ();
}

static void
test_cut_under_way (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (12);
  g_autofree char *text = random_lines (random, 1000000), *path = put ("cut.txt", text, 1000000);
  g_autofree char *element =
      g_strdup_printf ("filesrc location=%s block-bytes=1000 queue-items=1", path);
  HrHarness *harness = hr_harness_new (element, 1);

  hr_buffer_unref (hr_harness_pull (harness));
  g_assert_cmpint (truncate (path, 500000), ==, 0);
  hr_harness_expect_error (harness, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
                           "*cut.txt: ends at byte 500000 of 1000000*");
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* a pipe has no size; waiting for it ends with the run */
static gpointer
write_pipe (gpointer path)
{
  int fd = open (path, O_WRONLY);

  for (guint i = 0; i < 100; i++)
    g_assert_cmpint (write (fd, "line\n", 5), ==, 5);
  close (fd);
  return NULL;
}

static void
test_pipe (void)
{
  g_autofree char *path = g_build_filename (folder, "pipe", NULL);
  g_autofree char *element = g_strdup_printf ("filesrc location=%s block-bytes=64", path);
  HrHarness *harness;
  GThread *thread;
  GString *got;

  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  thread = g_thread_new ("write", write_pipe, path);
  harness = hr_harness_new (element, 1);
  got = pull_all (harness, path);
  g_assert_cmpuint (got->len, ==, 500);
  g_string_free (got, TRUE);
  hr_harness_free (harness);
  g_thread_join (thread);
  harness = hr_harness_new (element, 1); /* nobody writes: stopped while it waits */
  g_usleep (20000);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

/* who refuses long lines says how long they may be, also from further behind */
static void
test_line_limit (void)
{
  g_autofree char *line = g_strnfill (5000, 'x'), *text = g_strconcat (line, "\n{}\n", NULL);
  g_autofree char *path = put ("long.txt", text, strlen (text));
  g_autofree char *launch =
      g_strdup_printf ("filesrc location=%s block-bytes=100 ! tee name=t ! identity ! jsonlparse "
                       "max-line-bytes=2345 on-error=skip ! fakesink t. ! appsink",
                       path);
  g_autoptr (GError) error = NULL;
  HrPipeline *pipeline = hr_parse_launch (launch, &error);
  HrBuffer *block;
  HrMessage *message;

  g_assert_no_error (error);
  g_assert_true (hr_pipeline_start (pipeline, &error));
  block = hr_pipeline_pull (pipeline, &error);
  g_assert_cmpstr (hr_buffer_get_string (block, "line-limit"), ==, "2345");
  g_assert_cmpuint (hr_tensor_get_n_bytes (hr_buffer_get_tensor (block, "lines")), ==, 2346);
  do
    hr_buffer_unref (block);
  while ((block = hr_pipeline_pull (pipeline, &error)));
  g_assert_true (hr_pipeline_wait (pipeline, &error));
  message = hr_pipeline_pop_message (pipeline, -1);
  g_assert_cmpint (message->type, ==, HR_MESSAGE_SKIPPED);
  g_assert_error (message->error, HR_DATA_ERROR, HR_DATA_ERROR_LINE_TOO_LONG);
  g_assert_nonnull (strstr (message->error->message, "5000 bytes"));
  g_assert_nonnull (strstr (message->error->message, "max-line-bytes=2345"));
  hr_message_unref (message);
  g_object_unref (pipeline);
  hr_harness_assert_no_leaks ();
}

static void
test_examples (void)
{
  hr_harness_run_examples ("filesrc");
}

int
main (int argc, char **argv)
{
  g_autofree char *command = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (g_chdir (HR_TEST_DATA "/../.."), ==, 0);
  folder = g_dir_make_tmp ("headrace-filesrc-XXXXXX", NULL);
  g_test_add_func ("/filesrc/blocks", test_blocks);
  g_test_add_func ("/filesrc/folder", test_folder);
  g_test_add_func ("/filesrc/failures", test_failures);
  g_test_add_func ("/filesrc/cut-under-way", test_cut_under_way);
  g_test_add_func ("/filesrc/pipe", test_pipe);
  g_test_add_func ("/filesrc/line-limit", test_line_limit);
  g_test_add_func ("/filesrc/examples", test_examples);
  status = g_test_run ();
  command = g_strdup_printf ("rm -r '%s'", folder);
  g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL);
  g_free (folder);
  return status;
}
