/* fakesink: takes all, and shows it if told to */
#include <stdlib.h>
#include "hr-harness.h"

static void
run (const char *text)
{
  HrHarness *harness = hr_harness_new (text, 1);

  hr_harness_wait (harness);
  hr_harness_free (harness);
  hr_harness_assert_no_leaks ();
}

static void
test_silent (void)
{
  if (g_test_subprocess ()) {
    run ("fakesrc num-buffers=10 ! fakesink");
    exit (0);
  }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout_unmatched ("*fakesink0*");
}

static void
test_shows (void)
{
  if (g_test_subprocess ()) {
    run ("fakesrc num-buffers=2 size=5 ! fakesink name=end silent=false sync-every=0");
    run ("fakesrc num-buffers=5 size=5 ! identity error-every=3 on-error=skip ! batch size=2 ! "
         "fakesink silent=false");
    exit (0);
  }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*end: number 0 sample 0 epoch 0; bytes: uint8 [5]\n"
                             "end: number 1 sample 1 epoch 0; bytes: uint8 [5]\n*");
  g_test_trap_assert_stdout (
      "*fakesink0: number 0 sample 0 epoch 0 batch of 2; bytes: 2 items: uint8 [5], uint8 [5]\n"
      "fakesink0: number 1 sample 2 epoch 0 batch of 1 and 1 skipped; bytes: 1 items: uint8 [5]\n"
      "fakesink0: number 2 sample 4 epoch 0 batch of 1; bytes: 1 items: uint8 [5]\n*");
}

/* every kind of field, and text that is not ASCII */
static void
test_fields (void)
{
  HrHarness *harness;
  HrBuffer *buffer;
  HrList *list;

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, 0);
    g_test_trap_assert_passed ();
    g_test_trap_assert_stdout (
        "*a.jsonl:7; text: \"\303\244\303\244\303\244\303\244\303\244\303\244"
        "\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244"
        "\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244"
        "\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244"
        "\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244"
        "\303\244\303\244…\"; tree: json; words: 5 items: \"a\", json, \"b\", "
        "\"c\", …; scalar: float32 []*");
    return;
  }
  harness = hr_harness_new ("fakesink silent=false", 1);
  buffer = hr_buffer_new ();
  list = hr_list_new (0);
  {
    g_autoptr (GString) text = g_string_new (NULL);
    GRefString *uri = g_ref_string_new ("a.jsonl");

    for (guint i = 0; i < 41; i++)
      g_string_append (text, "ä");
    hr_buffer_set_string (buffer, "text", text->str);
    hr_buffer_set_origin (buffer, hr_origin_new (uri, NULL, 1, 2, 7));
    g_ref_string_release (uri);
  }
  hr_buffer_set_json (buffer, "tree", json_from_string ("{}", NULL));
  hr_list_append_string (list, "a");
  hr_list_append_json (list, json_from_string ("{}", NULL));
  hr_list_append_string (list, "b");
  hr_list_append_string (list, "c");
  hr_list_append_string (list, "d");
  hr_buffer_set_list (buffer, "words", list);
  hr_buffer_set_tensor (buffer, "scalar",
                        hr_tensor_new (hr_memory_new (4), 0, HR_FLOAT32, 0, NULL));
  hr_harness_push (harness, buffer);
  hr_harness_wait (harness);
  hr_harness_free (harness);
  exit (0);
}

static void
test_examples (void)
{
  hr_harness_run_examples ("fakesink");
  hr_harness_assert_no_leaks ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fakesink/silent", test_silent);
  g_test_add_func ("/fakesink/shows", test_shows);
  g_test_add_func ("/fakesink/fields", test_fields);
  g_test_add_func ("/fakesink/examples", test_examples);
  return g_test_run ();
}
