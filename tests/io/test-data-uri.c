/* test-data-uri.c: links that hold their bytes themselves */
#include "data-uri.h"
#include "hr-error.h"
#include <string.h>

static void
check_good (const char *link, const char *bytes, gsize size)
{
  g_autofree guint8 *into = g_malloc (hr_data_uri_max_size (link) + 1);
  g_autoptr (GError) error = NULL;
  gssize n = hr_data_uri_decode (link, into, &error);

  g_assert_no_error (error);
  g_assert_cmpmem (into, n, bytes, size);
  g_assert_cmpuint (n, <=, hr_data_uri_max_size (link));
}

static void
check_bad (const char *link)
{
  g_autofree guint8 *into = g_malloc (hr_data_uri_max_size (link) + 1);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (hr_data_uri_decode (link, into, &error), ==, -1);
  g_assert_error (error, HR_DATA_ERROR, HR_DATA_ERROR_MEDIA_UNDECODABLE);
}

static void
test_decode (void)
{
  check_good ("data:image/png;base64,", "", 0);
  check_good ("data:image/png;base64,TQ==", "M", 1);
  check_good ("data:image/png;base64,TWE=", "Ma", 2);
  check_good ("data:image/png;base64,TWFu", "Man", 3);
  check_good ("data:;base64,TWE", "Ma", 2); /* padding may lack */
  check_good ("data:;base64,TW\nE=\r\n", "Ma", 2);
  check_good ("data:;base64,%54%57%45%3D", "Ma", 2);
  check_good ("DATA:image/png;BASE64,//79", "\377\376\375", 3);
  check_good ("data:text/plain;charset=utf-8;base64,YQ==", "a", 1);
  check_good ("data:,a%20b%2", "a b%2", 5);
  check_bad ("data:image/png;base64");
  check_bad ("data:;base64,TQ=a");
  check_bad ("data:;base64,TQ=");
  check_bad ("data:;base64,TWFuT");
  check_bad ("data:;base64,TW*u");
  check_bad ("data:;base64,TW-_");
  check_bad ("data:;base64,T\303\274Fu");
}

/* any bytes come back as they were */
static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint round = 0; round < 2000; round++) {
    guint8 bytes[64];
    gsize size = g_rand_int_range (random, 0, sizeof bytes);
    g_autofree char *text = NULL, *link = NULL;

    for (gsize i = 0; i < size; i++)
      bytes[i] = g_rand_int (random);
    text = g_base64_encode (bytes, size);
    link = g_strconcat ("data:image/jpeg;base64,", text, NULL);
    check_good (link, (const char *)bytes, size);
  }
}

static void
test_is (void)
{
  g_assert_true (hr_data_uri_is ("data:,x"));
  g_assert_true (hr_data_uri_is ("Data:,x"));
  g_assert_false (hr_data_uri_is ("data/x"));
  g_assert_false (hr_data_uri_is (""));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/io/data-uri/decode", test_decode);
  g_test_add_func ("/io/data-uri/random", test_random);
  g_test_add_func ("/io/data-uri/is", test_is);
  return g_test_run ();
}
