/* test-lines.c: any text, any block size, any way of reading: the same lines */
#include "hr-error.h"
#include "lines.h"
#include <string.h>

typedef struct {
  const char *text;
  gsize size;
  gsize at;
  gsize step;    /* most bytes a read gives */
  gsize fail_at; /* a read there fails */
  gsize most;    /* largest block asked for */
} Stream;

static gssize
stream_read (gpointer data, guint8 *into, gsize size, GError **error)
{
  Stream *stream = data;
  gsize n = MIN (MIN (size, stream->step), stream->size - stream->at);

  if (stream->at >= stream->fail_at) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "broken");
    return -1;
  }
  memcpy (into, stream->text + stream->at, n);
  stream->at += n;
  return n;
}

static HrMemory *
stream_alloc (gpointer data, gsize size, GError **error G_GNUC_UNUSED)
{
  Stream *stream = data;

  g_assert_cmpuint (size, >, 0);
  stream->most = MAX (stream->most, size);
  return hr_memory_new (size);
}

static const HrLinesFuncs funcs = { stream_read, stream_alloc };

static HrLines *
lines_new (Stream *stream, gsize block, gsize limit)
{
  return hr_lines_new (&funcs, stream, block, limit);
}

static void
begin (HrLines *lines, gint64 start, gint64 end)
{
  GRefString *uri = g_ref_string_new ("a.jsonl"), *root = g_ref_string_new ("/data/");

  hr_lines_begin (lines, uri, root, start, end);
  g_ref_string_release (uri);
  g_ref_string_release (root);
}

/* the blocks' text; checks what each must be */
static GString *
read_all (HrLines *lines, const Stream *stream, gint64 line, gsize block_bytes)
{
  GString *text = g_string_new (NULL);
  HrBuffer *block;
  g_autoptr (GError) error = NULL;

  while (hr_lines_next (lines, &block, &error) && block) {
    HrOrigin *origin = hr_buffer_get_origin (block);
    HrTensor *tensor = hr_buffer_get_tensor (block, "lines");
    const char *data = hr_tensor_get_data (tensor);
    gsize size = hr_tensor_get_n_bytes (tensor);

    g_assert_cmpuint (size, >, 0);
    g_assert_cmpstr (origin->uri, ==, "a.jsonl");
    g_assert_cmpstr (origin->root, ==, "/data/");
    g_assert_cmpint (origin->length, ==, size);
    g_assert_cmpint (origin->line, ==, line);
    g_assert_cmpmem (data, size, stream->text + origin->byte, size);
    /* whole lines: begins behind an end, ends with one unless it is the last */
    g_assert_true (origin->byte == 0 || stream->text[origin->byte - 1] == '\n');
    g_assert_true (data[size - 1] == '\n' || origin->byte + size == stream->size);
    /* longer than a block only if it is one line */
    g_assert_true (size <= block_bytes || !memchr (data, '\n', size - 1));
    for (gsize i = 0; line >= 0 && i < size; i++)
      line += data[i] == '\n';
    g_string_append_len (text, data, size);
    hr_buffer_unref (block);
  }
  g_assert_no_error (error);
  return text;
}

static char *
random_text (GRand *random, gsize size)
{
  char *text = g_malloc (size + 1);

  for (gsize i = 0; i < size; i++)
    text[i] = g_rand_int_range (random, 0, 6) ? (char)('a' + i % 26)
                                              : "\n\r\n "[g_rand_int_range (random, 0, 4)];
  text[size] = '\0';
  return text;
}

static void
test_whole (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);

  for (guint round = 0; round < 3000; round++) {
    gsize size = g_rand_int_range (random, 0, 200), block = g_rand_int_range (random, 1, 40);
    g_autofree char *text = random_text (random, size);
    Stream stream = {
      .text = text, .size = size, .step = g_rand_int_range (random, 1, 60), .fail_at = G_MAXSIZE
    };
    g_autoptr (HrLines) lines = lines_new (&stream, block, 1000);
    GString *got;

    begin (lines, 0, g_rand_boolean (random) ? (gint64)size : -1);
    got = read_all (lines, &stream, 1, block);
    g_assert_cmpmem (got->str, got->len, text, size);
    g_string_free (got, TRUE);
  }
  g_assert_cmpint (hr_buffer_live (), ==, 0);
  g_assert_cmpint (hr_memory_live (), ==, 0);
}

