/* test-media-link.c: what links name, and which ones are refused */
#include "media-link.h"
#include "hr-error.h"

typedef struct {
  const char *in, *out;
} Pair;

static void
test_base (void)
{
  static const Pair pairs[] = {
    { "/c/train/a.jsonl", "/c/train/" },
    { "/a.jsonl", "/" },
    { "/c/./x/../train//a.jsonl", "/c/train/" },
    { "file:///c/train/a.jsonl", "/c/train/" },
    { "file://localhost/c/a%20b/a.jsonl", "/c/a%20b/" },
    { "s3://b/train/a.jsonl", "s3://b/train/" },
    { "S3://B/a.jsonl", "s3://B/" },
    { "s3://b/odd/../a//b.jsonl", "s3://b/odd/../a//" },
    { "s3://b", "s3://b/" },
    { "https://H.example/set/a.jsonl?token=1/2", "https://h.example/set/" },
    { "https://h.example", "https://h.example/" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++) {
    g_autofree char *base = hr_media_link_base (pairs[i].in);

    g_assert_cmpstr (base, ==, pairs[i].out);
  }
}

static void
test_relative_location (void)
{
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *expected = g_strconcat (here, "/corpus/train/", NULL);
  g_autofree char *base = hr_media_link_base ("corpus/train/a.jsonl");
  g_autofree char *folder = hr_media_link_folder ("./corpus/x/../train");

  g_autofree char *data = hr_media_link_base ("data:");

  g_assert_cmpstr (base, ==, expected);
  g_assert_cmpstr (folder, ==, expected);
  g_assert_true (g_str_has_prefix (expected, data));
}

static void
test_folder (void)
{
  static const Pair pairs[] = {
    { "/c", "/c/" },
    { "/c/", "/c/" },
    { "/", "/" },
    { "/c/../d/.", "/d/" },
    { "file:///c", "/c/" },
    { "s3://b", "s3://b/" },
    { "s3://b/x", "s3://b/x/" },
    { "HTTPS://H/a/../b", "https://h/b/" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++) {
    g_autofree char *folder = hr_media_link_folder (pairs[i].in);

    g_assert_cmpstr (folder, ==, pairs[i].out);
  }
}

static void
test_resolve (void)
{
  static const struct {
    const char *base, *link, *uri;
  } rows[] = {
    { "/c/train/", "images/1.png", "/c/train/images/1.png" },
    { "/c/train/", "./images/../images/1.png", "/c/train/images/1.png" },
    { "/c/train/", "images/a b.png", "/c/train/images/a b.png" },
    { "/c/train/", "images/a%20b.png", "/c/train/images/a%20b.png" },
    { "/c/train/", "images/v1.0/img.final.png", "/c/train/images/v1.0/img.final.png" },
    { "/c/train/", "../shared/2.png", "/c/shared/2.png" },
    { "/c/train/", "../../secret.png", "/secret.png" },
    { "/c/train/", "../../../secret.png", "/../secret.png" },
    { "/c/train/", "../../../../../x/../y", "/../../../y" },
    { "/c/train/", "images//1.png", "/c/train/images/1.png" },
    { "/c/train/", "a//../b", "/c/train/b" },
    { "/c/train/", "images/", "/c/train/images/" },
    { "/c/train/", "images/..", "/c/train/" },
    { "/c/train/", "", "/c/train/" },
    { "/c/train/", ".", "/c/train/" },
    { "/c/train/", "...", "/c/train/..." },
    { "/c/train/", "%2e%2e/x", "/c/train/%2e%2e/x" },
    { "/c/train/", "images\\1.png", "/c/train/images\\1.png" },
    { "/c/train/", "images/1.png?x=1#f", "/c/train/images/1.png?x=1#f" },
    { "/c/train/", "C:/x.png", "/c/train/C:/x.png" },
    { "/c/train/", "note:1.png", "/c/train/note:1.png" },
    { "/c/train/", "~/x.png", "/c/train/~/x.png" },
    { "/c/train/", "/secret.png", "/secret.png" },
    { "/c/train/", "//h/x.png", "/h/x.png" },
    { "/c/train/", "/a/../b/./c", "/b/c" },
    { "/c/train/", "file:///secret.png", "/secret.png" },
    { "/c/train/", "FILE://localhost/a%20b.png", "/a%20b.png" },
    { "/c/train/", "file://host/x.png", "file://host/x.png" },
    { "/c/train/", "http://127.0.0.1:9/1.png", "http://127.0.0.1:9/1.png" },
    { "/c/train/", "HTTPS://Example.ORG/A/../B.png?q=/../x#../y",
      "https://example.org/B.png?q=/../x#../y" },
    { "/c/train/", "https://h/ok/%2e%2E/.%2e/x", "https://h/../x" },
    { "/c/train/", "https://h", "https://h" },
    { "/c/train/", "s3://other-bucket/1.png", "s3://other-bucket/1.png" },
    { "/c/train/", "S3://Bucket/a/../1.png", "s3://Bucket/1.png" },
    { "/c/train/", "gs://b/1.png", "gs://b/1.png" },
    { "/c/train/", "data:image/png;base64,iVBO/../", "data:image/png;base64,iVBO/../" },
    { "/", "a", "/a" },
    { "/", "../a", "/../a" },
    { "s3://b/train/", "images/a%20b.png", "s3://b/train/images/a%20b.png" },
    { "s3://b/train/", "../shared/2.png", "s3://b/shared/2.png" },
    { "s3://b/train/", "../../2.png", "s3://b/../2.png" },
    { "s3://b/train/", "a//b.png", "s3://b/train/a//b.png" },
    { "s3://b/train/", "a//../b.png", "s3://b/train/a/b.png" },
    { "s3://b/train/", "/secret.png", "/secret.png" },
    { "s3://b/odd/../a/", "1.png", "s3://b/odd/../a/1.png" },
    { "s3://b/odd/../a/", "../1.png", "s3://b/odd/../1.png" },
    { "https://h/set/", "../x.png", "https://h/x.png" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autofree char *uri = hr_media_link_resolve (rows[i].base, rows[i].link);

    g_assert_cmpstr (uri, ==, rows[i].uri);
  }
}

typedef enum { PASS, REFUSED, NOT_FOUND } Verdict;

static void
check (const char *base, const char *root, const char *link, const char *allow, Verdict expected)
{
  g_autofree char *uri = hr_media_link_resolve (base, link);
  g_auto (GStrv) words = g_strsplit (allow, ",", -1);
  g_autoptr (GError) error = NULL;
  gboolean passed;

  g_test_message ("%s in %s, root %s, allow %s", link, base, root, allow);
  g_assert_true (hr_media_link_check_allow ((const char *const *)words, NULL));
  passed = hr_media_link_check (link, uri, root, (const char *const *)words, &error);
  g_assert_true (passed == (expected == PASS));
  if (expected == REFUSED) {
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED);
    {
      g_autofree char *shown = hr_media_link_shorten (link);

      g_assert_nonnull (strstr (error->message, shown));
    }
  } else if (expected == NOT_FOUND) {
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_NOT_FOUND);
  } else {
    g_assert_no_error (error);
  }
}

/* the records of case 16, on disk and in a bucket */
static void
test_case_16 (void)
{
  static const struct {
    const char *link;
    Verdict verdict, for_a_file; /* the location is the folder, or the one file in it */
  } rows[] = {
    { "images/1.png", PASS, PASS },
    { "./images/../images/1.png", PASS, PASS },
    { "images/a b.png", PASS, PASS },
    { "images/a%20b.png", PASS, PASS },
    { "images/v1.0/img.final.png", PASS, PASS },
    { "other/1.png", PASS, PASS },
    { "../shared/2.png", PASS, REFUSED },
    { "../../secret.png", REFUSED, REFUSED },
    { "images/../../../secret.png", REFUSED, REFUSED },
    { "/secret.png", REFUSED, REFUSED },
    { "file:///secret.png", REFUSED, REFUSED },
    { "http://127.0.0.1:9/1.png", REFUSED, REFUSED },
    { "s3://other-bucket/1.png", REFUSED, REFUSED },
    { "data:image/png;base64,iVBORw0KGgo=", PASS, PASS },
    { "images/missing.png", PASS, PASS }, /* imagefetch does not find it */
    { "images", PASS, PASS },
    { "", NOT_FOUND, NOT_FOUND },
    { "Images/1.PNG", PASS, PASS },
    { "images\\1.png", PASS, PASS },
    { "images/1.png?x=1#f", PASS, PASS },
  };
  static const char *const tops[] = { "/tmp/case/", "s3://bucket/case/", "s3://bucket/" };

  for (guint t = 0; t < G_N_ELEMENTS (tops); t++) {
    g_autofree char *root = g_strconcat (tops[t], "corpus/", NULL);
    g_autofree char *base = g_strconcat (root, "train/", NULL);

    for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
      check (base, root, rows[i].link, "", rows[i].verdict);
      check (base, base, rows[i].link, "", rows[i].for_a_file);
    }
  }
}

