/* answers.h: what the loader makes exceptions and log lines of, as JSON */
#pragma once
#include "headrace.h"

/* a member: a text or null */
void answers_add_text (JsonBuilder *into, const char *name, const char *value);
/* a value: {domain, code, message} or null */
void answers_add_error (JsonBuilder *into, const GError *error);
/* {type, element, error, origin, text}; (transfer full) */
char *answers_from_message (const HrMessage *message);
