/* merges, beside a simple loop that does the same; added tokens, beside a search by eye */
#include "bpe.h"
#include <string.h>
#include "added.h"
#include "tiny.h"
#include "vocab-load.h"

/* ---- merges ---- */

/* a vocabulary of random merges over few letters, so that ranks and ties matter */
static HrVocab *
random_vocab (void)
{
  g_autoptr (GPtrArray) merges = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) tokens = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;
  HrVocab *vocab;
  Tiny tiny = { 0 };

  for (const char *c = "abc"; *c != '\0'; c++)
    g_ptr_array_add (tokens, g_strndup (c, 1));
  while (merges->len < 60) {
    const char *one = tokens->pdata[g_test_rand_int_range (0, tokens->len)];
    const char *two = tokens->pdata[g_test_rand_int_range (0, tokens->len)];
    char *sum = g_strconcat (one, two, NULL);

    if (strlen (sum) > 12 || g_hash_table_contains (seen, sum)) {
      g_free (sum);
      continue;
    }
    g_ptr_array_add (tokens, sum);
    g_hash_table_add (seen, sum);
    g_ptr_array_add (merges, g_strdup_printf ("%s %s", one, two));
  }
  g_ptr_array_add (merges, NULL);
  tiny.merges = (const char *const *)merges->pdata;
  json = tiny_to_json (&tiny);
  vocab = hr_vocab_load_json (json, strlen (json), &error);
  g_assert_no_error (error);
  return vocab;
}

