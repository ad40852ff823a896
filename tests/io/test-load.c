/* whole objects: files, pipes, S3, HTTP; what is missing, too large, or no URI */
#include "load.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include "fake-s3.h"
#include "hr-error.h"

#define SIZE 300000
#define MOST (1 << 20)

static guint8 object[SIZE];

static const HrS3Settings settings = { NULL, NULL, NULL, FALSE, HR_S3_ADDRESSING_AUTO };

static HrMemory *
load (const char *uri, gsize most, gsize *size, GError **error)
{
  HrHttpOptions options = HR_HTTP_OPTIONS;

  options.max_tries = 3;
  options.retry = (HrRetryTimes){ 1000000, 2000000, 5000000 };
  return hr_io_load (uri, &settings, &options, most, -1, size, error);
}

static void
assert_loads (const char *uri)
{
  g_autoptr (GError) error = NULL;
  gsize size = 0;
  g_autoptr (HrMemory) memory = load (uri, MOST, &size, &error);

  g_assert_no_error (error);
  g_assert_cmpmem (memory->data, size, object, SIZE);
}

static void
assert_fails (const char *uri, gsize most, GQuark domain, gint code, const char *name)
{
  g_autoptr (GError) error = NULL;
  gsize size = 0;

  g_assert_null (load (uri, most, &size, &error));
  g_assert_error (error, domain, code);
  if (strstr (error->message, name) == NULL)
    g_error ("\"%s\" does not name \"%s\"", error->message, name);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static void
test_file (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-load-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a b.json", NULL);
  g_autofree char *uri = g_filename_to_uri (path, NULL, NULL),
                  *none = g_strconcat (path, "x", NULL);

  g_assert_true (g_file_set_contents (path, (char *)object, SIZE, NULL));
  assert_loads (path);
  assert_loads (uri);
  assert_fails (path, SIZE - 1, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                "more than 299999 bytes");
  assert_fails (none, MOST, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, none);
  assert_fails (folder, MOST, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, folder);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_empty (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-load-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "empty", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrMemory) memory = NULL;
  gsize size = 7;

  g_assert_true (g_file_set_contents (path, "", 0, NULL));
  memory = load (path, MOST, &size, &error);
  g_assert_no_error (error);
  g_assert_nonnull (memory);
  g_assert_cmpuint (size, ==, 0);
  g_unlink (path);
  g_rmdir (folder);
}

static gpointer
write_pipe (gpointer path)
{
  FILE *file = g_fopen (path, "wb");

  fwrite (object, 1, SIZE, file);
  fclose (file);
  return NULL;
}

/* of unknown size */
static void
test_pipe (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-load-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "pipe", NULL);
  GThread *writer;

  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  writer = g_thread_new (NULL, write_pipe, path);
  assert_loads (path);
  g_thread_join (writer);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_s3 (void)
{
  g_autoptr (FakeS3) s3 = fake_s3_new ();

  fake_s3_use (s3);
  fake_s3_put (s3, "models/a b+c.json", object, SIZE);
  assert_loads ("s3://demo/models/a b+c.json");
  assert_fails ("s3://demo/models/none.json", MOST, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                "s3://demo/models/none.json");
  assert_fails ("s3://demo/models/a b+c.json", 1000, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                "s3://demo/models/a b+c.json");
  assert_fails ("s3://demo/", MOST, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, "s3://demo/");
  assert_fails ("s3:///x", MOST, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE, "s3:///x");
}

static void
answer (const FakeRequest *request, FakeReply *reply, gpointer data G_GNUC_UNUSED)
{
  if (request->number == 0) /* a fault that passes */
    fake_reply_error (reply, 503, "SlowDown");
  else if (g_str_equal (request->target, "/tokenizer.json"))
    fake_reply_set_bytes (reply, object, SIZE);
  else
    fake_reply_error (reply, 404, "NoSuchKey");
}

static void
test_http (void)
{
  g_autoptr (FakeServer) server = fake_server_new (answer, NULL);
  g_autofree char *uri = g_strconcat (fake_server_get_url (server), "/tokenizer.json", NULL);
  g_autofree char *none = g_strconcat (fake_server_get_url (server), "/none", NULL);

  assert_loads (uri);
  g_assert_cmpuint (fake_server_get_n_requests (server), ==, 2);
  assert_fails (none, MOST, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND, none);
}

int
main (int argc, char **argv)
{
  for (gsize i = 0; i < SIZE; i++)
    object[i] = (guint8)(i * 7 + i / 251);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/load/file", test_file);
  g_test_add_func ("/io/load/empty", test_empty);
  g_test_add_func ("/io/load/pipe", test_pipe);
  g_test_add_func ("/io/load/s3", test_s3);
  g_test_add_func ("/io/load/http", test_http);
  return g_test_run ();
}
