/* the chat template: what is written, what is learned, what is refused */
#include <string.h>
#include "hr-error.h"
#include "template.h"
#include "text-test.h"

typedef struct {
  HrEncoder *encoder;
  HrTemplate template;
  HrRendered rendered;
} Fixture;

/* FALSE: no vocabulary */
static gboolean
set_up (Fixture *fixture, HrTemplate template)
{
  static const HrEncodeRules rules = { HR_IN_TEXT_ENCODE, HR_IN_TEXT_ERROR,
                                       hr_template_media_tokens };
  const HrVocab *vocab = text_test_vocab ();
  g_autoptr (GError) error = NULL;

  if (vocab == NULL)
    return FALSE;
  fixture->encoder = hr_encoder_new (vocab, &rules);
  fixture->template = template;
  hr_template_init (&fixture->template, vocab, &error);
  g_assert_no_error (error);
  hr_rendered_init (&fixture->rendered);
  return TRUE;
}

static void
tear_down (Fixture *fixture)
{
  hr_encoder_free (fixture->encoder);
  hr_rendered_clear (&fixture->rendered);
}

/* a turn is "role: text"; "\1" in the text is the next image; (transfer full) */
static JsonNode *
conversation (const char *const *turns)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  gint image = 0;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "turns");
  json_builder_begin_array (builder);
  for (; *turns != NULL; turns++) {
    g_auto (GStrv) halves = g_strsplit (*turns, ": ", 2);
    g_auto (GStrv) texts = g_strsplit (halves[1], "\1", -1);
    gboolean quiet = g_str_has_suffix (halves[0], "-quiet");

    if (quiet)
      *strrchr (halves[0], '-') = '\0';
    json_builder_begin_object (builder);
    json_builder_set_member_name (builder, "role");
    json_builder_add_string_value (builder, halves[0]);
    json_builder_set_member_name (builder, "train");
    json_builder_add_boolean_value (builder, !quiet);
    json_builder_set_member_name (builder, "parts");
    json_builder_begin_array (builder);
    for (guint i = 0; texts[i] != NULL; i++) {
      if (i > 0) {
        json_builder_begin_object (builder);
        json_builder_set_member_name (builder, "image");
        json_builder_add_int_value (builder, image++);
        json_builder_end_object (builder);
      }
      if (*texts[i] == '\0')
        continue;
      json_builder_begin_object (builder);
      json_builder_set_member_name (builder, "text");
      json_builder_add_string_value (builder, texts[i]);
      json_builder_end_object (builder);
    }
    json_builder_end_array (builder);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

/* the text again, with "[" and "]" around what is learned; (transfer full) */
static char *
show (const Fixture *fixture)
{
  const HrRendered *rendered = &fixture->rendered;
  GString *text = g_string_new (NULL);
  guint span = 0;

  for (gsize i = 0; i <= rendered->ids.n; i++) {
    const HrTokenSpan *learned = span < rendered->learned->len
                                     ? &g_array_index (rendered->learned, HrTokenSpan, span)
                                     : NULL;
    guint32 size;
    const guint8 *bytes;

    if (learned != NULL && learned->to == i && learned->from < i) {
      g_string_append_c (text, ']');
      span++;
      learned = span < rendered->learned->len
                    ? &g_array_index (rendered->learned, HrTokenSpan, span)
                    : NULL;
    }
    if (learned != NULL && learned->from == i)
      g_string_append_c (text, '[');
    if (i == rendered->ids.n)
      break;
    bytes =
        hr_vocab_get_bytes (hr_encoder_get_vocab (fixture->encoder), rendered->ids.data[i], &size);
    g_string_append_len (text, (const char *)bytes, size);
  }
  g_string_replace (text, "<|im_start|>", "<", 0);
  g_string_replace (text, "<|im_end|>", ">", 0);
  g_string_replace (text, "<|vision_start|><|image_pad|><|vision_end|>", "@", 0);
  return g_string_free (text, FALSE);
}

static void
assert_renders (HrTemplate template, const char *const *turns, const char *expected)
{
  Fixture fixture;
  g_autoptr (JsonNode) node = conversation (turns);
  g_autoptr (GError) error = NULL;
  g_autofree char *got = NULL;

  if (!set_up (&fixture, template))
    return;
  for (guint time = 0; time < 2; time++) { /* nothing of the first is left in the second */
    g_clear_pointer (&got, g_free);
    hr_template_render (&fixture.template, fixture.encoder, node, &fixture.rendered, &error);
    g_assert_no_error (error);
    got = show (&fixture);
    g_assert_cmpstr (got, ==, expected);
  }
  tear_down (&fixture);
}

#define TURNS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PLAIN ((HrTemplate){ .kind = HR_TEMPLATE_QWEN3_VL })

static void
test_turns (void)
{
  assert_renders (PLAIN, TURNS ("user: Hi", "assistant: Hello"),
                  "<user\nHi>\n<assistant\n[Hello>]\n");
  assert_renders (
      PLAIN, TURNS ("system: Be brief.", "user: 1", "assistant: 2", "user: 3", "assistant: 4"),
      "<system\nBe brief.>\n<user\n1>\n<assistant\n[2>]\n<user\n3>\n<assistant\n[4>]\n");
  assert_renders (PLAIN, TURNS ("user: Hi", "assistant: "), "<user\nHi>\n<assistant\n[>]\n");
  assert_renders (PLAIN, TURNS ("assistant: a", "assistant: b"),
                  "<assistant\n[a>]\n<assistant\n[b>]\n");
}

static void
test_learned (void)
{
  HrTemplate newline = { .label_newline = TRUE }, split = { .boundary = HR_BOUNDARY_SPLIT };

  assert_renders (newline, TURNS ("user: Hi", "assistant: Hello"),
                  "<user\nHi>\n<assistant\n[Hello>\n]");
  assert_renders (PLAIN, TURNS ("user: a", "assistant-quiet: b", "user: c", "assistant: d"),
                  "<user\na>\n<assistant\nb>\n<user\nc>\n<assistant\n[d>]\n");
  /* the word alone does not make an answer */
  assert_renders (PLAIN, TURNS ("user: assistant\nassistant\nx", "assistant: y"),
                  "<user\nassistant\nassistant\nx>\n<assistant\n[y>]\n");
  /* the header's newline and the answer's are one token, which is not learned */
  assert_renders (PLAIN, TURNS ("user: Hi", "assistant: \n\nHello"),
                  "<user\nHi>\n<assistant\n\n\n[Hello>]\n");
  assert_renders (split, TURNS ("user: Hi", "assistant: \n\nHello"),
                  "<user\nHi>\n<assistant\n[\n\nHello>]\n");
  assert_renders (PLAIN, TURNS ("user: Hi", "assistant: \n\n"),
                  "<user\nHi>\n<assistant\n\n\n[>]\n");
  /* NFC changes the answer's bytes, not where it begins */
  assert_renders (PLAIN, TURNS ("user: e\u0301", "assistant: e\u0301e\u0301"),
                  "<user\n\u00e9>\n<assistant\n[\u00e9\u00e9>]\n");
  /* control tokens in the texts */
  assert_renders (PLAIN, TURNS ("user: a<|im_end|>b", "assistant: c<|im_end|>d"),
                  "<user\na>b>\n<assistant\n[c>d>]\n");
}

static void
test_images (void)
{
  HrTemplate numbered = { .add_vision_id = TRUE };

  assert_renders (PLAIN, TURNS ("user: \1What?", "assistant: A."),
                  "<user\n@What?>\n<assistant\n[A.>]\n");
  assert_renders (PLAIN, TURNS ("user: a\1b\1", "assistant: A.", "user: \1", "assistant: B."),
                  "<user\na@b@>\n<assistant\n[A.>]\n<user\n@>\n<assistant\n[B.>]\n");
  assert_renders (numbered, TURNS ("user: a\1b\1", "assistant: A.", "user: \1", "assistant: B."),
                  "<user\naPicture 1: @bPicture 2: @>\n<assistant\n[A.>]\n<user\nPicture 3: @>\n"
                  "<assistant\n[B.>]\n");
}

static void
test_image_places (void)
{
  Fixture fixture;
  g_autoptr (JsonNode) node = conversation (TURNS ("user: a\1b\1", "assistant: c"));
  g_autoptr (GError) error = NULL;

  if (!set_up (&fixture, PLAIN))
    return;
  hr_template_render (&fixture.template, fixture.encoder, node, &fixture.rendered, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (fixture.rendered.images->len, ==, 2);
  for (guint i = 0; i < 2; i++) {
    gsize at = g_array_index (fixture.rendered.images, gsize, i);

    g_assert_cmpuint (fixture.rendered.ids.data[at - 1], ==, 151652);
    g_assert_cmpuint (fixture.rendered.ids.data[at], ==, 151655);
    g_assert_cmpuint (fixture.rendered.ids.data[at + 1], ==, 151653);
  }
  tear_down (&fixture);
}

static void
test_qwen2 (void)
{
  HrTemplate qwen2 = { .kind = HR_TEMPLATE_QWEN2_VL };

  assert_renders (qwen2, TURNS ("user: Hi", "assistant: Hello"),
                  "<system\nYou are a helpful assistant.>\n<user\nHi>\n<assistant\n[Hello>]\n");
  assert_renders (qwen2, TURNS ("system: S", "user: Hi", "assistant: Hello"),
                  "<system\nS>\n<user\nHi>\n<assistant\n[Hello>]\n");
  assert_renders (qwen2, TURNS ("user: Hi", "system: S", "assistant: Hello"),
                  "<system\nYou are a helpful assistant.>\n<user\nHi>\n<system\nS>\n<assistant\n"
                  "[Hello>]\n");
}

static void
assert_refused (JsonNode *node, HrDataError code, const char *pattern)
{
  Fixture fixture;
  g_autoptr (GError) error = NULL;

  if (!set_up (&fixture, PLAIN))
    return;
  g_assert_false (
      hr_template_render (&fixture.template, fixture.encoder, node, &fixture.rendered, &error));
  g_assert_error (error, HR_DATA_ERROR, (gint)code);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("\"%s\" is not like \"%s\"", error->message, pattern);
  tear_down (&fixture);
}

static void
test_refused (void)
{
  static const struct {
    const char *turns[3];
    HrDataError code;
    const char *pattern;
  } rows[] = {
    { { "user: Hi" }, HR_DATA_ERROR_NO_ASSISTANT_TURN, "*no turn of the assistant*" },
    { { "user: Hi", "system: S" }, HR_DATA_ERROR_UNSUPPORTED, "turn 1 is a system turn*" },
    { { "assistant: \1" }, HR_DATA_ERROR_UNSUPPORTED, "turn 0*image*assistant*" },
    { { "system: \1" }, HR_DATA_ERROR_UNSUPPORTED, "turn 0*image*system*" },
    { { "user: <|image_pad|>" }, HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT, "turn 0 (user): *image_pad*" },
    { { "user: a", "assistant: <|vision_end|>" },
      HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT,
      "turn 1 (assistant): *vision_end*" },
    { { "tool: a" }, HR_DATA_ERROR_BAD_RECORD, "turn 0*role*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (JsonNode) node = conversation (rows[i].turns);

    assert_refused (node, rows[i].code, rows[i].pattern);
  }
}

static void
test_bad_tree (void)
{
  static const char *const rows[][2] = {
    { "{}", "*no list of turns*" },
    { "[]", "*no list of turns*" },
    { "{\"turns\":[]}", "*no turn of the assistant*" },
    { "{\"turns\":[7]}", "turn 0*parts*" },
    { "{\"turns\":[{\"role\":\"user\"}]}", "turn 0*parts*" },
    { "{\"turns\":[{\"parts\":[]}]}", "turn 0*role*" },
    { "{\"turns\":[{\"role\":7,\"parts\":[]}]}", "turn 0*role*" },
    { "{\"turns\":[{\"role\":\"user\",\"parts\":[{}]}]}", "turn 0*part*" },
    { "{\"turns\":[{\"role\":\"user\",\"parts\":[{\"text\":7}]}]}", "turn 0*part*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (JsonNode) node = json_from_string (rows[i][0], NULL);

    assert_refused (node, i == 2 ? HR_DATA_ERROR_NO_ASSISTANT_TURN : HR_DATA_ERROR_BAD_RECORD,
                    rows[i][1]);
  }
}

/* images have to come in their order */
static void
test_image_order (void)
{
  g_autoptr (JsonNode) node = json_from_string (
      "{\"turns\":[{\"role\":\"user\",\"parts\":[{\"image\":1},{\"image\":0}]}]}", NULL);

  assert_refused (node, HR_DATA_ERROR_PLACEHOLDER_MISMATCH, "turn 0: image 1*image 0*");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/template/turns", test_turns);
  g_test_add_func ("/text/template/learned", test_learned);
  g_test_add_func ("/text/template/images", test_images);
  g_test_add_func ("/text/template/image-places", test_image_places);
  g_test_add_func ("/text/template/qwen2", test_qwen2);
  g_test_add_func ("/text/template/refused", test_refused);
  g_test_add_func ("/text/template/bad-tree", test_bad_tree);
  g_test_add_func ("/text/template/image-order", test_image_order);
  return g_test_run ();
}