/* every line belongs to exactly the extent it begins in, however the extents are cut */
static void
test_extents (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (2);

  for (guint round = 0; round < 3000; round++) {
    gsize size = g_rand_int_range (random, 1, 200), block = g_rand_int_range (random, 1, 40);
    g_autofree char *text = random_text (random, size);
    g_autoptr (GString) got = g_string_new (NULL);
    gint64 start = 0;

    while (start < (gint64)size) {
      gint64 end = MIN (start + g_rand_int_range (random, 1, 50), (gint64)size);
      Stream stream = { .text = text,
                        .size = size,
                        .at = start > 0 ? start - 1 : 0,
                        .step = g_rand_int_range (random, 1, 60),
                        .fail_at = G_MAXSIZE };
      g_autoptr (HrLines) lines = lines_new (&stream, block, 1000);
      GString *part;

      begin (lines, start, end);
      part = read_all (lines, &stream, start > 0 ? -1 : 1, block);
      g_string_append_len (got, part->str, part->len);
      g_string_free (part, TRUE);
      start = end;
    }
    g_assert_cmpmem (got->str, got->len, text, size);
  }
}

/* an end that moves while it is read is no border */
static void
test_extend (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (3);

  for (guint round = 0; round < 1000; round++) {
    gsize size = g_rand_int_range (random, 1, 200), block = g_rand_int_range (random, 1, 40);
    g_autofree char *text = random_text (random, size);
    Stream stream = { .text = text, .size = size, .step = 60, .fail_at = G_MAXSIZE };
    g_autoptr (HrLines) lines = lines_new (&stream, block, 1000);
    g_autoptr (GString) got = g_string_new (NULL);
    gint64 end = 0;
    gint64 line = 1;

    begin (lines, 0, 0);
    while (end < (gint64)size) {
      GString *part;

      end = MIN (end + g_rand_int_range (random, 1, 50), (gint64)size);
      hr_lines_extend (lines, end);
      part = read_all (lines, &stream, line, block);
      for (gsize i = 0; i < part->len; i++)
        line += part->str[i] == '\n';
      g_string_append_len (got, part->str, part->len);
      g_string_free (part, TRUE);
    }
    g_assert_cmpmem (got->str, got->len, text, size);
  }
}

/* a line over the limit: its beginning, its true place and length, and little memory */
static void
check_long (const char *ends, gboolean last)
{
  g_autoptr (GString) text = g_string_new ("first\n");
  gsize long_bytes = 1000 * 1000;
  Stream stream = { .step = 777, .fail_at = G_MAXSIZE };
  g_autoptr (HrLines) lines = NULL;
  HrBuffer *block = NULL;
  HrOrigin *origin;
  HrTensor *tensor;

  for (gsize i = 0; i < long_bytes; i++)
    g_string_append_c (text, 'x');
  g_string_append (text, ends);
  if (!last)
    g_string_append (text, "last\n");
  stream.text = text->str;
  stream.size = text->len;
  lines = lines_new (&stream, 64, 1000);
  begin (lines, 0, text->len);

  g_assert_true (hr_lines_next (lines, &block, NULL));
  g_assert_cmpint (hr_buffer_get_origin (block)->length, ==, 6);
  g_assert_null (hr_buffer_get_string (block, "line-limit"));
  hr_buffer_unref (block);

  g_assert_true (hr_lines_next (lines, &block, NULL));
  origin = hr_buffer_get_origin (block);
  tensor = hr_buffer_get_tensor (block, "lines");
  g_assert_cmpint (origin->byte, ==, 6);
  g_assert_cmpint (origin->line, ==, 2);
  g_assert_cmpint (origin->length, ==, long_bytes);
  g_assert_cmpstr (hr_buffer_get_string (block, "line-limit"), ==, "1000");
  g_assert_cmpuint (hr_tensor_get_n_bytes (tensor), ==, 1001);
  hr_buffer_unref (block);
  g_assert_cmpuint (stream.most, <=, 4096);

  g_assert_true (hr_lines_next (lines, &block, NULL));
  if (last) {
    g_assert_null (block);
    return;
  }
  origin = hr_buffer_get_origin (block);
  g_assert_cmpint (origin->line, ==, 3);
  g_assert_cmpint (origin->byte, ==, 6 + long_bytes + strlen (ends));
  g_assert_cmpint (origin->length, ==, 5);
  hr_buffer_unref (block);
}

static void
test_long (void)
{
  check_long ("\n", FALSE);
  check_long ("\r\n", FALSE);
  check_long ("\n", TRUE);
  check_long ("", TRUE);
}