static void
test_allow (void)
{
  const char *base = "/c/train/", *root = "/c/train/";

  check (base, root, "/secret.png", "file", PASS);
  check (base, root, "file:///secret.png", "file", PASS);
  check (base, root, "/secret.png", "/data/,s3", REFUSED);
  check (base, root, "/data/x.png", "s3,/data/", PASS);
  check (base, root, "/data/x.png", "/data", PASS);
  check (base, root, "/database/x.png", "/data", REFUSED);
  check (base, root, "/data/../secret.png", "/data/", REFUSED);
  check (base, root, "../../data/x.png", "/data/", PASS);
  check (base, root, "file://host/x.png", "file,all", REFUSED);
  /* the full name of something inside the root is still an absolute link */
  check (base, root, "/c/train/1.png", "", REFUSED);
  check (base, root, "s3://b/1.png", "s3", PASS);
  check (base, root, "s3://b/1.png", "s3://b/", PASS);
  check (base, root, "s3://b/1.png", "s3://b", PASS);
  check (base, root, "s3://bc/1.png", "s3://b", REFUSED);
  check (base, root, "s3://b/x/../../1.png", "s3://b/", REFUSED);
  check (base, root, "http://h/1.png", "https", REFUSED);
  check (base, root, "http://h/1.png", "http", PASS);
  check (base, root, "https://h/1.png", "http", REFUSED);
  check (base, root, "https://h/1.png", "all", PASS);
  check (base, root, "https://H/ok/1.png", "https://h/ok/", PASS);
  check (base, root, "https://h/ok/../1.png", "https://h/ok/", REFUSED);
  check (base, root, "https://h/ok/%2e%2e/1.png", "https://h/ok/", REFUSED);
  check (base, root, "https://h@evil/1.png", "https://h", REFUSED);
  check (base, root, "gs://b/1.png", "all", REFUSED);
}

