/* s3-list.c: the answer to ListObjectsV2 */
#include "s3-list.h"
#include "hr-error.h"
#include "sigv4.h"
#include "s3-xml.h"
#include <string.h>

char *
hr_s3_list_query (const char *prefix, const char *token, guint max_keys)
{
  HrQueryParam params[5] = { { "list-type", "2" },
                             { "encoding-type", "url" },
                             { "prefix", prefix } };
  g_autofree char *number = g_strdup_printf ("%u", max_keys);
  guint n = 3;

  if (token)
    params[n++] = (HrQueryParam){ "continuation-token", token };
  if (max_keys > 0)
    params[n++] = (HrQueryParam){ "max-keys", number };
  return hr_sigv4_query (params, n);
}

typedef struct {
  HrS3Xml xml;
  HrS3Page *page;
  HrS3Entry entry;
  gboolean encoded;
  gboolean truncated;
  guint depth;
  gboolean in_entry;
} Reader;

static void
entry_clear (gpointer data)
{
  HrS3Entry *entry = data;

  g_free (entry->key);
  g_free (entry->etag);
}

static gboolean
fail (GError **error, const char *what)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ, "the list of keys is broken: %s",
               what);
  return FALSE;
}

static void
on_start (GMarkupParseContext *context G_GNUC_UNUSED, const char *element,
          const char **names G_GNUC_UNUSED, const char **values G_GNUC_UNUSED, gpointer data,
          GError **error)
{
  Reader *reader = data;

  if (reader->depth == 0 && strcmp (element, "ListBucketResult") != 0) {
    g_autofree char *what = g_strdup_printf ("it is <%s>, not <ListBucketResult>", element);

    fail (error, what);
    return;
  }
  if (reader->depth == 1 && strcmp (element, "Contents") == 0) {
    reader->in_entry = TRUE;
    reader->entry = (HrS3Entry){ .size = -1 };
  }
  reader->depth++;
  g_string_truncate (reader->xml.text, 0);
}

static void
end_entry_part (Reader *reader, const char *element)
{
  HrS3Entry *entry = &reader->entry;
  guint64 size;

  if (strcmp (element, "Key") == 0)
    hr_s3_xml_take (&entry->key, reader->xml.text->str);
  else if (strcmp (element, "ETag") == 0)
    hr_s3_xml_take (&entry->etag, reader->xml.text->str);
  else if (strcmp (element, "Size") == 0
           && g_ascii_string_to_unsigned (reader->xml.text->str, 10, 0, G_MAXINT64, &size, NULL))
    entry->size = size;
}

/* as the header has it: some servers leave the quotes out here */
static void
tidy_etag (char **etag)
{
  g_autofree char *text = g_steal_pointer (etag);

  if (!text || !*text)
    return;
  if (*text == '"' || g_str_has_prefix (text, "W/"))
    *etag = g_steal_pointer (&text);
  else
    *etag = g_strconcat ("\"", text, "\"", NULL);
}

static void
on_end (GMarkupParseContext *context G_GNUC_UNUSED, const char *element, gpointer data,
        GError **error)
{
  Reader *reader = data;
  guint depth = --reader->depth;

  if (depth == 1 && reader->in_entry) {
    reader->in_entry = FALSE;
    if (!reader->entry.key || reader->entry.size < 0) {
      entry_clear (&reader->entry);
      reader->entry = (HrS3Entry){ 0 };
      fail (error, "a key without a name or size");
      return;
    }
    tidy_etag (&reader->entry.etag);
    g_array_append_val (reader->page->entries, reader->entry);
    reader->entry = (HrS3Entry){ 0 };
  } else if (depth == 2 && reader->in_entry) {
    end_entry_part (reader, element);
  } else if (depth == 1 && strcmp (element, "NextContinuationToken") == 0) {
    hr_s3_xml_take (&reader->page->next, reader->xml.text->str);
  } else if (depth == 1 && strcmp (element, "IsTruncated") == 0) {
    reader->truncated = strcmp (g_strstrip (reader->xml.text->str), "true") == 0;
  } else if (depth == 1 && strcmp (element, "EncodingType") == 0) {
    reader->encoded = g_ascii_strcasecmp (g_strstrip (reader->xml.text->str), "url") == 0;
  }
}

/* once, and '+' is a space: AWS writes spaces so, others as %20; a '+' of a key comes as %2B */
static char *
decode (const char *text)
{
  g_autofree char *spaced = g_strdelimit (g_strdup (text), "+", ' ');

  return g_uri_unescape_string (spaced, NULL);
}

static gboolean
decode_keys (HrS3Page *page, GError **error)
{
  for (guint i = 0; i < page->entries->len; i++) {
    HrS3Entry *entry = &g_array_index (page->entries, HrS3Entry, i);
    char *key = decode (entry->key);

    if (!key)
      return fail (error, "a key is not encoded as the answer says");
    g_free (entry->key);
    entry->key = key;
  }
  return TRUE;
}

static gboolean
check (const Reader *reader, GError **error)
{
  if (reader->truncated && (!reader->page->next || !*reader->page->next))
    return fail (error, "there are more keys, and no token to ask for them");
  return TRUE;
}

gboolean
hr_s3_list_parse (HrS3Page *page, const char *text, gsize size, GError **error)
{
  static const GMarkupParser parser = { on_start, on_end, hr_s3_xml_on_text, NULL, NULL };
  g_autoptr (GString) buffer = g_string_new (NULL);
  Reader reader = { .page = page, .xml = { buffer } };
  g_autoptr (GMarkupParseContext) context =
      g_markup_parse_context_new (&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, &reader, NULL);
  g_autoptr (GError) failure = NULL;
  gboolean good;

  *page = (HrS3Page){ .entries = g_array_new (FALSE, FALSE, sizeof (HrS3Entry)) };
  g_array_set_clear_func (page->entries, entry_clear);
  good = g_markup_parse_context_parse (context, text, size, &failure)
         && g_markup_parse_context_end_parse (context, &failure);
  entry_clear (&reader.entry);
  if (!good && failure->domain == G_MARKUP_ERROR)
    fail (error, failure->message);
  else if (!good)
    g_propagate_error (error, g_steal_pointer (&failure));
  if (good)
    good = check (&reader, error) && (!reader.encoded || decode_keys (page, error));
  if (!good)
    hr_s3_page_clear (page);
  else if (!reader.truncated)
    g_clear_pointer (&page->next, g_free);
  return good;
}

void
hr_s3_page_clear (HrS3Page *page)
{
  g_clear_pointer (&page->entries, g_array_unref);
  g_clear_pointer (&page->next, g_free);
}
