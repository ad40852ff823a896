/* one bad record of each kind through a whole pipeline: the kind that is counted, and a message
 * that names element, file, line and field or link */
#include <glib/gstdio.h>
#include <string.h>
#include "text-run.h"
#include "text-test.h"

#define IMAGE(link) "{\"image\":\"" link "\",\"query\":\"<image>?\",\"response\":\"A\"}"
#define ASK "{\"role\":\"user\",\"content\":\"Q\"}"
#define ANSWER "{\"role\":\"assistant\",\"content\":\"A\"}"

static const struct {
  const char *record;
  const char *kind;    /* NULL: delivered */
  const char *element; /* that finds it */
  const char *names;   /* what the message must say besides */
} rows[] = {
  { IMAGE ("good.png"), NULL, NULL, NULL },
  { "{\"query\": \"Q\" \"response\": \"A\"}", "bad-json", "jsonlparse", "column 15" },
  { "{\"query\": \"\\ud800\", \"response\": \"A\"}", "bad-encoding", "jsonlparse", "column" },
  { "{\"messages\":[" ASK "]}", "no-assistant-turn", "jsonlparse", "no assistant turn" },
  { "{\"image\":\"good.png\",\"query\":\"Q\",\"response\":\"A\"}", "placeholder-mismatch",
    "jsonlparse", "0 placeholder(s) for 1 image(s)" },
  { "{\"query\":\"<image><image>\",\"response\":\"A\",\"images\":[\"good.png\"]}",
    "placeholder-mismatch", "jsonlparse", "2 placeholder(s) for 1 image(s)" },
  { IMAGE ("none.png"), "media-not-found", "imagefetch", "none.png" },
  { IMAGE ("page.html"), "media-undecodable", "imagefetch|tokenize|imagedecode", "page.html" },
  { IMAGE ("truncated.jpg"), "media-truncated", "imagedecode", "truncated.jpg" },
  { IMAGE ("empty.png"), "media-undecodable|media-truncated", "imagefetch|tokenize|imagedecode",
    "empty.png" },
  { IMAGE ("aspect201.png"), "aspect-ratio", "tokenize", "aspect201.png" },
  { "{\"query\":\"Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q\","
    "\"response\":\"A\",\"id\":\"long\"}",
    "overlong", "tokenize", "max-length is 40" },
  { "{\"query\":\"see <|image_pad|>\",\"response\":\"A\"}", "media-token-in-text", "tokenize",
    "turn 0 (user)" },
  { "{\"messages\":[" ASK ",{\"role\":\"tool\",\"content\":\"x\"}," ANSWER "]}", "unsupported",
    "jsonlparse", "messages[1].role is \"tool\"" },
  { "{\"messages\":[" ASK
    ",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"1\"}]}]}",
    "unsupported", "jsonlparse", "messages[1].tool_calls" },
  { "{\"tools\":[{\"name\":\"f\"}],\"messages\":[" ASK "," ANSWER "]}", "unsupported", "jsonlparse",
    "tools is there" },
  { "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"video\",\"video\":\"a.mp4\"}]}"
    "," ANSWER "]}",
    "unsupported", "jsonlparse", "messages[0].content[0]" },
  { "{\"video\":\"a.mp4\",\"query\":\"<video>\",\"response\":\"A\"}", "unsupported", "jsonlparse",
    "video is a video" },
  { "{\"video\":[\"1.jpg\",\"2.jpg\"],\"query\":\"<video>\",\"response\":\"A\"}", "unsupported",
    "jsonlparse", "video is a video" },
  { "{\"query\":\"<video>\",\"response\":\"A\"}", "placeholder-mismatch", "jsonlparse",
    "<video> for 0 video(s)" },
  { "{\"messages\":[" ASK ",{\"role\":\"system\",\"content\":\"S\"}," ANSWER "]}", "unsupported",
    "jsonlparse", "messages[1] is a system turn" },
  { "{\"messages\":[" ASK ",{\"role\":\"assistant\",\"content\":[{\"image\":\"good.png\"}]}]}",
    "unsupported", "jsonlparse", "messages[1].content[0]" },
  { "{\"messages\":5}", "bad-record", "jsonlparse", "messages is a number" },
  { IMAGE ("../up.png"), "link-refused", "imagefetch", "../up.png" },
  { IMAGE ("data:image/png;base64,@@@@"), "media-undecodable", "imagefetch", "data:image/png" },
  { "{\"query\":\"the last\",\"response\":\"A\"}", NULL, NULL, NULL },
};

