/* hr-field-set.h: which fields a link carries, as the elements' tables say. Private to the core.
 *
 * A list of a table is "images:encoded, conversation": names, some with a form. The name "batch"
 * stands for being a batch, "batch?" for that it may be one, "*" for any field. */
#pragma once
#include "hr-element.h"

/* one item of a list; both interned, the form NULL if none is named */
typedef struct {
  const char *name;
  const char *form;
} HrFieldSpec;

/* the items of a list, which may be NULL; (transfer full) (element-type HrFieldSpec) */
GArray *hr_field_specs (const char *list);
/* "images:encoded"; (transfer full) */
char *hr_field_spec_to_string (const HrFieldSpec *spec);

/* a field and the element that gave it or its form last */
typedef struct {
  HrFieldSpec spec;
  HrElement *giver;
} HrSetField;

/**
 * HrFieldSet:
 * @fields: (element-type HrSetField)
 * @open: other fields may be there as well: an `appsrc` stands upstream
 */
typedef struct {
  GArray *fields;
  gboolean open;
} HrFieldSet;

HrFieldSet *hr_field_set_new (void);
HrFieldSet *hr_field_set_copy (const HrFieldSet *set);
void hr_field_set_free (HrFieldSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrFieldSet, hr_field_set_free)

/* (transfer none) (nullable): valid until the set changes */
const HrSetField *hr_field_set_find (const HrFieldSet *set, const char *name);
/* is it there, in the form that is asked for if one is? In an open set everything is there that is
 * not there in another form. */
gboolean hr_field_set_has (const HrFieldSet *set, const HrFieldSpec *spec);
/* Is it something that an element with these needs works on? One that needs fields of a sample
 * works on single samples, not on batches, unless "batch" or "batch?" is among its needs. */
gboolean hr_field_set_suits (const HrFieldSet *set, const GArray *needs);
void hr_field_set_put (HrFieldSet *set, const HrFieldSpec *spec, HrElement *giver);
void hr_field_set_remove (HrFieldSet *set, const char *name);
/* what an element with these lists makes of it */
void hr_field_set_apply (HrFieldSet *set, const char *takes, const char *gives, HrElement *giver);
/* equal for sets of the same fields in the same forms; (transfer full) */
char *hr_field_set_key (const HrFieldSet *set);
