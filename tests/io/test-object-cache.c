/* test-object-cache.c: with a cache on disk the same bytes are delivered as without, whatever lies
 * in its folder */
#include "fake-s3.h"
#include "hr-harness.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define N_IMAGES 37
/* image 5 has no bytes, is linked to by three records, and is never kept */
#define EMPTY 5
#define N_EMPTY 3
#define MIB (1024 * 1024)

static FakeS3 *s3;
static char *folder;

static gsize
image_size (guint i)
{
  return i == EMPTY ? 0 : 1 + (i * 7919) % 90000;
}

static void
put_image (guint i, guint version)
{
  g_autofree char *key = g_strdup_printf ("set/i/%u", i), *bytes = g_malloc (image_size (i) + 1);

  for (gsize at = 0; at < image_size (i); at++)
    bytes[at] = (char)((at * (i + 3) + version * 101 + at / 251) & 0xff);
  fake_s3_put (s3, key, bytes, image_size (i));
}

/* every image in one record, some in two */
static void
put_set (void)
{
  g_autoptr (GString) lines = g_string_new (NULL);

  for (guint i = 0; i < N_IMAGES; i++) {
    put_image (i, 0);
    g_string_append_printf (
        lines,
        "{\"id\":\"r%u\",\"image\":[\"i/%u\",\"i/%u\"],\"conversations\":[{\"from\":\"human\","
        "\"value\":\"<image><image>What?\"},{\"from\":\"gpt\",\"value\":\"That.\"}]}\n",
        i, i, i / 2);
  }
  fake_s3_put (s3, "set/a.jsonl", lines->str, lines->len);
}

static void
begin (void)
{
  g_autofree char *parent = g_dir_make_tmp ("headrace-cache-XXXXXX", NULL);

  s3 = fake_s3_new ();
  fake_s3_use (s3);
  put_set ();
  folder = g_build_filename (parent, "c", NULL);
}

static GPtrArray *
list_files (void)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  return paths;
}

static void
empty_folder (void)
{
  g_autoptr (GPtrArray) paths = list_files ();

  for (guint i = 0; i < paths->len; i++)
    g_assert_cmpint (g_remove (paths->pdata[i]), ==, 0);
}

static void
end (void)
{
  g_autofree char *parent = g_path_get_dirname (folder);

  empty_folder ();
  g_rmdir (folder);
  g_assert_cmpint (g_rmdir (parent), ==, 0);
  g_clear_pointer (&folder, g_free);
  g_clear_pointer (&s3, fake_s3_free);
  hr_harness_assert_no_leaks ();
}

/* ---- runs ---- */

typedef struct {
  char *sha256;
  JsonParser *stats;
  GError *error;
  guint n_warnings;
  char *warning;
} Run;

static void
run_clear (Run *run)
{
  g_free (run->sha256);
  g_clear_object (&run->stats);
  g_clear_error (&run->error);
  g_free (run->warning);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

static JsonObject *
run_get_element (const Run *run, const char *factory)
{
  JsonObject *root = json_node_get_object (json_parser_get_root (run->stats));
  JsonArray *elements = json_object_get_array_member (root, "elements");

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);

    if (strcmp (json_object_get_string_member (element, "factory"), factory) == 0)
      return element;
  }
  g_assert_not_reached ();
}

static gint64
run_count (const Run *run, const char *factory, const char *name)
{
  return json_object_get_int_member (run_get_element (run, factory), name);
}