/* the definition, as slow as it is */
static GArray *
merge_simply (const HrVocab *vocab, const char *text, gsize size)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (gsize i = 0; i < size; i++)
    g_array_append_val (ids, vocab->byte_ids[(guint8)text[i]]);
  for (;;) {
    const HrMerge *best = NULL;
    guint at = 0;

    for (guint i = 0; i + 1 < ids->len; i++) {
      const HrMerge *merge = hr_vocab_find_merge (vocab, g_array_index (ids, guint32, i),
                                                  g_array_index (ids, guint32, i + 1));

      if (merge != NULL && (best == NULL || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    }
    if (best == NULL)
      return ids;
    g_array_index (ids, guint32, at) = best->id;
    g_array_remove_index (ids, at + 1);
  }
}

static void
check_text (const HrVocab *vocab, HrBpe *bpe, gsize size)
{
  g_autofree char *text = g_malloc (size); /* of just this size, so that reading on is found */
  g_autoptr (GArray) expected = NULL;
  HrIds ids = { 0 };

  for (gsize i = 0; i < size; i++)
    text[i] = "aaabbc"[g_test_rand_int_range (0, 6)];
  expected = merge_simply (vocab, text, size);
  for (guint time = 0; time < 2; time++) { /* then from the cache */
    ids.n = 0;
    hr_bpe_encode (bpe, (guint8 *)text, size, (guint8 *)text + size, &ids);
    g_assert_cmpmem (ids.data, ids.n * 4, expected->data, expected->len * 4);
  }
  hr_ids_clear (&ids);
}

static void
test_beside_simple (void)
{
  static const gsize sizes[] = { 255, 256, 257, 300, 512, 700 };

  for (guint round = 0; round < 6; round++) {
    g_autoptr (HrVocab) vocab = random_vocab ();
    g_autoptr (HrBpe) bpe = hr_bpe_new (vocab);

    for (guint i = 0; i < 3000; i++)
      check_text (vocab, bpe, (gsize)g_test_rand_int_range (1, 60));
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      check_text (vocab, bpe, sizes[i]);
  }
}

/* Equal ranks: the leftmost first, on both sides of where the heap begins. */
static void
test_ties (void)
{
  static const char *const merges[] = { "a a", NULL };
  Tiny tiny = { .merges = merges };
  g_autofree char *json = tiny_to_json (&tiny);
  g_autoptr (GError) error = NULL;
  g_autoptr (HrVocab) vocab = hr_vocab_load_json (json, strlen (json), &error);
  g_autoptr (HrBpe) bpe = hr_bpe_new (vocab);

  for (gsize size = 1; size < 600; size++) {
    g_autofree char *text = g_strnfill (size, 'a');
    HrIds ids = { 0 };

    hr_bpe_encode (bpe, (guint8 *)text, size, (guint8 *)text + size, &ids);
    g_assert_cmpuint (ids.n, ==, (size + 1) / 2);
    for (gsize i = 0; i < size / 2; i++)
      g_assert_cmpuint (ids.data[i], ==, 256);
    if (size % 2 == 1)
      g_assert_cmpuint (ids.data[ids.n - 1], ==, 'a');
    hr_ids_clear (&ids);
  }
}

/* ---- added tokens ---- */

static void
test_added (void)
{
  g_autoptr (HrAdded) added = hr_added_new ();
  gsize at, length;
  guint32 value;

  g_assert_true (hr_added_is_empty (added));
  g_assert_false (hr_added_find (added, (const guint8 *)"abc", 3, &at, &length, &value));
  hr_added_add (added, "ab", 1);
  hr_added_add (added, "abcd", 2);
  hr_added_add (added, "ab", 3); /* the first stays */
  hr_added_add (added, "cdx", 4);
  hr_added_add (added, "", 5);
  g_assert_false (hr_added_is_empty (added));
  g_assert_true (hr_added_find (added, (const guint8 *)"xabc", 4, &at, &length, &value));
  g_assert_cmpuint (at, ==, 1);
  g_assert_cmpuint (length, ==, 2);
  g_assert_cmpuint (value, ==, 1);
  g_assert_true (hr_added_find (added, (const guint8 *)"abcdx", 5, &at, &length, &value));
  g_assert_cmpuint (at, ==, 0);
  g_assert_cmpuint (value, ==, 2);
  /* not behind the end */
  g_assert_true (hr_added_find (added, (const guint8 *)"abcd", 3, &at, &length, &value));
  g_assert_cmpuint (value, ==, 1);
  g_assert_false (hr_added_find (added, (const guint8 *)"cda", 3, &at, &length, &value));
}

/* beside trying all of them at each place */
static void
test_added_random (void)
{
  for (guint round = 0; round < 300; round++) {
    g_autoptr (HrAdded) added = hr_added_new ();
    g_autoptr (GPtrArray) tokens = g_ptr_array_new_with_free_func (g_free);
    char text[40];

    for (gint n = g_test_rand_int_range (1, 8); n > 0; n--) {
      char token[6] = { 0 };

      for (gint i = g_test_rand_int_range (1, 5); i > 0; i--)
        token[i - 1] = "ab<"[g_test_rand_int_range (0, 3)];
      g_ptr_array_add (tokens, g_strdup (token));
      hr_added_add (added, token, tokens->len - 1);
    }
    for (guint i = 0; i < sizeof (text); i++)
      text[i] = "ab<>"[g_test_rand_int_range (0, 4)];
    for (gsize from = 0; from < sizeof (text); from++) {
      gsize at, length, best_at = sizeof (text), best = 0, end = sizeof (text) - from;
      guint32 value;
      gboolean found = hr_added_find (added, (guint8 *)text + from, end, &at, &length, &value);

      for (gsize place = 0; place < end && best == 0; place++)
        for (guint i = 0; i < tokens->len; i++) {
          gsize size = strlen (tokens->pdata[i]);

          if (size > best && size <= end - place
              && memcmp (text + from + place, tokens->pdata[i], size) == 0) {
            best = size;
            best_at = place;
          }
        }
      g_assert_cmpint (found, ==, best > 0);
      if (found) {
        g_assert_cmpuint (at, ==, best_at);
        g_assert_cmpuint (length, ==, best);
        g_assert_cmpmem (tokens->pdata[value], length, text + from + at, length);
      }
    }
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/bpe/beside-simple", test_beside_simple);
  g_test_add_func ("/text/bpe/ties", test_ties);
  g_test_add_func ("/text/added/find", test_added);
  g_test_add_func ("/text/added/random", test_added_random);
  return g_test_run ();
}
