/* text-test.h: what the text tests share: the vocabulary, arrays made by NumPy */
#pragma once
#include <json-glib/json-glib.h>
#include "encode.h"

/* build/vocab/NAME, fetched if it is not there yet; NULL, with the test marked as skipped, if it
 * cannot be. (transfer full) */
GBytes *text_test_load_vocab (const char *name);
/* the vocabulary that most tests use, once a program; NULL as above. (transfer none) */
const HrVocab *text_test_vocab (void);
/* its file's path, NULL as above; (transfer full) */
char *text_test_vocab_path (const char *name);

/* the root of tests/data/@path; (transfer full) */
JsonNode *text_test_json (const char *path);

/* One array of an .npz file. */
typedef struct {
  char dtype[8]; /* "i4", "i8", "u1", "i1", "f4" */
  guint n_dims;
  gint64 shape[4];
  gsize n; /* elements */
  gconstpointer data;
} TextArray;

typedef struct _TextArrays TextArrays;

/* all arrays of tests/data/@path */
TextArrays *text_arrays_load (const char *path);
void text_arrays_free (TextArrays *arrays);
/* NULL if there is no array of that name */
const TextArray *text_arrays_find (TextArrays *arrays, const char *name);
/* the same, printf-style; there must be one */
const TextArray *text_arrays_get (TextArrays *arrays, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* an array of a .npy file; the bytes live as long as what is returned. (transfer full) */
GBytes *text_array_load_npy (const char *path, TextArray *array);
/* element @index of an array of whole numbers */
gint64 text_array_int (const TextArray *array, gsize index);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TextArrays, text_arrays_free)
