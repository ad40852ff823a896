/* what happens before and beside the tokens: loading the tokenizer, and image code that never runs
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "fake-s3.h"
#include "text-run.h"
#include "text-test.h"

/* ---- stopped while it waits for the tokenizer ---- */

/* the first bytes, then nothing: no time-out of ours ends before half a minute */
static void
hang (const FakeRequest *request G_GNUC_UNUSED, FakeReply *reply, const char *key,
      guint count G_GNUC_UNUSED, gpointer asked)
{
  if (key == NULL)
    return;
  reply->cut = 3;
  reply->end = FAKE_STALL;
  g_atomic_int_set ((gint *)asked, 1);
}

static FakeS3 *
hanging_s3 (gint *asked)
{
  FakeS3 *s3 = fake_s3_new ();

  fake_s3_use (s3);
  fake_s3_put (s3, "tokenizer.json", "{\"model\":{}}", 12);
  fake_s3_set_hook (s3, hang, asked);
  return s3;
}

#define WAITING "filesrc location=x ! jsonlparse ! tokenize tokenizer=%s ! fakesink"

static char *
waiting_text (const char *uri)
{
  return g_strdup_printf (WAITING, uri);
}

typedef struct {
  HrPipeline *pipeline;
  GError *error;
} Start;

static gpointer
start_pipeline (gpointer data)
{
  Start *start = data;

  g_assert_false (hr_pipeline_start (start->pipeline, &start->error));
  return NULL;
}

static void
check_stop (const char *uri, gint *asked)
{
  g_autofree char *text = waiting_text (uri), *stats = NULL;
  Start start = { NULL, NULL };
  GThread *thread;

  start.pipeline = hr_parse_launch (text, &start.error);
  g_assert_no_error (start.error);
  thread = g_thread_new ("start", start_pipeline, &start);
  while (g_atomic_int_get (asked) == 0)
    g_usleep (1000);
  hr_pipeline_stop (start.pipeline);
  g_thread_join (thread); /* the test's time-out says if not */
  g_assert_error (start.error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
  g_assert_cmpint (hr_pipeline_get_state (start.pipeline), ==, HR_STATE_DONE);
  stats = hr_pipeline_get_stats (start.pipeline);
  g_assert_nonnull (strstr (stats, "\"stopped\""));
  g_clear_error (&start.error);
  g_object_unref (start.pipeline);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

static void
test_stop_s3 (void)
{
  gint asked = 0;
  G_GNUC_UNUSED g_autoptr (FakeS3) s3 = hanging_s3 (&asked);

  check_stop ("s3://demo/tokenizer.json", &asked);
}

static void
hang_http (const FakeRequest *request, FakeReply *reply, gpointer asked)
{
  fake_reply_set_text (reply, "{\"model\":{}}");
  hang (request, reply, "", 0, asked);
}

static void
test_stop_http (void)
{
  gint asked = 0;
  g_autoptr (FakeServer) server = fake_server_new (hang_http, &asked);
  g_autofree char *uri = g_strconcat (fake_server_get_url (server), "/tokenizer.json", NULL);

  check_stop (uri, &asked);
}

/* stop() before start(): what would wait does not begin to */
static void
test_stop_before (void)
{
  gint asked = 0;
  G_GNUC_UNUSED g_autoptr (FakeS3) s3 = hanging_s3 (&asked);
  g_autofree char *text = waiting_text ("s3://demo/tokenizer.json");
  g_autoptr (GError) error = NULL;
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, &error);

  g_assert_no_error (error);
  hr_pipeline_stop (pipeline);
  g_assert_false (hr_pipeline_start (pipeline, &error));
  g_assert_error (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED);
}

/* Ctrl-C */
static void
test_signal (void)
{
  gint asked = 0;
  G_GNUC_UNUSED g_autoptr (FakeS3) s3 = hanging_s3 (&asked);
  g_autofree char *text = waiting_text ("s3://demo/tokenizer.json");
  const char *const argv[] = { HR_LAUNCH, text, NULL };
  g_autoptr (GError) error = NULL;
  GPid child;
  int status;

  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &child, &error);
  g_assert_no_error (error);
  while (g_atomic_int_get (&asked) == 0)
    g_usleep (1000);
  kill (child, SIGINT);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 130);
}

/* ---- texts without images ---- */

static gboolean
is_loaded (const char *name)
{
  g_autofree char *maps = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  return strstr (maps, name) != NULL;
}

static void
check_text_only (const char *setting, const char *text)
{
  g_auto (TextRun) run = text_run (setting, text);
  HrBuffer *batch;

  g_assert_no_error (run.error);
  g_assert_cmpuint (run.samples->len, ==, 1);
  batch = run.samples->pdata[0];
  g_assert_nonnull (hr_buffer_get_tensor (batch, "input_ids"));
  g_assert_null (hr_buffer_get_tensor (batch, "pixel_values"));
  for (guint i = 0; i < hr_buffer_get_n_fields (batch); i++) {
    HrFieldType type;
    const char *name = hr_buffer_get_field (batch, i, &type);
    HrTensor *tensor = hr_buffer_get_tensor (batch, name);

    if (tensor != NULL && text_tensor_length (tensor) == 0)
      g_error ("%s has no elements", name);
  }
}

#define READ "filesrc location=CASES/01-label-assistant-word/a.jsonl ! jsonlparse ! "
#define BATCH "batch mode=packed max-tokens=512 ! prefetchqueue ! "

/* This has to be the first test: what is loaded stays. */
static void
test_no_plugin (void)
{
  if (text_test_vocab () == NULL)
    return;
  for (guint i = 0; text_settings[i] != NULL; i++)
    check_text_only (text_settings[i], READ "tokenize tokenizer=VOCAB WORKERS ! " BATCH "appsink");
  g_assert_true (is_loaded ("hrtext.so")); /* the search finds what there is */
  g_assert_false (is_loaded ("hrimage.so"));
  g_assert_false (is_loaded ("libvips"));
  g_assert_false (is_loaded ("libjpeg"));
}

/* with the elements for images in the text, as people write one text for all their data */
static void
test_no_images (void)
{
  if (text_test_vocab () == NULL)
    return;
  for (guint i = 0; text_settings[i] != NULL; i++)
    check_text_only (text_settings[i],
                     READ "imagefetch ! tokenize tokenizer=VOCAB WORKERS ! imagedecode WORKERS ! "
                          "resize WORKERS ! " BATCH "patchify WORKERS ! appsink");
  g_assert_true (is_loaded ("hrimage.so"));
  /* libvips has not been started: it makes its types when it is */
  g_assert_cmpuint (g_type_from_name ("VipsObject"), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/start/text-only/no-plugin", test_no_plugin);
  g_test_add_func ("/text/start/text-only/no-images", test_no_images);
  g_test_add_func ("/text/start/stop/s3", test_stop_s3);
  g_test_add_func ("/text/start/stop/http", test_stop_http);
  g_test_add_func ("/text/start/stop/before", test_stop_before);
  g_test_add_func ("/text/start/stop/signal", test_signal);
  return g_test_run ();
}