static void
copy_image (const char *folder, const char *name, const char *as)
{
  g_autofree char *from = g_build_filename (HR_TEST_DATA, "golden", "images", name, NULL);
  g_autofree char *to = g_build_filename (folder, as, NULL), *data = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (from, &data, &size, NULL));
  g_assert_true (g_file_set_contents (to, data, (gssize)size, NULL));
}

static void
write_file (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* a folder with all of it */
static char *
make_folder (void)
{
  char *folder = g_dir_make_tmp ("hr-errors-XXXXXX", NULL);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_string_append_printf (text, "%s\n", rows[i].record);
  write_file (folder, "a.jsonl", text->str);
  copy_image (folder, "tiny10.png", "good.png");
  copy_image (folder, "truncated.jpg", "truncated.jpg");
  copy_image (folder, "aspect201_reject.png", "aspect201.png");
  write_file (folder, "page.html", "<!DOCTYPE html><html></html>");
  write_file (folder, "empty.png", "");
  return folder;
}

static void
remove_folder (const char *folder)
{
  static const char *const names[] = { "a.jsonl",       "good.png",  "truncated.jpg",
                                       "aspect201.png", "page.html", "empty.png" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autofree char *path = g_build_filename (folder, names[i], NULL);

    g_unlink (path);
  }
  g_rmdir (folder);
}

/* @choices: "a|b" */
static gboolean
is_one_of (const char *text, const char *choices)
{
  g_auto (GStrv) list = g_strsplit (choices, "|", -1);

  return g_strv_contains ((const char *const *)list, text);
}

static void
check_message (const HrMessage *message, guint row, const char *path)
{
  const char *text = message->error->message, *blank = strchr (text, ' ');
  g_autofree char *element = g_strndup (text, blank - text);
  g_autofree char *place = g_strdup_printf (": %s:%u", path, row + 1);

  const char *found = strstr (text, place);

  g_test_message ("%s", text);
  g_assert_true (message->error->domain == HR_DATA_ERROR);
  if (!is_one_of (hr_data_error_kind (message->error->code), rows[row].kind))
    g_error ("\"%s\" is %s, not %s", text, hr_data_error_kind (message->error->code),
             rows[row].kind);
  if (!is_one_of (element, rows[row].element) || found == NULL
      || strchr (": ", found[strlen (place)]) == NULL || strstr (text, rows[row].names) == NULL)
    g_error ("\"%s\" does not name %s, %s and %s", text, rows[row].element, place, rows[row].names);
}

static void
test_kinds (gconstpointer setting)
{
  g_autofree char *folder = NULL, *path = NULL, *text = NULL;
  g_auto (TextRun) run = { NULL };
  g_autoptr (GHashTable) counts = NULL;
  guint n_bad = 0;

  if (text_test_vocab () == NULL)
    return;
  folder = make_folder ();
  path = g_build_filename (folder, "a.jsonl", NULL);
  text =
      g_strdup_printf ("on-error=skip filesrc location=%s ! jsonlparse ! imagefetch ! tokenize "
                       "tokenizer=VOCAB max-length=40 overlong=error min-pixels=4096 "
                       "max-pixels=8192 WORKERS ! imagedecode WORKERS ! resize WORKERS ! appsink",
                       path);
  run = text_run (setting, text);
  g_assert_no_error (run.error);
  counts = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const HrMessage *message = text_run_find_skipped (&run, i + 1);
    const char *kind;

    g_assert_true ((text_run_find (&run, i + 1) != NULL) == (rows[i].kind == NULL));
    if (rows[i].kind == NULL)
      continue;
    n_bad++;
    if (message == NULL)
      g_error ("line %u was not skipped", i + 1);
    check_message (message, i, path);
    kind = hr_data_error_kind (message->error->code);
    g_hash_table_insert (
        counts, (gpointer)kind,
        GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts, kind)) + 1));
  }
  g_assert_cmpuint (run.skipped->len, ==, n_bad);
  g_assert_cmpuint (g_hash_table_size (counts), >=, 11);
  {
    GHashTableIter iter;
    gpointer kind, n;

    g_hash_table_iter_init (&iter, counts);
    while (g_hash_table_iter_next (&iter, &kind, &n))
      g_assert_cmpint (text_run_count (&run, "skipped", kind), ==, GPOINTER_TO_UINT (n));
  }
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint k = 0; text_settings[k] != NULL; k++) {
    g_autofree char *path = g_strdup_printf ("/text/errors/kinds/%s", text_settings[k]);

    g_test_add_data_func (path, text_settings[k], test_kinds);
  }
  return g_test_run ();
}
