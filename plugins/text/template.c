/* template.c: a conversation becomes tokens */
#include "template.h"
#include <string.h>
#include "hr-error.h"

static const char turn_start[] = "<|im_start|>", turn_end[] = "<|im_end|>";
static const char vision_start[] = "<|vision_start|>", vision_end[] = "<|vision_end|>";
static const char image_pad[] = "<|image_pad|>";
static const char default_system[] = "You are a helpful assistant.";

const char *const hr_template_media_tokens[] = { vision_start, vision_end,      "<|vision_pad|>",
                                                 image_pad,    "<|video_pad|>", NULL };

typedef enum { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, N_ROLES } Role;
static const char *const role_names[N_ROLES] = { "system", "user", "assistant" };

/* a conversation while it is rendered */
typedef struct {
  const HrTemplate *template;
  const HrVocab *vocab;
  HrEncoder *encoder;
  HrRendered *into;
  guint turn;
  Role role;
  gboolean trained; /* the turn is learned */
  gsize text_begin; /* of an answer: bytes of the header in front of it in into->text */
  gsize learn_from; /* the first token that is learned */
} Render;

gboolean
hr_template_init (HrTemplate *template, const HrVocab *vocab, GError **error)
{
  template->turn_start = hr_vocab_find_added (vocab, turn_start);
  template->turn_end = hr_vocab_find_added (vocab, turn_end);
  template->vision_start = hr_vocab_find_added (vocab, vision_start);
  template->vision_end = hr_vocab_find_added (vocab, vision_end);
  template->image_pad = hr_vocab_find_added (vocab, image_pad);
  if (template->turn_start != HR_NO_TOKEN && template->turn_end != HR_NO_TOKEN)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "there is no added token \"%s\", which the template needs",
               template->turn_start == HR_NO_TOKEN ? turn_start : turn_end);
  return FALSE;
}

void
hr_rendered_init (HrRendered *rendered)
{
  rendered->ids = (HrIds){ NULL, 0, 0 };
  rendered->learned = g_array_new (FALSE, FALSE, sizeof (HrTokenSpan));
  rendered->images = g_array_new (FALSE, FALSE, sizeof (gsize));
  rendered->text = g_string_new (NULL);
}

void
hr_rendered_clear (HrRendered *rendered)
{
  hr_ids_clear (&rendered->ids);
  g_clear_pointer (&rendered->learned, g_array_unref);
  g_clear_pointer (&rendered->images, g_array_unref);
  if (rendered->text != NULL)
    g_string_free (g_steal_pointer (&rendered->text), TRUE);
}

/* ---- text ---- */

/* The text so far becomes tokens. Bytes and tokens agree up to the end of the header, which is
 * ASCII and ends in a newline, so NFC leaves it alone; a token that begins in it and ends behind it
 * is not learned. */
static gboolean
flush (Render *render, GError **error)
{
  GString *text = render->into->text;
  HrIds *ids = &render->into->ids;
  gsize first = ids->n, bytes = 0;

  if (!hr_encoder_encode (render->encoder, text->str, text->len, ids, error)) {
    g_prefix_error (error, "turn %u (%s): ", render->turn, role_names[render->role]);
    return FALSE;
  }
  g_string_truncate (text, 0);
  if (render->text_begin == 0)
    return TRUE;
  while (bytes < render->text_begin && first < ids->n)
    bytes += hr_vocab_get_length (render->vocab, ids->data[first++]);
  render->learn_from = first;
  render->text_begin = 0;
  return TRUE;
}

static gboolean
add_text (Render *render, const char *text, GError **error)
{
  if (render->into->text->len + strlen (text) < (1 << 30)) {
    g_string_append (render->into->text, text);
    return TRUE;
  }
  hr_set_data_error (error, HR_DATA_ERROR_OVERLONG, "turn %u (%s) has more than 1 GiB of text",
                     render->turn, role_names[render->role]);
  return FALSE;
}

/* ---- images ---- */

static gboolean
add_image (Render *render, gint64 index, GError **error)
{
  const HrTemplate *template = render->template;
  HrIds *ids = &render->into->ids;
  guint n = render->into->images->len + 1;
  gsize at;

  if (render->role != ROLE_USER) {
    hr_set_data_error (error, HR_DATA_ERROR_UNSUPPORTED,
                       "turn %u: an image in a turn of the %s, where the template has none",
                       render->turn, role_names[render->role]);
    return FALSE;
  }
  if (index != n - 1) {
    hr_set_data_error (error, HR_DATA_ERROR_PLACEHOLDER_MISMATCH,
                       "turn %u: image %" G_GINT64_FORMAT " stands where image %u belongs",
                       render->turn, index, n - 1);
    return FALSE;
  }
  if (template->vision_start == HR_NO_TOKEN || template->vision_end == HR_NO_TOKEN
      || template->image_pad == HR_NO_TOKEN) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "the tokenizer has no %s, %s and %s, so there cannot be images", vision_start,
                 image_pad, vision_end);
    return FALSE;
  }
  if (template->add_vision_id)
    g_string_append_printf (render->into->text, "Picture %u: ", n);
  if (!flush (render, error))
    return FALSE;
  hr_ids_append (ids, template->vision_start);
  at = ids->n;
  g_array_append_val (render->into->images, at);
  hr_ids_append (ids, template->image_pad);
  hr_ids_append (ids, template->vision_end);
  return TRUE;
}

/* ---- turns ---- */

