/* ids-dump.c: tokens of texts, for comparison with other tokenizers
 *
 * usage: ids-dump VOCAB FILE [REPEAT]: FILE holds texts, each after its size as 4 bytes, little
 * endian. Prints a line of ids for each; with REPEAT, tokenises all that often and prints the
 * fastest run's seconds, bytes and tokens instead. */
#include <time.h>
#include "encode.h"
#include "next-text.h"
#include "vocab-load.h"

static HrVocab *
load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_auto (GStrv) added = g_strsplit (HR_VOCAB_QWEN_ADDED, ",", -1);
  gsize size;

  if (!g_file_get_contents (path, &text, &size, error))
    return NULL;
  if (g_str_has_suffix (path, ".tiktoken"))
    return hr_vocab_load_tiktoken (text, size, HR_VOCAB_QWEN_PATTERN, (const char *const *)added,
                                   error);
  return hr_vocab_load_json (text, size, error);
}

static double
seconds (void)
{
  struct timespec time;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static gboolean
run (HrEncoder *encoder, const char *p, const char *end, gboolean print, gsize *bytes,
     gsize *tokens, GError **error)
{
  HrIds ids = { 0 };
  const char *text;
  guint32 size;
  gboolean good = TRUE;

  *bytes = *tokens = 0;
  while (good && next_text (&p, end, &text, &size)) {
    ids.n = 0;
    good = hr_encoder_encode (encoder, text, size, &ids, error);
    *bytes += size;
    *tokens += ids.n;
    if (!print)
      continue;
    for (gsize i = 0; i < ids.n; i++)
      g_print (i > 0 ? " %u" : "%u", ids.data[i]);
    g_print ("\n");
  }
  hr_ids_clear (&ids);
  return good;
}

int
main (int argc, char **argv)
{
  static const HrEncodeRules rules = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ENCODE, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab = argc >= 3 ? load (argv[1], &error) : NULL;
  g_autoptr (HrEncoder) encoder = vocab != NULL ? hr_encoder_new (vocab, &rules) : NULL;
  g_autofree char *texts = NULL;
  guint repeat = argc > 3 ? (guint)g_ascii_strtoull (argv[3], NULL, 10) : 0;
  gsize size, bytes = 0, tokens = 0;
  double best = 1e9;

  if (encoder != NULL && g_file_get_contents (argv[2], &texts, &size, &error)
      && (repeat > 0 || run (encoder, texts, texts + size, TRUE, &bytes, &tokens, &error)))
    for (guint i = 0; i < repeat; i++) {
      double begin = seconds ();

      run (encoder, texts, texts + size, FALSE, &bytes, &tokens, &error);
      best = MIN (best, seconds () - begin);
    }
  if (repeat > 0 && error == NULL && encoder != NULL)
    g_print ("%.6f %" G_GSIZE_FORMAT " %" G_GSIZE_FORMAT "\n", best, bytes, tokens);
  if (error != NULL || encoder == NULL)
    g_printerr ("ids-dump: %s\n", error != NULL ? error->message : "usage: VOCAB FILE [REPEAT]");
  return error == NULL && encoder != NULL ? 0 : 1;
}
