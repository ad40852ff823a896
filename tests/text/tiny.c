/* tiny.c: small tokenizer.json files, made to measure */
#include "tiny.h"
#include <string.h>

static void
append_letter (GString *json, guint byte)
{
  static gunichar next[256];

  if (next[255] == 0) {
    gunichar unseen = 256;

    for (guint b = 0; b < 256; b++)
      next[b] = (b > 0x20 && b < 0x7F) || (b > 0xA0 && b < 0xAD) || b > 0xAD ? b : unseen++;
  }
  if (byte == '"' || byte == '\\')
    g_string_append_c (json, '\\');
  g_string_append_unichar (json, next[byte]);
}

static void
append_letters (GString *json, const char *text)
{
  for (; *text != '\0'; text++)
    append_letter (json, (guint8)*text);
}

static void
append_vocab (GString *json, const Tiny *tiny)
{
  for (guint byte = 0; byte < 256; byte++) {
    g_string_append (json, byte > 0 ? ",\"" : "\"");
    append_letter (json, byte);
    g_string_append_printf (json, "\":%u", byte);
  }
  for (guint i = 0; tiny->merges != NULL && tiny->merges[i] != NULL; i++) {
    g_auto (GStrv) pair = g_strsplit (tiny->merges[i], " ", 2);

    g_string_append (json, ",\"");
    append_letters (json, pair[0]);
    append_letters (json, pair[1]);
    g_string_append_printf (json, "\":%u", 256 + i);
  }
  if (tiny->vocab != NULL)
    g_string_append_printf (json, ",%s", tiny->vocab);
}

static void
append_merges (GString *json, const Tiny *tiny)
{
  for (guint i = 0; tiny->merges != NULL && tiny->merges[i] != NULL; i++) {
    g_auto (GStrv) pair = g_strsplit (tiny->merges[i], " ", 2);

    g_string_append (json, i > 0 ? "," : "");
    g_string_append (json, tiny->old_merges ? "\"" : "[\"");
    append_letters (json, pair[0]);
    g_string_append (json, tiny->old_merges ? " " : "\",\"");
    append_letters (json, pair[1]);
    g_string_append (json, tiny->old_merges ? "\"" : "\"]");
  }
}

char *
tiny_to_json (const Tiny *tiny)
{
  static const char byte_level[] =
      "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}";
  GString *json = g_string_new ("{\"model\":{\"type\":\"BPE\",\"vocab\":{");

  append_vocab (json, tiny);
  g_string_append (json, "},\"merges\":[");
  append_merges (json, tiny);
  g_string_append (json, "]");
  if (tiny->model != NULL)
    g_string_append_printf (json, ",%s", tiny->model);
  g_string_append_printf (json, "},\"normalizer\":%s",
                          tiny->normalizer != NULL ? tiny->normalizer : "null");
  g_string_append_printf (json, ",\"pre_tokenizer\":%s",
                          tiny->pre_tokenizer != NULL ? tiny->pre_tokenizer : byte_level);
  g_string_append_printf (json, ",\"added_tokens\":%s}", tiny->added != NULL ? tiny->added : "[]");
  return g_string_free (json, FALSE);
}
