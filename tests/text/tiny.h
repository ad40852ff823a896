/* tiny.h: small tokenizer.json files, made to measure */
#pragma once
#include <glib.h>

/**
 * Tiny: parts of a tokenizer.json, as JSON; NULL: what is usual
 * @merges: pairs, "a b", NULL-terminated; each becomes the token "ab", with ids from 256 on
 * @old_merges: written as "a b", not as ["a", "b"]
 * @model: more members of the model: "\"ignore_merges\": true"
 * @vocab: more tokens: "\"abc\": 300"
 */
typedef struct {
  const char *const *merges;
  gboolean old_merges;
  const char *model;
  const char *vocab;
  const char *normalizer;
  const char *pre_tokenizer;
  const char *added;
} Tiny;

/* (transfer full) */
char *tiny_to_json (const Tiny *tiny);
