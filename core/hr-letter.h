/* hr-letter.h: what there is to tell of a sample that was skipped; private to the core. It travels
 * in the error that made the hole, and all copies of that error share it. */
#pragma once
#include "hr-buffer.h"
#include "hr-plan.h"

/**
 * HrLetter:
 * @told: atomic: it has been counted and told, whoever comes to it again
 * @element: the index of the one that failed …
 * @name: … and its name
 * @image: (nullable): the link of the image that is bad, as the record has it
 * @index: which of the sample's images, from 0; -1: the sample
 * @what: what is wrong, without who and where
 * @message: (nullable): the same with them, once it is written
 * @kind: #HrDataError
 * @number: the how-many-th of the run was written
 */
typedef struct {
  gint ref_count;
  gint told;
  guint element;
  char *name;
  char *image;
  gint index;
  char *what;
  char *message;
  gint kind;
  HrOrigin *origin;
  guint64 number;
} HrLetter;

HrLetter *hr_letter_new (void);
HrLetter *hr_letter_ref (HrLetter *letter);
void hr_letter_unref (HrLetter *letter);
/* of a data error; (transfer none) (nullable): NULL: nobody has written it, or it is no such */
HrLetter *hr_letter_of (const GError *error);
/* takes @letter; of a data error that has none */
void hr_letter_attach (GError *error, HrLetter *letter);

/**
 * hr_letter_to_json:
 * @sample: where it stands: number, epoch and place
 * @object: (nullable): the one that it is of
 *
 * One line, as a file of dead letters has it (docs/errors.md). What may be secret in a link of the
 * web, its user and its query, is not in it.
 *
 * Returns: (transfer full): with its LF
 */
char *hr_letter_to_json (const HrLetter *letter, const HrBuffer *sample, const HrObject *object);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrLetter, hr_letter_unref)
