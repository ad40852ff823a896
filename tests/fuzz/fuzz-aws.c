/* fuzz-aws.c: any text as the files of the AWS tools, as an answer of the token service, and as a
 * document of keys */
#include "s3-sts.h"
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* what goes into a header has no end of line, and what is refused tells no secret */
static void
check_keys (const HrS3Keys *keys)
{
  g_autoptr (GError) error = NULL;

  if (hr_s3_keys_check (keys, &error)) {
    g_assert_no_error (error);
    g_assert_null (strpbrk (keys->access_key, "\r\n"));
    g_assert_true (!keys->session_token || !strpbrk (keys->session_token, "\r\n"));
  } else {
    g_assert_nonnull (error);
  }
}

static void
try_files (const char *text)
{
  const char *border = strstr (text, "\n---\n"); /* between the two files */
  g_autofree char *credentials = g_strndup (text, border ? (gsize)(border - text) : strlen (text));
  const char *config = border ? border + 5 : text;
  static const char *const names[] = { "default", "a" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (HrS3Profile) profile = hr_s3_profile_parse (names[i], credentials, config);
    HrS3Keys keys = { (char *)hr_s3_profile_get (profile, "aws_access_key_id"),
                      (char *)hr_s3_profile_get (profile, "aws_secret_access_key"),
                      (char *)hr_s3_profile_get (profile, "aws_session_token") };

    g_assert_cmpstr (hr_s3_profile_get_name (profile), ==, names[i]);
    g_assert_true (hr_s3_profile_exists (profile) || !keys.access_key);
    check_keys (&keys);
  }
}

static void
try_json (const char *text, gsize size)
{
  g_auto (HrS3Keys) keys = { 0 };
  g_autoptr (GError) error = NULL;

  if (!hr_s3_keys_parse (&keys, text, size, "Token", 0, &error)) {
    g_assert_nonnull (error);
    return;
  }
  check_keys (&keys);
  {
    g_autoptr (GString) words = g_string_new_len (text, size);

    hr_s3_keys_hide (&keys, words);
    hr_s3_keys_cut (words);
    g_assert_null (strpbrk (words->str, "\r\n"));
    /* "…" stands for it, so that two halves around a mark can make no new one */
    if (strlen (keys.secret_key) >= 8 && g_str_is_ascii (keys.secret_key))
      g_assert_null (strstr (words->str, keys.secret_key));
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *)data, size);
  g_auto (HrS3StsAnswer) answer = { 0 };

  try_files (text);
  try_json ((const char *)data, size);
  if (hr_s3_sts_parse (&answer, (const char *)data, size))
    check_keys (&answer.keys);
  return 0;
}