/* @source and @fetch: further properties; @head: of the pipeline */
static Run
run_set (const char *head, const char *source, const char *fetch)
{
  g_autofree char *text = g_strdup_printf (
      "checksum=true %s s3src location=s3://demo/set/ part-bytes=1000 hedge=false %s ! "
      "jsonlparse ! imagefetch hedge=false %s ! fakesink",
      head, source, fetch);
  g_autofree char *stats = NULL;
  g_autoptr (HrPipeline) pipeline = NULL;
  HrMessage *message;
  Run run = { 0 };

  pipeline = hr_parse_launch (text, &run.error);
  g_assert_no_error (run.error);
  if (hr_pipeline_start (pipeline, &run.error))
    hr_pipeline_wait (pipeline, &run.error);
  while ((message = hr_pipeline_pop_message (pipeline, 0))) {
    if (message->type == HR_MESSAGE_WARNING) {
      run.n_warnings++;
      g_free (run.warning);
      run.warning = g_strdup (message->error->message);
    }
    hr_message_unref (message);
  }
  stats = hr_pipeline_get_stats (pipeline);
  run.stats = json_parser_new ();
  g_assert_true (json_parser_load_from_data (run.stats, stats, -1, NULL));
  run.sha256 = g_strdup (json_object_get_string_member_with_default (
      json_node_get_object (json_parser_get_root (run.stats)), "sha256", NULL));
  return run;
}

static Run
run_cached (const char *head, const char *more)
{
  g_autofree char *source = g_strdup_printf ("cache=%s", folder),
                  *fetch = g_strdup_printf ("cache=%s %s", folder, more);

  return run_set (head, source, fetch);
}

static void
assert_same (const Run *run, const Run *right)
{
  g_assert_no_error (run->error);
  g_assert_nonnull (run->sha256);
  g_assert_cmpstr (run->sha256, ==, right->sha256);
}

static gint64
all_bytes (void)
{
  gint64 sum = 0;

  for (guint i = 0; i < N_IMAGES; i++)
    sum += image_size (i) + image_size (i / 2);
  return sum;
}

/* of all images */
static guint
count_gets (void)
{
  guint n = 0;

  for (guint i = 0; i < N_IMAGES; i++) {
    g_autofree char *key = g_strdup_printf ("set/i/%u", i);

    n += fake_s3_get_count (s3, key);
  }
  return n;
}

/* ---- tests ---- */

static void
test_warm (void)
{
  static const char *const heads[] = { "", "serial=true", "memory=1", "memory=30000" };

  for (guint i = 0; i < G_N_ELEMENTS (heads); i++) {
    begin ();
    {
      g_auto (Run) plain = run_set (heads[i], "", "");
      guint gets = count_gets ();
      g_auto (Run) cold = run_cached (heads[i], "");
      guint gets_cold = count_gets (), parts = fake_s3_get_count (s3, "set/a.jsonl");
      g_auto (Run) warm = run_cached (heads[i], "");
      guint gets_warm = count_gets ();
      g_auto (Run) trusted = run_cached (heads[i], "cache-age=1h");
      guint n_at_once = 2 * N_IMAGES;

      g_assert_no_error (plain.error);
      g_assert_false (
          json_object_has_member (run_get_element (&plain, "imagefetch"), "cache_hits"));
      assert_same (&cold, &plain);
      assert_same (&warm, &plain);
      assert_same (&trusted, &plain);

      /* cold: each was fetched and kept, or, the second time, confirmed */
      g_assert_cmpuint (gets_cold - gets, ==, n_at_once);
      g_assert_cmpint (run_count (&cold, "imagefetch", "cache_hits")
                           + run_count (&cold, "imagefetch", "cache_misses"),
                       ==, n_at_once);
      g_assert_cmpint (run_count (&cold, "imagefetch", "cache_misses"), >=, N_IMAGES);
      g_assert_cmpint (run_count (&cold, "imagefetch", "cache_not_stored"), ==, N_EMPTY);
      /* warm: each was asked for, none came */
      g_assert_cmpuint (gets_warm - gets_cold, ==, n_at_once);
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_hits"), ==, n_at_once - N_EMPTY);
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_hit_bytes"), ==, all_bytes ());
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_misses"), ==, N_EMPTY);
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_stored_bytes"), ==, 0);
      /* trusted: none was asked for */
      g_assert_cmpuint (count_gets () - gets_warm, ==, N_EMPTY);
      g_assert_cmpint (run_count (&trusted, "imagefetch", "requests"), ==, N_EMPTY);
      g_assert_cmpint (run_count (&trusted, "imagefetch", "cache_hits"), ==, n_at_once - N_EMPTY);

      /* text of a listed version is not asked for either */
      g_assert_cmpuint (fake_s3_get_count (s3, "set/a.jsonl"), ==, parts);
      g_assert_cmpint (run_count (&warm, "s3src", "cache_hits"), ==,
                       run_count (&cold, "s3src", "cache_misses"));
      g_assert_cmpint (run_count (&warm, "s3src", "cache_misses"), ==, 0);
      g_assert_cmpint (run_count (&warm, "s3src", "cache_hits"), >, 3);
    }
    end ();
  }
}

