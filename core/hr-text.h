/* hr-text.h: the words of a pipeline text, and errors that point at them. Private to the core. */
#pragma once
#include "hr-error.h"

typedef enum {
  HR_TOKEN_END,
  HR_TOKEN_WORD,
  HR_TOKEN_LINK,  /* ! */
  HR_TOKEN_EQUALS /* = behind a name */
} HrTokenType;

/**
 * HrToken:
 * @offset: its first byte in the text
 * @length: bytes, quotes included
 * @value: of a word: quotes taken off, variables replaced
 * @quoted: there were quotes or backslashes, so that it is a value and no name
 * @variable: there were variables
 */
typedef struct {
  HrTokenType type;
  gsize offset, length;
  char *value;
  gboolean quoted, variable;
} HrToken;

/**
 * HrText:
 * @variables: (nullable): for ${NAME}, before the environment
 * @at: the next byte to look at
 * @wrong_offset, @wrong_length: what the error points at
 */
typedef struct {
  const char *text;
  GHashTable *variables;
  gsize at;
  gsize wrong_offset, wrong_length;
} HrText;

/* what a word may hold: a name ends at "=", a value does not */
typedef enum { HR_TEXT_NAME, HR_TEXT_VALUE } HrTextMode;

/* Reads the next token over the old one. FALSE: the error is set. */
gboolean hr_text_next (HrText *text, HrTextMode mode, HrToken *token, GError **error);
void hr_token_clear (HrToken *token);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrToken, hr_token_clear)

/**
 * hr_text_fail:
 * @advice: (nullable) (transfer full): lines below the caret
 *
 * Sets the error: the headline, the part of the text around @offset, a caret below it, the advice.
 *
 * Returns: %FALSE
 */
gboolean hr_text_fail (HrText *text, HrParseError code, gsize offset, gsize length, char *advice,
                       GError **error, const char *format, ...) G_GNUC_PRINTF (7, 8);

/* the part of the text around @offset, and below it a caret; at most some 90 columns wide, with "…"
 * where it is cut. (transfer full) */
char *hr_text_show (const char *written, gsize offset, gsize length);

/* @value as it is written in a text: as it is, or in quotes. (transfer full) */
char *hr_text_quote (const char *value);