static void
test_without_link_or_root (void)
{
  g_assert_true (hr_media_link_check (NULL, "/c/1.png", "/c", NULL, NULL));
  g_assert_false (hr_media_link_check (NULL, "/d/1.png", "/c", NULL, NULL));
  g_assert_false (hr_media_link_check ("1.png", "/c/1.png", NULL, NULL, NULL));
  g_assert_true (hr_media_link_check ("1.png", "/c/1.png", "file:///c", NULL, NULL));
  /* the record's own bytes pass whatever name stands beside them */
  g_assert_true (hr_media_link_check ("../../x.png", "data:;base64,AA==", "/c/", NULL, NULL));
}

static void
test_redirects (void)
{
  static const struct {
    const char *from, *target, *allow, *refused; /* NULL: followed */
  } rows[] = {
    { "https://h/1", "https://h/2", "https://h/", NULL },
    { "http://h/1", "http://h/2", "http", NULL },
    { "http://h/1", "https://h/2", "all", NULL },
    { "https://h/1", "https://other/2", "https", NULL },
    { "https://h/1", "https://other/2", "https://h/", "does not let pass" },
    { "https://h/1", "https://h.evil/2", "https://h/", "does not let pass" },
    { "https://h/1", "https://h@evil/2", "https://h/", "does not let pass" },
    { "https://h/a/1", "https://h/b/1", "https://h/a/", "does not let pass" },
    { "https://h/1", "http://h/2", "all", "from https to http" },
    { "http://h/1", "https://h/2", "http", "does not let pass" },
    { "https://h/1", "file:///etc/passwd", "all", "no web address" },
    { "https://h/1", "/etc/passwd", "all", "no web address" },
    { "https://h/1", "s3://b/k", "all", "no web address" },
    { "https://h/1", "ftp://h/k", "all", "no web address" },
    { "https://h/1", "gopher://h:25/k", "all", "no web address" },
    { "https://h/1", "data:,x", "all", "no web address" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char *const allow[] = { rows[i].allow, NULL };
    g_autoptr (GError) error = NULL;
    gboolean good = hr_media_link_check_redirect (rows[i].from, rows[i].target, allow, &error);

    g_test_message ("%s", rows[i].target);
    g_assert_cmpint (good, ==, rows[i].refused == NULL);
    if (good)
      continue;
    g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_LINK_REFUSED);
    g_assert_nonnull (strstr (error->message, rows[i].refused));
  }
}