/* a new version is a new version, on both sides; old ones are taken only within cache-age */
static void
test_replaced (void)
{
  begin ();
  {
    g_auto (Run) first = run_cached ("", "");

    g_assert_no_error (first.error);
    put_image (7, 1);
    put_image (5, 1);
    put_image (11, 2);
    {
      g_auto (Run) trusted = run_cached ("", "cache-age=1h");
      g_auto (Run) plain = run_set ("", "", "");
      g_auto (Run) asked = run_cached ("", "");
      g_auto (Run) again = run_cached ("", "cache-age=1h");

      assert_same (&trusted, &first);
      g_assert_cmpstr (plain.sha256, !=, first.sha256);
      assert_same (&asked, &plain);
      assert_same (&again, &plain);
      g_assert_cmpint (run_count (&again, "imagefetch", "cache_misses"), ==, N_EMPTY);
    }
    /* the same when the requests are those of other threads */
    for (guint i = 0; i < N_IMAGES; i += 3)
      put_image (i, 3);
    {
      g_auto (Run) plain = run_set ("", "", "");
      g_auto (Run) asked = run_cached ("", "io-threads=3"), warm = run_cached ("", "io-threads=3");

      assert_same (&asked, &plain);
      assert_same (&warm, &plain);
      g_assert_cmpint (run_count (&asked, "imagefetch", "cache_hits"), >, 10);
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_misses"), ==, N_EMPTY);
    }
    fake_s3_put (s3, "set/a.jsonl", "{\"id\":\"x\",\"messages\":[]}\n", 26);
    {
      g_auto (Run) plain = run_set ("on-error=skip", "", "");
      g_auto (Run) cached = run_cached ("on-error=skip", "");

      g_assert_cmpstr (cached.sha256, ==, plain.sha256);
      g_assert_cmpint (run_count (&cached, "s3src", "cache_hits"), ==, 0);
    }
  }
  end ();
}

/* what is older than cache-age, or comes from the future, is asked for */
static void
test_age (void)
{
  static const gint64 ages[] = { 7200, -7200 };

  begin ();
  {
    g_auto (Run) plain = run_set ("", "", ""), cold = run_cached ("", "");

    assert_same (&cold, &plain);
    for (guint i = 0; i < G_N_ELEMENTS (ages); i++) {
      g_autoptr (GPtrArray) paths = list_files ();
      struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                   { .tv_sec = g_get_real_time () / G_USEC_PER_SEC - ages[i] } };
      guint gets = count_gets ();

      for (guint k = 0; k < paths->len; k++)
        g_assert_cmpint (utimensat (AT_FDCWD, paths->pdata[k], times, 0), ==, 0);
      {
        g_auto (Run) old = run_cached ("serial=true", "cache-age=1h");
        /* each once, then it was confirmed; but the first sample asks for its two at once */
        guint gets_old = count_gets ();
        g_auto (Run) confirmed = run_cached ("serial=true", "cache-age=1h");

        assert_same (&old, &plain);
        assert_same (&confirmed, &plain);
        g_assert_cmpuint (gets_old - gets, ==, N_IMAGES + 1 + N_EMPTY - 1);
        g_assert_cmpuint (count_gets (), ==, gets_old + N_EMPTY);
      }
    }
  }
  end ();
}