/* a blank line is none, however long; text behind the blanks makes it one that is too long */
static void
check_long_blank (const char *mark, const char *rest, gboolean blank)
{
  g_autofree char *spaces = g_strnfill (100 * 1000, ' ');
  g_autofree char *text = g_strconcat ("first\n", mark, spaces, rest, "\nlast\n", NULL);
  Stream stream = { .text = text, .size = strlen (text), .step = 777, .fail_at = G_MAXSIZE };
  g_autoptr (HrLines) lines = lines_new (&stream, 64, 1000);
  HrBuffer *block = NULL;

  begin (lines, 0, stream.size);
  g_assert_true (hr_lines_next (lines, &block, NULL));
  hr_buffer_unref (block);
  if (!blank) {
    g_assert_true (hr_lines_next (lines, &block, NULL));
    g_assert_cmpstr (hr_buffer_get_string (block, "line-limit"), ==, "1000");
    g_assert_cmpint (hr_buffer_get_origin (block)->line, ==, 2);
    hr_buffer_unref (block);
  }
  g_assert_true (hr_lines_next (lines, &block, NULL));
  g_assert_cmpint (hr_buffer_get_origin (block)->line, ==, 3);
  g_assert_cmpint (hr_buffer_get_origin (block)->byte, ==, (gint64)stream.size - 5);
  g_assert_null (hr_buffer_get_string (block, "line-limit"));
  hr_buffer_unref (block);
}

static void
test_long_blank (void)
{
  check_long_blank ("", "", TRUE);
  check_long_blank ("", "\t \r", TRUE);
  check_long_blank ("\xef\xbb\xbf", "", TRUE);
  check_long_blank ("", "x", FALSE);
  check_long_blank ("\xef\xbb\xbf", "\xef\xbb\xbf", FALSE);
}

/* a byte less than the limit, the limit, a byte more */
static void
test_limit (void)
{
  for (gsize n = 99; n <= 101; n++) {
    g_autofree char *line = g_strnfill (n, 'y'), *text = g_strconcat (line, "\nz\n", NULL);
    Stream stream = { .text = text, .size = strlen (text), .step = 10, .fail_at = G_MAXSIZE };
    g_autoptr (HrLines) lines = lines_new (&stream, 10, 100);
    HrBuffer *block = NULL;

    begin (lines, 0, -1);
    g_assert_true (hr_lines_next (lines, &block, NULL));
    g_assert_cmpint (hr_buffer_get_origin (block)->byte, ==, 0);
    if (n > 100) {
      g_assert_cmpstr (hr_buffer_get_string (block, "line-limit"), ==, "100");
      g_assert_cmpint (hr_buffer_get_origin (block)->length, ==, n);
    } else {
      g_assert_null (hr_buffer_get_string (block, "line-limit"));
      g_assert_cmpint (hr_buffer_get_origin (block)->length, >=, n + 1);
    }
    hr_buffer_unref (block);
  }
}

static void
test_failure (void)
{
  Stream stream = { .text = "a\nb\nc\nd\n", .size = 8, .step = 2, .fail_at = 4 };
  g_autoptr (HrLines) lines = lines_new (&stream, 4, 100);
  g_autoptr (GError) error = NULL;
  HrBuffer *block = NULL;

  begin (lines, 0, -1);
  g_assert_true (hr_lines_next (lines, &block, &error));
  g_assert_cmpint (hr_buffer_get_origin (block)->length, ==, 4);
  hr_buffer_unref (block);
  g_assert_false (hr_lines_next (lines, &block, &error));
  g_assert_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ);
  g_assert_null (block);
}

/* a small object does not take a large block */
static void
test_small (void)
{
  Stream stream = { .text = "{}\n", .size = 3, .step = 100, .fail_at = G_MAXSIZE };
  g_autoptr (HrLines) lines = lines_new (&stream, 1 << 20, 1 << 20);
  HrBuffer *block = NULL;

  begin (lines, 0, 3);
  g_assert_true (hr_lines_next (lines, &block, NULL));
  g_assert_cmpuint (stream.most, ==, 3);
  g_assert_cmpuint (hr_lines_take_copied (lines), ==, 0);
  hr_buffer_unref (block);
  g_assert_true (hr_lines_next (lines, &block, NULL));
  g_assert_null (block);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/lines/whole", test_whole);
  g_test_add_func ("/io/lines/extents", test_extents);
  g_test_add_func ("/io/lines/extend", test_extend);
  g_test_add_func ("/io/lines/long", test_long);
  g_test_add_func ("/io/lines/long-blank", test_long_blank);
  g_test_add_func ("/io/lines/limit", test_limit);
  g_test_add_func ("/io/lines/failure", test_failure);
  g_test_add_func ("/io/lines/small", test_small);
  return g_test_run ();
}
