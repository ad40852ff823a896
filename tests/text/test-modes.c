/* batch in all its modes, in whole pipelines: the same bytes serially, with 1 and with 4 workers */
#include "hr-harness.h"
#include "text-run.h"
#include "text-test.h"

#define RECORDS                                                                                    \
  "filesrc location=RECORDS/conversations_qwen.jsonl ! jsonlparse media-base=GOLDEN/images ! "     \
  "imagefetch ! tokenize tokenizer=VOCAB min-pixels=4096 max-pixels=262144 max-length=250 ! "
#define PIXELS "imagedecode ! resize ! "

static const char *const rests[] = {
  PIXELS "batch size=4 ! prefetchqueue ! patchify ! fakesink",
  PIXELS "batch size=4 drop-last=true ! fakesink",
  PIXELS "batch mode=padded size=4 pad-to-multiple=16 ! prefetchqueue ! patchify ! fakesink",
  "batch mode=padded size=5 drop-last=true ! " PIXELS "fakesink",
  PIXELS "batch mode=packed max-tokens=300 pack-window=4 ! prefetchqueue ! patchify ! fakesink",
  "batch mode=packed max-tokens=300 pack-window=4 ! prefetchqueue max-batches=2 ! " PIXELS
  "patchify dtype=bfloat16 ! fakesink",
  "batch mode=packed max-tokens=400 max-image-tokens=80 pack-window=6 ! fakesink",
  /* two that pack and one that does not, each at its own pace */
  "tee name=t ! batch mode=packed max-tokens=300 pack-window=4 ! " PIXELS "fakesink "
  "t. ! batch mode=packed max-tokens=500 pack-window=7 ! prefetchqueue max-batches=2 ! fakesink "
  "t. ! batch mode=padded size=3 ! fakesink",
  NULL
};

static void
test_mode (gconstpointer index)
{
  static const char *const settings[] = { "", "memory=1 cpus=1 ", NULL };
  g_autofree char *first = NULL;

  if (text_test_vocab () == NULL)
    return;
  for (guint i = 0; settings[i] != NULL; i++) {
    g_autofree char *text =
        g_strconcat (settings[i], RECORDS, rests[GPOINTER_TO_UINT (index)], NULL);
    g_autofree char *all = text_run_expand ("workers=1", text), *sha256 = hr_harness_run (all);

    if (first == NULL)
      first = g_steal_pointer (&sha256);
    else
      g_assert_cmpstr (sha256, ==, first);
    hr_harness_assert_no_leaks ();
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; rests[i] != NULL; i++) {
    g_autofree char *path = g_strdup_printf ("/text/modes/%u", i);

    g_test_add_data_func (path, GUINT_TO_POINTER (i), test_mode);
  }
  return g_test_run ();
}
