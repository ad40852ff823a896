/* template.h: a conversation becomes tokens: the chat template, and what of it is learned */
#pragma once
#include <json-glib/json-glib.h>
#include "encode.h"

G_BEGIN_DECLS

/**
 * HrTemplateKind:
 * @HR_TEMPLATE_QWEN3_VL: "<|im_start|>ROLE\n…<|im_end|>\n" a turn, nothing else
 * @HR_TEMPLATE_QWEN2_VL: the same, and "You are a helpful assistant." from the system in front of a
 *   conversation that does not begin with a system turn (Qwen2-VL, Qwen2.5-VL)
 */
typedef enum { HR_TEMPLATE_QWEN3_VL, HR_TEMPLATE_QWEN2_VL } HrTemplateKind;

/**
 * HrBoundary:
 * @HR_BOUNDARY_JOINT: "assistant\n" and the answer are tokenised as one text, as the templates of
 *   transformers do: a newline that the answer begins with may melt with the header's
 * @HR_BOUNDARY_SPLIT: each for itself, as LLaMA-Factory does
 */
typedef enum { HR_BOUNDARY_JOINT, HR_BOUNDARY_SPLIT } HrBoundary;

/* the added tokens that stand for media, for HrEncodeRules; NULL-terminated */
extern const char *const hr_template_media_tokens[];

/**
 * HrTemplate:
 *
 * Ids are HR_NO_TOKEN where the vocabulary has no such token.
 */
typedef struct {
  HrTemplateKind kind;
  HrBoundary boundary;
  gboolean add_vision_id; /* "Picture 1: " in front of the first image, and so on */
  gboolean label_newline; /* the newline behind an answer is learned, too */

  /*< private >*/
  guint32 turn_start;
  guint32 turn_end;
  guint32 vision_start;
  guint32 vision_end;
  guint32 image_pad;
} HrTemplate;

/* finds the template's tokens; FALSE, with HR_RESOURCE_ERROR, if the vocabulary has no turns */
gboolean hr_template_init (HrTemplate *template, const HrVocab *vocab, GError **error);

/* tokens from @from to before @to */
typedef struct {
  gsize from;
  gsize to;
} HrTokenSpan;

/**
 * HrRendered:
 * @ids: all tokens, with one pad for each image
 * @learned: (element-type HrTokenSpan): what is labelled, in order
 * @images: (element-type gsize): where the pads are, in order
 *
 * Reused from one conversation to the next.
 */
typedef struct {
  HrIds ids;
  GArray *learned;
  GArray *images;
  /*< private >*/
  GString *text;
} HrRendered;

void hr_rendered_init (HrRendered *rendered);
void hr_rendered_clear (HrRendered *rendered);

/**
 * hr_template_render:
 * @encoder: has the same vocabulary
 * @conversation: {"turns": [{"role": "system"|"user"|"assistant", "train": bool, "parts":
 *   [{"text": string} | {"image": k}]}]}, k counting the images in the order of their places
 * @rendered: (inout): the result; what was in it is lost
 * @error: #HR_DATA_ERROR: BAD_RECORD, NO_ASSISTANT_TURN, UNSUPPORTED, PLACEHOLDER_MISMATCH, or the
 *   encoder's; the message names the turn
 *
 * What is learned is noted while the text is put together: a token of an answer, from its first
 * byte to its end token. One that holds a byte of the header as well is not.
 */
gboolean hr_template_render (const HrTemplate *template, HrEncoder *encoder, JsonNode *conversation,
                             HrRendered *rendered, GError **error);

G_END_DECLS