static void
spoil (const char *path, guint how)
{
  g_autofree char *bytes = NULL;
  struct stat info;
  gsize size;
  FILE *file;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_assert_cmpint (stat (path, &info), ==, 0);
  g_assert_cmpint (g_unlink (path), ==, 0);
  switch (how % 6) {
  case 0: /* one bit of the bytes, of the head */
    bytes[size - 1 - (how / 6) % 40 % size] ^= 1;
    break;
  case 1:
    bytes[(how / 6) % size] ^= 1 << (how % 8);
    break;
  case 2:
    size /= 2;
    break;
  case 3:
    size = 0;
    break;
  case 4:
    memset (bytes, 0, size);
    break;
  default: /* a folder in its place */
    g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
    return;
  }
  /* g_file_set_contents() would wait for the disk */
  file = fopen (path, "w");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (bytes, 1, size, file), ==, size);
  g_assert_cmpint (fclose (file), ==, 0);
}

/* whatever has become of the files: the bytes are right, and the files are mended */
static void
test_spoilt (void)
{
  static const char *const ages[] = { "", "cache-age=1h" };

  begin ();
  {
    g_auto (Run) plain = run_set ("", "", "");
    guint seed = 0;

    for (guint round = 0; round < 4; round++) {
      g_auto (Run) cold = run_cached ("", "");
      g_autoptr (GPtrArray) paths = list_files ();

      assert_same (&cold, &plain);
      /* no folders in the first rounds: what cannot be replaced ends the storing */
      for (guint i = 0; i < paths->len; i++, seed++)
        spoil (paths->pdata[i], round < 2 ? seed / 5 * 6 + seed % 5 : seed);
      {
        g_auto (Run) spoilt = run_cached ("", ages[round % 2]);

        assert_same (&spoilt, &plain);
        if (round < 2) {
          g_auto (Run) mended = run_cached ("", ages[round % 2]);

          g_assert_cmpint (run_count (&spoilt, "imagefetch", "cache_misses"), >=, N_IMAGES);
          g_assert_cmpint (run_count (&spoilt, "imagefetch", "cache_spoilt"), >, 5);
          assert_same (&mended, &plain);
          g_assert_cmpint (run_count (&mended, "imagefetch", "cache_misses"), ==, N_EMPTY);
          g_assert_cmpint (run_count (&mended, "s3src", "cache_misses"), ==, 0);
        } else {
          g_assert_cmpuint (spoilt.n_warnings, >=, 1);
          g_assert_cmpuint (spoilt.n_warnings, <=, 2); /* one an element */
        }
      }
      empty_folder ();
    }
  }
  end ();
}

/* ---- servers that are strange ---- */

typedef enum { STRANGE_304, UNASKED_304, WEAK, NO_ETAG, HALF_THEN_304, N_STRANGE } Strange;

static void
be_strange (const FakeRequest *request, FakeReply *reply, const char *key,
            guint count G_GNUC_UNUSED, gpointer data)
{
  g_autofree char *asked = fake_request_get_header (request, "If-None-Match"),
                  *match = fake_request_get_header (request, "If-Match");

  if (!key || !g_str_has_prefix (key, "set/i/"))
    return;
  switch (*(Strange *)data) {
  case STRANGE_304: /* of another version than the one that was named */
    if (!asked)
      break;
    g_clear_pointer (&reply->body, g_free);
    g_clear_pointer (&reply->headers, g_free);
    reply->size = 0;
    reply->status = 304;
    fake_reply_add_header (reply, "ETag", "\"another\"");
    break;
  case UNASKED_304:
    if (!asked) {
      g_clear_pointer (&reply->body, g_free);
      reply->size = 0;
      reply->status = 304;
    }
    break;
  case WEAK:
  case NO_ETAG:
    g_clear_pointer (&reply->headers, g_free);
    if (*(Strange *)data == WEAK)
      fake_reply_add_header (reply, "ETag", "W/\"1\"");
    break;
  case HALF_THEN_304: /* the new one breaks off without a name, and then the old one holds */
    if (reply->size < 2)
      break;
    if (asked) {
      g_clear_pointer (&reply->headers, g_free);
      reply->status = 200;
      reply->cut = reply->size / 2;
      reply->end = FAKE_CLOSE;
    } else if (!match) {
      g_clear_pointer (&reply->body, g_free);
      reply->size = 0;
      reply->status = 304;
    }
    break;
  case N_STRANGE:
    g_assert_not_reached ();
  }
}

