/* hr-secrets.h: texts for people, without what lets others in */
#pragma once
#include <glib-object.h>

G_BEGIN_DECLS

/**
 * HrSecretsIn:
 * @HR_SECRETS_IN_VALUE: the text is a link, a list of them, or anything else, and nothing around it
 * @HR_SECRETS_IN_TEXT: links stand in it, and end at white space, quotes, "<" and ">"
 * @HR_SECRETS_IN_PLACE: the same; each byte of a secret becomes a "*", so that nothing moves
 *
 * What a text is that hr_secrets_hide() gets.
 */
typedef enum { HR_SECRETS_IN_VALUE, HR_SECRETS_IN_TEXT, HR_SECRETS_IN_PLACE } HrSecretsIn;

/**
 * hr_secrets_hide:
 * @text: a value, or a message that may hold links
 * @in: where links end, and what stands for a secret
 *
 * Puts "…" for user and password of each link, and for the values of its parameters whose names
 * speak of signatures, credentials, tokens, keys, sessions and passwords. The keys of s3:// and the
 * names of file:// are no links of the web: what looks like a parameter in them is left alone.
 *
 * Returns: (transfer full): the text to show
 */
char *hr_secrets_hide (const char *text, HrSecretsIn in);

G_END_DECLS
