/* text-test.c: what the text tests share */
#include "text-test.h"
#include <gio/gio.h>
#include <string.h>
#include "vocab-load.h"

char *
text_test_vocab_path (const char *name)
{
  g_autofree char *path = g_build_filename (HR_TEST_VOCAB, name, NULL);

  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    const char *const argv[] = { HR_FETCH_VOCAB, HR_TEST_VOCAB, NULL };

    g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, NULL, NULL);
  }
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  g_test_skip ("no vocabulary: tools/fetch-vocab could not fetch it");
  return NULL;
}

GBytes *
text_test_load_vocab (const char *name)
{
  g_autofree char *path = text_test_vocab_path (name);
  g_autoptr (GError) error = NULL;
  char *text;
  gsize size;

  if (path == NULL)
    return NULL;
  g_file_get_contents (path, &text, &size, &error);
  g_assert_no_error (error);
  return g_bytes_new_take (text, size);
}

const HrVocab *
text_test_vocab (void)
{
  static HrVocab *vocab;
  g_autoptr (GBytes) file = NULL;
  g_autoptr (GError) error = NULL;

  if (vocab != NULL)
    return vocab;
  file = text_test_load_vocab ("tokenizer.json");
  if (file == NULL)
    return NULL;
  vocab = hr_vocab_load_json (g_bytes_get_data (file, NULL), g_bytes_get_size (file), &error);
  g_assert_no_error (error);
  return vocab;
}

JsonNode *
text_test_json (const char *path)
{
  g_autofree char *full = g_build_filename (HR_TEST_DATA, path, NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;

  json_parser_load_from_file (parser, full, &error);
  g_assert_no_error (error);
  return json_parser_steal_root (parser);
}

/* ---- .npz: a zip file of .npy files ---- */

struct _TextArrays {
  GHashTable *arrays; /* name -> TextArray */
  GPtrArray *blocks;  /* GBytes that hold the data */
};

static guint
read_number (const guint8 *p, guint n)
{
  guint value = 0;

  while (n-- > 0)
    value = value << 8 | p[n];
  return value;
}

static GBytes *
inflate (const guint8 *data, gsize size, guint method, gsize full)
{
  g_autoptr (GZlibDecompressor) zlib = NULL;
  g_autoptr (GError) error = NULL;
  guint8 *out;
  gsize read = 0, written = 0;

  if (method == 0)
    return g_bytes_new (data, size);
  g_assert_cmpuint (method, ==, 8);
  zlib = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_RAW);
  out = g_malloc (full + 1);
  while (read < size && written < full) {
    gsize in = 0, done = 0;

    g_converter_convert (G_CONVERTER (zlib), data + read, size - read, out + written,
                         full + 1 - written, G_CONVERTER_INPUT_AT_END, &in, &done, &error);
    g_assert_no_error (error);
    read += in;
    written += done;
  }
  g_assert_cmpuint (written, ==, full);
  return g_bytes_new_take (out, full);
}

/* the text of a Python dictionary: {'descr': '<i4', 'fortran_order': False, 'shape': (3, 42), } */
static void
parse_npy (TextArray *array, GBytes *file)
{
  const guint8 *data = g_bytes_get_data (file, NULL);
  gsize header = data[6] == 1 ? read_number (data + 8, 2) : read_number (data + 8, 4);
  gsize begin = data[6] == 1 ? 10 : 12;
  g_autofree char *text = g_strndup ((const char *)data + begin, header);
  const char *p = strstr (text, "'descr': '") + strlen ("'descr': '") + 1;

  g_assert_nonnull (strstr (text, "'fortran_order': False"));
  g_strlcpy (array->dtype, p, MIN (sizeof (array->dtype), (gsize)(strchr (p, '\'') - p) + 1));
  array->n = 1;
  p = strchr (strstr (text, "'shape'"), '(') + 1;
  while (*p != ')') {
    char *end;

    array->shape[array->n_dims] = g_ascii_strtoll (p, &end, 10);
    array->n *= array->shape[array->n_dims++];
    g_assert_true (end > p);
    for (p = end; *p == ',' || *p == ' '; p++)
      ;
  }
  array->data = data + begin + header;
}

GBytes *
text_array_load_npy (const char *path, TextArray *array)
{
  g_autoptr (GError) error = NULL;
  char *data;
  gsize size;
  GBytes *file;

  g_file_get_contents (path, &data, &size, &error);
  g_assert_no_error (error);
  file = g_bytes_new_take (data, size);
  parse_npy (array, file);
  return file;
}

TextArrays *
text_arrays_load (const char *path)
{
  g_autofree char *full = g_build_filename (HR_TEST_DATA, path, NULL);
  TextArrays *arrays = g_new0 (TextArrays, 1);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  gsize size;
  const guint8 *zip, *end, *entry;

  g_file_get_contents (full, &text, &size, &error);
  g_assert_no_error (error);
  zip = (const guint8 *)text;
  arrays->arrays = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  arrays->blocks = g_ptr_array_new_with_free_func ((GDestroyNotify)g_bytes_unref);
  for (end = zip + size - 22; memcmp (end, "PK\5\6", 4) != 0; end--)
    g_assert_true (end > zip);
  entry = zip + read_number (end + 16, 4);
  for (guint i = read_number (end + 10, 2); i > 0; i--) {
    const guint8 *local = zip + read_number (entry + 42, 4);
    guint name_size = read_number (entry + 28, 2);
    char *name = g_strndup ((const char *)entry + 46, name_size);
    TextArray *array = g_new0 (TextArray, 1);
    GBytes *file = inflate (local + 30 + read_number (local + 26, 2) + read_number (local + 28, 2),
                            read_number (entry + 20, 4), read_number (entry + 10, 2),
                            read_number (entry + 24, 4));

    g_assert_true (g_str_has_suffix (name, ".npy"));
    name[name_size - 4] = '\0';
    parse_npy (array, file);
    g_ptr_array_add (arrays->blocks, file);
    g_hash_table_insert (arrays->arrays, name, array);
    entry += 46 + name_size + read_number (entry + 30, 2) + read_number (entry + 32, 2);
  }
  return arrays;
}

void
text_arrays_free (TextArrays *arrays)
{
  g_hash_table_unref (arrays->arrays);
  g_ptr_array_unref (arrays->blocks);
  g_free (arrays);
}

const TextArray *
text_arrays_find (TextArrays *arrays, const char *name)
{
  return g_hash_table_lookup (arrays->arrays, name);
}

const TextArray *
text_arrays_get (TextArrays *arrays, const char *format, ...)
{
  g_autofree char *name = NULL;
  const TextArray *array;
  va_list args;

  va_start (args, format);
  name = g_strdup_vprintf (format, args);
  va_end (args);
  array = text_arrays_find (arrays, name);
  if (array == NULL)
    g_error ("no array \"%s\"", name);
  return array;
}

gint64
text_array_int (const TextArray *array, gsize index)
{
  const char *type = array->dtype;

  g_assert_cmpuint (index, <, array->n);
  if (g_str_equal (type, "i8"))
    return ((const gint64 *)array->data)[index];
  if (g_str_equal (type, "i4"))
    return ((const gint32 *)array->data)[index];
  if (g_str_equal (type, "i1"))
    return ((const gint8 *)array->data)[index];
  g_assert_cmpstr (type, ==, "u1");
  return ((const guint8 *)array->data)[index];
}