static void
test_strange (void)
{
  for (Strange strange = 0; strange < N_STRANGE; strange++) {
    begin ();
    {
      g_auto (Run) plain = run_set ("", "", "");

      if (strange == STRANGE_304 || strange == HALF_THEN_304) {
        g_auto (Run) cold = run_cached ("", "");

        assert_same (&cold, &plain);
      }
      if (strange == STRANGE_304 || strange == HALF_THEN_304)
        for (guint i = 0; i < N_IMAGES; i++)
          put_image (i, 1);
      fake_s3_set_hook (s3, be_strange, &strange);
      {
        g_auto (Run) run = run_cached ("", "tries=2");

        if (strange == UNASKED_304 || strange == HALF_THEN_304) {
          g_assert_nonnull (run.error);
          g_assert_nonnull (strstr (run.error->message, "304"));
        } else {
          g_auto (Run) right = run_set ("", "", "");

          assert_same (&run, &right);
        }
        if (strange == WEAK || strange == NO_ETAG) {
          g_auto (Run) again = run_cached ("", ""), kept = run_cached ("", "cache-age=1h"),
                       trusted = run_cached ("", "cache-age=1h");

          g_assert_cmpint (run_count (&again, "imagefetch", "cache_hits"), ==, 0);
          g_assert_cmpint (run_count (&again, "imagefetch", "cache_not_stored"), ==, 2 * N_IMAGES);
          g_assert_cmpint (run_count (&trusted, "imagefetch", "cache_hits"), ==,
                           2 * N_IMAGES - N_EMPTY);
          assert_same (&kept, &plain);
          assert_same (&trusted, &plain);
        }
      }
    }
    end ();
  }
}

/* keys of two servers are two objects */
static void
test_endpoints (void)
{
  begin ();
  {
    g_auto (Run) one = run_cached ("", "cache-age=1h");
    FakeS3 *first = s3;

    g_assert_no_error (one.error);
    s3 = fake_s3_new ();
    fake_s3_use (s3);
    put_set ();
    for (guint i = 0; i < N_IMAGES; i++)
      put_image (i, 9);
    {
      g_auto (Run) plain = run_set ("", "", ""), two = run_cached ("", "cache-age=1h");

      g_assert_cmpstr (plain.sha256, !=, one.sha256);
      assert_same (&two, &plain);
      g_assert_cmpint (run_count (&two, "imagefetch", "cache_misses"), >=, N_IMAGES);
    }
    fake_s3_free (first);
  }
  end ();
}

/* what is gone, or larger than is allowed by now, is so with a cache too */
static void
test_same_errors (void)
{
  begin ();
  {
    g_auto (Run) cold = run_cached ("", "cache-age=1h");
    g_auto (Run) large = run_cached ("", "cache-age=1h max-bytes=50000");
    g_autoptr (GPtrArray) before = list_files (), after = NULL;

    g_assert_no_error (cold.error);
    g_assert_error (large.error, HR_DATA_ERROR, HR_DATA_ERROR_IMAGE_TOO_LARGE);
    after = list_files ();
    g_assert_cmpuint (before->len, ==, after->len);
    g_clear_pointer (&s3, fake_s3_free); /* the server is gone, and asked all the same */
    {
      g_auto (Run) gone = run_cached ("", "cache-age=1h");

      g_assert_nonnull (gone.error); /* the list */
    }
    s3 = fake_s3_new ();
  }
  end ();
}

/* ---- the folder ---- */

