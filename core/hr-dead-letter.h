/* hr-dead-letter.h: the file of skipped samples, one line each; private to the core.
 * docs/errors.md */
#pragma once
#include "hr-letter.h"

typedef struct _HrDeadLetters HrDeadLetters;

/**
 * hr_dead_letters_open:
 * @path: made if it is not there; else what is new is written behind what it has
 *
 * A last line that a crash has cut is taken off. Fails if another process writes it, and if it
 * holds anything but dead letters.
 */
HrDeadLetters *hr_dead_letters_open (const char *path, GError **error);
void hr_dead_letters_free (HrDeadLetters *letters);
/* one line, unless the file has it; as a whole or not at all. From any thread. @sample: where it
 * stands; @object: (nullable): the one that it is of */
gboolean hr_dead_letters_write (HrDeadLetters *letters, const HrLetter *letter,
                                const HrBuffer *sample, const HrObject *object, GError **error);
/* what has been written outlives the machine's crash */
gboolean hr_dead_letters_sync (HrDeadLetters *letters, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrDeadLetters, hr_dead_letters_free)
