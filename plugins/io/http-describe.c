/* http-describe.c: what a client waits for, in words */
#include "http-private.h"
#include <string.h>

#define SECOND_NS G_GINT64_CONSTANT (1000000000)

/* of a word, or what stands between quotes, without user and password: curl shows a proxy's */
static void
add_without_user (GString *into, const char *word, gsize length)
{
  const char *scheme = g_strstr_len (word, (gssize)length, "://");
  const char *at = g_strrstr_len (word, (gssize)length, "@");
  const char *start = scheme && scheme < at ? scheme + 3 : word;

  if (at) {
    g_string_append_len (into, word, start - word);
    g_string_append (into, "…");
    length -= (gsize)(at - word);
    word = at;
  }
  g_string_append_len (into, word, (gssize)length);
}

char *
hr_http_describe_code (const Try *attempt, CURLcode code)
{
  const char *words = *attempt->words ? attempt->words : curl_easy_strerror (code);
  GString *shown = g_string_new (NULL);

  while (*words) {
    gsize length = strcspn (words, " '\"");

    add_without_user (shown, words, length);
    words += length;
    if (*words)
      g_string_append_c (shown, *words++);
  }
  return g_string_free (shown, FALSE);
}

static void
add_address (GString *into, CURL *easy)
{
  const char *address = NULL;
  long port = 0;

  if (curl_easy_getinfo (easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address != NULL
      && *address != '\0' && curl_easy_getinfo (easy, CURLINFO_PRIMARY_PORT, &port) == CURLE_OK)
    g_string_append_printf (into, " from %s:%ld", address, port);
  else
    g_string_append (into, ", not connected yet");
}

static void
add_transfer (GString *into, const HrHttp *http, const Transfer *transfer)
{
  const HrHttpRequest *request = transfer->request;
  gint64 length;

  g_string_append (into, request->name);
  if (request->question.first >= 0)
    g_string_append_printf (into, " bytes %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT,
                            request->question.first, request->question.last);
  if (transfer->stage == WAITING) {
    g_string_append_printf (into, ", tried %u times, the next try in %" G_GINT64_FORMAT " s",
                            request->tries, MAX (transfer->due - http->now, 0) / SECOND_NS);
    if (transfer->last_cause != NULL)
      g_string_append_printf (into, ": %s", transfer->last_cause);
    return;
  }
  if (transfer->lead == NULL) {
    g_string_append (into, ", waits for a place");
    return;
  }
  add_address (into, transfer->lead->easy);
  if (transfer->lead->first == 0) {
    g_string_append (into, ", no byte of the answer yet");
    return;
  }
  length = request->response.content_length;
  g_string_append_printf (into, ", %" G_GSIZE_FORMAT, request->received);
  if (length >= 0)
    g_string_append_printf (into, " of %" G_GINT64_FORMAT, length);
  g_string_append (into, " bytes so far");
}

guint64
hr_http_describe (const HrHttp *http, GString *into)
{
  const Transfer *oldest = NULL;
  guint64 progress = http->n_ended;
  GHashTableIter each;
  gpointer key;
  guint n;

  if (http->threads)
    return hr_http_threads_describe (http->threads, into);
  n = g_hash_table_size (http->transfers);
  g_hash_table_iter_init (&each, http->transfers);
  while (g_hash_table_iter_next (&each, &key, NULL)) {
    const Transfer *transfer = key;

    progress += transfer->request->received;
    if (transfer->stage != QUEUED && (oldest == NULL || transfer->begun < oldest->begun))
      oldest = transfer;
  }
  if (n == 0)
    return progress;
  g_string_append_printf (into, "waits for %u request%s", n, n == 1 ? ": " : "s");
  if (oldest != NULL) {
    if (n > 1)
      g_string_append (into, ", the longest for ");
    add_transfer (into, http, oldest);
  }
  return progress;
}