static void
test_private (void)
{
  static const char secret[] = "X-Amz-Signature=5ec7e7";

  begin ();
  {
    g_autofree char *line = g_strdup_printf (
        "{\"id\":\"r\",\"image\":\"%s/demo/set/i/3?%s\",\"conversations\":[{\"from\":\"human\","
        "\"value\":\"<image>What?\"},{\"from\":\"gpt\",\"value\":\"That.\"}]}\n",
        fake_server_get_url (fake_s3_get_server (s3)), secret);
    g_autoptr (GPtrArray) paths = NULL;
    g_autofree char *fetch =
        g_strdup_printf ("allow-links=http allow-addresses=127.0.0.1 cache=%s", folder);
    struct stat info;

    fake_s3_put (s3, "set/a.jsonl", line, strlen (line));
    {
      g_auto (Run) cold = run_set ("", "", fetch), warm = run_set ("", "", fetch);

      g_assert_no_error (cold.error);
      assert_same (&warm, &cold);
      g_assert_cmpint (run_count (&warm, "imagefetch", "cache_hits"), ==, 1);
    }
    paths = list_files ();
    g_assert_cmpuint (paths->len, ==, 1);
    g_assert_cmpint (stat (folder, &info), ==, 0);
    g_assert_cmpint (info.st_mode & 0777, ==, 0700);
    for (guint i = 0; i < paths->len; i++) {
      g_autofree char *bytes = NULL;
      gsize size;

      g_assert_cmpint (stat (paths->pdata[i], &info), ==, 0);
      g_assert_cmpint (info.st_mode & 0777, ==, 0600);
      g_assert_null (strstr (paths->pdata[i], "5ec7e7"));
      g_assert_true (g_file_get_contents (paths->pdata[i], &bytes, &size, NULL));
      g_assert_null (memmem (bytes, size, "5ec7e7", 6));
      g_assert_null (memmem (bytes, size, "set/i", 5));
    }
  }
  end ();
}

static guint64
folder_bytes (void)
{
  g_autoptr (GPtrArray) paths = list_files ();
  guint64 total = 0;

  for (guint i = 0; i < paths->len; i++) {
    struct stat info;

    g_assert_cmpint (stat (paths->pdata[i], &info), ==, 0);
    total += info.st_blocks * 512;
  }
  return total;
}

/* a set that is larger than what may be kept: a part of it stays, and is of use */
static void
test_small (void)
{
  begin ();
  {
    g_auto (Run) plain = run_set ("", "", "");
    g_auto (Run) cold = run_cached ("", "cache-size=1MiB");
    g_auto (Run) warm = run_cached ("", "cache-size=1MiB");

    g_assert_cmpint (all_bytes (), >, 2 * MIB);
    assert_same (&cold, &plain);
    assert_same (&warm, &plain);
    g_assert_cmpint (run_count (&warm, "imagefetch", "cache_hits"), >, 3);
    g_assert_cmpint (run_count (&cold, "imagefetch", "cache_not_stored"), >, 0);
    g_assert_cmpuint (cold.n_warnings, ==, 1);
    g_assert_nonnull (strstr (cold.warning, "imagefetch \"imagefetch0\": cache "));
    g_assert_nonnull (strstr (cold.warning, "too small"));
    g_assert_cmpuint (folder_bytes (), <=, MIB + MIB / 16);
  }
  end ();
}

static void
test_unwritable (void)
{
  begin ();
  {
    g_auto (Run) plain = run_set ("", "", ""), run = run_set ("", "", "cache=/dev/null/c"),
                 none = run_set ("", "cache=\"\"", "cache=\"\"");

    assert_same (&run, &plain);
    assert_same (&none, &plain);
    g_assert_cmpuint (none.n_warnings, ==, 0);
    g_assert_cmpuint (run.n_warnings, ==, 1);
    g_assert_nonnull (strstr (run.warning, "/dev/null/c: Not a directory"));
    g_assert_cmpint (run_count (&run, "imagefetch", "cache_not_stored"), ==, 2 * N_IMAGES);
    g_assert_cmpint (run_count (&run, "imagefetch", "cache_stored_bytes"), ==, 0);
  }
  end ();
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/object-cache/warm", test_warm);
  g_test_add_func ("/object-cache/replaced", test_replaced);
  g_test_add_func ("/object-cache/age", test_age);
  g_test_add_func ("/object-cache/spoilt", test_spoilt);
  g_test_add_func ("/object-cache/strange-servers", test_strange);
  g_test_add_func ("/object-cache/endpoints", test_endpoints);
  g_test_add_func ("/object-cache/same-errors", test_same_errors);
  g_test_add_func ("/object-cache/private", test_private);
  g_test_add_func ("/object-cache/small", test_small);
  g_test_add_func ("/object-cache/unwritable", test_unwritable);
  return g_test_run ();
}
