/* vocab-load.h: vocabularies from the files that people have */
#pragma once
#include "vocab.h"

G_BEGIN_DECLS

/**
 * hr_vocab_load_json:
 * @json: a tokenizer.json of Hugging Face's tokenizers
 * @size: its bytes
 * @error: #HR_RESOURCE_ERROR: not JSON, or something in it that is not understood, by name
 *
 * Byte-level BPE: normalizer none or NFC; pre-tokenizer ByteLevel, or Split by patterns and
 * ByteLevel; merges as pairs or as "a b"; added tokens without single_word, lstrip and rstrip. What
 * the post-processor would add is left out: the chat template has it.
 */
HrVocab *hr_vocab_load_json (const char *json, gsize size, GError **error);

/**
 * hr_vocab_load_tiktoken:
 * @text: lines of "BASE64 RANK", as OpenAI's tiktoken reads them
 * @size: its bytes
 * @pattern: cuts text into pieces; such a file does not hold it
 * @added: (nullable): added tokens: they get the ids behind the greatest rank
 * @error: #HR_RESOURCE_ERROR
 *
 * Text is brought into NFC first, which tiktoken leaves to its caller.
 */
HrVocab *hr_vocab_load_tiktoken (const char *text, gsize size, const char *pattern,
                                 const char *const *added, GError **error);

/* for a .tiktoken file of Qwen's: the pattern, and the 26 added tokens of Qwen2 to
 * Qwen3-VL with commas between them */
#define HR_VOCAB_QWEN_PATTERN                                                                      \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "                            \
  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"                                                                 \
  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HR_VOCAB_QWEN_ADDED                                                                        \
  "<|endoftext|>,<|im_start|>,<|im_end|>,<|object_ref_start|>,<|object_ref_end|>,"                 \
  "<|box_start|>,<|box_end|>,<|quad_start|>,<|quad_end|>,<|vision_start|>,<|vision_end|>,"         \
  "<|vision_pad|>,<|image_pad|>,<|video_pad|>,<tool_call>,</tool_call>,<|fim_prefix|>,"            \
  "<|fim_middle|>,<|fim_suffix|>,<|fim_pad|>,<|repo_name|>,<|file_sep|>,<tool_response>,"          \
  "</tool_response>,<think>,</think>"

G_END_DECLS