static gboolean
begin_turn (Render *render, Role role, gboolean trained, GError **error)
{
  GString *text = render->into->text;

  render->role = role;
  render->trained = trained && role == ROLE_ASSISTANT;
  hr_ids_append (&render->into->ids, render->template->turn_start);
  g_string_append (text, role_names[role]);
  g_string_append_c (text, '\n');
  if (role != ROLE_ASSISTANT)
    return TRUE;
  render->text_begin = text->len;
  return render->template->boundary == HR_BOUNDARY_JOINT || flush (render, error);
}

static gboolean
end_turn (Render *render, GError **error)
{
  HrIds *ids = &render->into->ids;
  HrTokenSpan span;

  if (!flush (render, error))
    return FALSE;
  hr_ids_append (ids, render->template->turn_end);
  span = (HrTokenSpan){ render->learn_from, ids->n };
  if (!add_text (render, "\n", error) || !flush (render, error))
    return FALSE;
  if (render->template->label_newline)
    span.to = ids->n;
  if (render->trained)
    g_array_append_val (render->into->learned, span);
  return TRUE;
}

static gboolean
fail_record (Render *render, GError **error, const char *what)
{
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "turn %u of the conversation %s",
                     render->turn, what);
  return FALSE;
}

static JsonNode *
get_member (JsonObject *object, const char *name, GType type)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == type
             ? node
             : NULL;
}

static gboolean
add_part (Render *render, JsonNode *node, GError **error)
{
  JsonObject *part = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *text = part != NULL ? get_member (part, "text", G_TYPE_STRING) : NULL;
  JsonNode *image = part != NULL ? get_member (part, "image", G_TYPE_INT64) : NULL;

  if (text != NULL)
    return add_text (render, json_node_get_string (text), error);
  if (image != NULL)
    return add_image (render, json_node_get_int (image), error);
  return fail_record (render, error, "has a part that is neither text nor image");
}

static gboolean
read_role (Render *render, JsonObject *turn, Role *role, GError **error)
{
  JsonNode *node = get_member (turn, "role", G_TYPE_STRING);

  for (*role = 0; node != NULL && *role < N_ROLES; (*role)++)
    if (g_str_equal (json_node_get_string (node), role_names[*role]))
      return TRUE;
  return fail_record (render, error, "has no role, or one that is not known");
}

static gboolean
add_turn (Render *render, JsonNode *node, GError **error)
{
  JsonObject *turn = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *parts = turn != NULL ? json_object_get_member (turn, "parts") : NULL;
  JsonNode *train = turn != NULL ? get_member (turn, "train", G_TYPE_BOOLEAN) : NULL;
  JsonArray *list;
  Role role;

  if (parts == NULL || !JSON_NODE_HOLDS_ARRAY (parts))
    return fail_record (render, error, "has no list of parts");
  if (!read_role (render, turn, &role, error))
    return FALSE;
  if (role == ROLE_SYSTEM && render->turn > 0 && render->template->kind == HR_TEMPLATE_QWEN3_VL) {
    hr_set_data_error (
        error, HR_DATA_ERROR_UNSUPPORTED,
        "turn %u is a system turn, but not the first one: the template would drop it",
        render->turn);
    return FALSE;
  }
  if (!begin_turn (render, role, train == NULL || json_node_get_boolean (train), error))
    return FALSE;
  list = json_node_get_array (parts);
  for (guint i = 0; i < json_array_get_length (list); i++)
    if (!add_part (render, json_array_get_element (list, i), error))
      return FALSE;
  return end_turn (render, error);
}

static gboolean
is_system (JsonNode *node)
{
  JsonObject *turn = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *role = turn != NULL ? get_member (turn, "role", G_TYPE_STRING) : NULL;

  return role != NULL && g_str_equal (json_node_get_string (role), role_names[ROLE_SYSTEM]);
}

static gboolean
add_default_system (Render *render, GError **error)
{
  return begin_turn (render, ROLE_SYSTEM, FALSE, error) && add_text (render, default_system, error)
         && end_turn (render, error);
}

static JsonArray *
get_turns (JsonNode *conversation, GError **error)
{
  JsonNode *turns = JSON_NODE_HOLDS_OBJECT (conversation)
                        ? json_object_get_member (json_node_get_object (conversation), "turns")
                        : NULL;

  if (turns != NULL && JSON_NODE_HOLDS_ARRAY (turns))
    return json_node_get_array (turns);
  hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD, "the conversation has no list of turns");
  return NULL;
}

gboolean
hr_template_render (const HrTemplate *template, HrEncoder *encoder, JsonNode *conversation,
                    HrRendered *rendered, GError **error)
{
  Render render = { .template = template,
                    .vocab = hr_encoder_get_vocab (encoder),
                    .encoder = encoder,
                    .into = rendered };
  JsonArray *turns = get_turns (conversation, error);
  gboolean has_answer = FALSE;

  rendered->ids.n = 0;
  g_array_set_size (rendered->learned, 0);
  g_array_set_size (rendered->images, 0);
  g_string_truncate (rendered->text, 0);
  if (turns == NULL)
    return FALSE;
  for (guint i = 0; i < json_array_get_length (turns); i++) {
    JsonNode *turn = json_array_get_element (turns, i);

    render.turn = i;
    if (i == 0 && template->kind == HR_TEMPLATE_QWEN2_VL && !is_system (turn)
        && !add_default_system (&render, error))
      return FALSE;
    if (!add_turn (&render, turn, error))
      return FALSE;
    has_answer |= render.role == ROLE_ASSISTANT;
  }
  if (has_answer)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_NO_ASSISTANT_TURN,
                     "the conversation has no turn of the assistant, so nothing to learn");
  return FALSE;
}