static void
test_allow_words (void)
{
  static const char *const bad[] = { "ftp", "s3:", "pictures/", "", "gs://b/", "data:,", "HTTP" };

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++) {
    const char *words[] = { "file", bad[i], NULL };
    g_autoptr (GError) error = NULL;

    g_assert_false (hr_media_link_check_allow (words, &error));
    g_assert_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE);
    g_assert_nonnull (strstr (error->message, bad[i]));
  }
  g_assert_true (hr_media_link_check_allow (NULL, NULL));
}

static void
test_shorten (void)
{
  g_autofree char *same = hr_media_link_shorten ("images/1.png");
  g_autofree char *data = g_strnfill (5000, 'A');
  g_autofree char *uri = g_strconcat ("data:image/png;base64,", data, NULL);
  g_autofree char *cut = hr_media_link_shorten (uri);
  g_autoptr (GString) wide = g_string_new ("x");
  g_autofree char *cut_wide = NULL;

  for (guint i = 0; i < 200; i++)
    g_string_append (wide, "€");
  cut_wide = hr_media_link_shorten (wide->str);
  g_assert_cmpstr (same, ==, "images/1.png");
  g_assert_true (g_str_has_prefix (cut, "data:image/png;base64,AAA"));
  g_assert_true (g_str_has_suffix (cut, "… (5022 bytes)"));
  g_assert_cmpuint (strlen (cut), <, 100);
  g_assert_true (g_utf8_validate (cut_wide, -1, NULL));
  g_assert_cmpuint (strlen (cut_wide), <, 250);
}

static void
test_secrets (void)
{
  static const char *const cases[][2] = {
    { "https://h/k?X-Amz-Algorithm=A&X-Amz-Credential=AK%2F1&X-Amz-Date=d&X-Amz-Security-Token=t=="
      "&X-Amz-Signature=0f",
      "https://h/k?X-Amz-Algorithm=A&X-Amz-Credential=…&X-Amz-Date=d&X-Amz-Security-Token=…&"
      "X-Amz-Signature=…" },
    { "HTTP://h/?x-amz-SIGNATURE=0f#x-amz-signature=0f",
      "HTTP://h/?x-amz-SIGNATURE=…#x-amz-signature=…" },
    { "https://h/k?X%2dAmz-Signature=0f", "https://h/k?X%2dAmz-Signature=…" },
    { "https://h/k?a=1;Signature=0f;AWSAccessKeyId=AK",
      "https://h/k?a=1;Signature=…;AWSAccessKeyId=…" },
    { "https://h/k?se=1&sig=0f%3D", "https://h/k?se=1&sig=…" },
    { "https://h/k?X-Goog-Signature=0f?X-Goog-Credential=a",
      "https://h/k?X-Goog-Signature=…?X-Goog-Credential=…" },
    { "https://user:p@ss@h/k", "https://…@h/k" },
    { "https://h/k@v?signature", "https://h/k@v?signature" },
    { "https://h/a?q=Signature=0f&&", "https://h/a?q=Signature=0f&&" },
    { "https://h", "https://h" },
    { "https://h/?access_token=a&api_key=b&X-Auth=c&Password=d&monkey=e&key=f",
      "https://h/?access_token=…&api_key=…&X-Auth=…&Password=…&monkey=e&key=…" },
    { "https://h/k#access_token=a", "https://h/k#access_token=…" },
    { "ftp://user:pass@h/k?token=a", "ftp://…@h/k?token=…" },
    { "s3://b/k?X-Amz-Signature=is-a-key", "s3://b/k?X-Amz-Signature=is-a-key" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *shown = hr_media_link_hide_secrets (cases[i][0]);
    g_autofree char *shortened = hr_media_link_shorten (cases[i][0]);

    g_assert_cmpstr (shown, ==, cases[i][1]);
    g_assert_cmpstr (shortened, ==, cases[i][1]);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/media-link/base", test_base);
  g_test_add_func ("/media-link/relative-location", test_relative_location);
  g_test_add_func ("/media-link/folder", test_folder);
  g_test_add_func ("/media-link/resolve", test_resolve);
  g_test_add_func ("/media-link/case-16", test_case_16);
  g_test_add_func ("/media-link/allow", test_allow);
  g_test_add_func ("/media-link/without-link-or-root", test_without_link_or_root);
  g_test_add_func ("/media-link/redirects", test_redirects);
  g_test_add_func ("/media-link/allow-words", test_allow_words);
  g_test_add_func ("/media-link/shorten", test_shorten);
  g_test_add_func ("/media-link/secrets", test_secrets);
  return g_test_run ();
}
