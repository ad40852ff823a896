/* hr-check-fields.c: does every element get the fields that it needs?
 *
 * Sets of fields are carried along the links, from the sources on. A join with mode=zip gives the
 * union of its inputs; a field that two inputs bring is an error, unless the same element gave it,
 * so that it is one field that has come through a tee. The other modes give what all inputs bring
 * in the same form. What is missing is noted, put right as far as the registry knows how, and the
 * walk goes on, so that one error tells everything and ends with a text that fits. */
#include "hr-check-private.h"
#include "hr-link.h"
#include "hr-registry.h"
#include <string.h>

typedef struct {
  HrElement *element;
  GArray *missing;     /* HrFieldSpec */
  GPtrArray *inserted; /* names that put it right; NULL: nothing known does */
  HrFieldSpec
      found; /* the first missing field in the form in which it is there; name NULL: it is not */
  HrElement *giver; /* of it, or the element before */
  HrElement
      *batcher; /* nothing is missing, but this one makes batches and @element takes samples */
} Problem;

typedef struct {
  HrCheck *check;
  HrFieldSet **sets; /* behind each element, by index */
  GArray *problems;
  GHashTable *inserted; /* HrLink -> GPtrArray */
} Walk;

static void
problem_clear (gpointer data)
{
  Problem *problem = data;

  g_array_unref (problem->missing);
  g_clear_pointer (&problem->inserted, g_ptr_array_unref);
}

static HrElement *
from_of (HrElement *element, guint pad)
{
  return ((HrLink *)g_ptr_array_index (element->inputs, pad))->from;
}

static const HrFieldSet *
input_set (const Walk *walk, HrElement *element, guint pad)
{
  return walk->sets[from_of (element, pad)->index];
}

/* ---- joins ---- */

static gboolean
is_batch (const HrFieldSet *set)
{
  return hr_field_set_find (set, "batch") != NULL;
}

static HrFieldSet *
zip (Walk *walk, HrElement *element, GError **error)
{
  g_autoptr (HrFieldSet) sum = hr_field_set_copy (input_set (walk, element, 0));
  const char *label = hr_check_label (walk->check, element);

  for (guint pad = 1; pad < element->inputs->len; pad++) {
    const HrFieldSet *set = input_set (walk, element, pad);

    if (is_batch (set) != is_batch (sum) && !set->open && !sum->open) {
      hr_check_fail (walk->check, element, HR_PARSE_ERROR_TYPE, error,
                     "\"%s\" gets batches from one input and single samples from another\n"
                     "put batch into both branches, or behind the join",
                     label);
      return NULL;
    }
    sum->open |= set->open;
    for (guint i = 0; i < set->fields->len; i++) {
      const HrSetField *field = &g_array_index (set->fields, HrSetField, i);
      const HrSetField *other = hr_field_set_find (sum, field->spec.name);

      if (other == NULL) {
        hr_field_set_put (sum, &field->spec, field->giver);
      } else if (other->giver != field->giver && !g_str_equal (field->spec.name, "batch")) {
        hr_check_fail (
            walk->check, element, HR_PARSE_ERROR_TYPE, error,
            "\"%s\" gets the field \"%s\" from two inputs: from \"%s\" and from \"%s\"\n"
            "mode=zip merges different fields; mode=concat and mode=any make one stream of several",
            label, field->spec.name, hr_element_get_name (other->giver),
            hr_element_get_name (field->giver));
        return NULL;
      }
    }
  }
  return g_steal_pointer (&sum);
}

static HrFieldSet *
intersect (const Walk *walk, HrElement *element)
{
  HrFieldSet *common = hr_field_set_copy (input_set (walk, element, 0));

  for (guint pad = 1; pad < element->inputs->len; pad++) {
    const HrFieldSet *set = input_set (walk, element, pad);

    for (guint i = common->fields->len; i > 0; i--) {
      const HrSetField *field = &g_array_index (common->fields, HrSetField, i - 1);
      const HrSetField *other = hr_field_set_find (set, field->spec.name);

      if (other == NULL ? !set->open : other->spec.form != field->spec.form)
        g_array_remove_index (common->fields, i - 1);
    }
    /* what only an open input might have brought is there if this one brings it */
    for (guint i = 0; common->open && i < set->fields->len; i++) {
      const HrSetField *field = &g_array_index (set->fields, HrSetField, i);

      if (hr_field_set_find (common, field->spec.name) == NULL)
        hr_field_set_put (common, &field->spec, field->giver);
    }
    common->open &= set->open;
  }
  return common;
}

/* ---- the walk ---- */

static void
note_problem (Walk *walk, HrElement *element, HrFieldSet *set, GArray *needs)
{
  Problem problem = { .element = element,
                      .missing = g_array_new (FALSE, FALSE, sizeof (HrFieldSpec)) };
  const HrSetField *field;

  for (guint i = 0; i < needs->len; i++)
    if (!hr_field_set_has (set, &g_array_index (needs, HrFieldSpec, i)))
      g_array_append_val (problem.missing, g_array_index (needs, HrFieldSpec, i));
  field = hr_field_set_find (set, g_array_index (problem.missing, HrFieldSpec, 0).name);
  if (field != NULL) {
    problem.found = field->spec;
    problem.giver = field->giver;
  } else if (element->inputs->len > 0) {
    problem.giver = from_of (element, 0);
  }
  if (element->inputs->len == 1)
    problem.inserted = hr_repair_find (set, needs);
  if (problem.inserted != NULL) {
    g_hash_table_insert (walk->inserted, g_ptr_array_index (element->inputs, 0), problem.inserted);
    for (guint i = 0; i < problem.inserted->len; i++) {
      const HrElementDef *def = hr_registry_find (g_ptr_array_index (problem.inserted, i), NULL);

      hr_field_set_apply (set, def->takes, def->gives, element);
    }
  }
  /* as if it were there, so that what is behind is judged by itself */
  for (guint i = 0; i < problem.missing->len; i++)
    hr_field_set_put (set, &g_array_index (problem.missing, HrFieldSpec, i), element);
  g_array_append_val (walk->problems, problem);
}

static GArray *
needs_of (const HrElement *element)
{
  const HrElementDef *def = element->def;
  GArray *needs = hr_field_specs (def->needs);

  if (def->needs_of != NULL) {
    g_autoptr (GArray) more = hr_field_specs (def->needs_of (element->self));

    g_array_append_vals (needs, more->data, more->len);
  }
  return needs;
}

static gboolean
walk_element (Walk *walk, HrElement *element, GError **error)
{
  const HrElementDef *def = element->def;
  g_autoptr (GArray) needs = needs_of (element);
  HrFieldSet *set;

  if (element->inputs->len == 0)
    set = hr_field_set_new ();
  else if (element->inputs->len == 1)
    set = hr_field_set_copy (input_set (walk, element, 0));
  else if (def->choose == NULL && (def->join == NULL || def->join (element->self) == HR_JOIN_ZIP))
    set = zip (walk, element, error);
  else
    set = intersect (walk, element);
  walk->sets[element->index] = set;
  if (set == NULL)
    return FALSE;
  if (!hr_field_set_suits (set, needs)) {
    Problem problem = { .element = element,
                        .missing = g_array_new (FALSE, FALSE, sizeof (HrFieldSpec)),
                        .batcher = hr_field_set_find (set, "batch")->giver };

    g_array_append_val (walk->problems, problem);
    hr_field_set_apply (set, def->takes, def->gives, element);
    return TRUE;
  }
  for (guint i = 0; i < needs->len; i++)
    if (!hr_field_set_has (set, &g_array_index (needs, HrFieldSpec, i))) {
      note_problem (walk, element, set, needs);
      break;
    }
  hr_field_set_apply (set, def->takes, def->gives, element);
  return TRUE;
}

/* ---- the error ---- */

static char *
join_words (GPtrArray *words)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < words->len; i++)
    g_string_append_printf (text, "%s%s",
                            i == 0                ? ""
                            : i + 1 == words->len ? " and "
                                                  : ", ",
                            (const char *)g_ptr_array_index (words, i));
  return g_string_free (text, FALSE);
}

static char *
describe_missing (const Problem *problem)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < problem->missing->len; i++)
    g_ptr_array_add (words,
                     hr_field_spec_to_string (&g_array_index (problem->missing, HrFieldSpec, i)));
  return join_words (words);
}

/* "imagedecode" needs images:encoded, but "jsonlparse" gives images:links */
static void
append_problem (const Walk *walk, const Problem *problem, GString *text)
{
  g_autofree char *missing = describe_missing (problem);
  const char *label = hr_check_label (walk->check, problem->element);

  if (problem->batcher != NULL) {
    const char *batcher = hr_check_label (walk->check, problem->batcher);

    g_string_append_printf (text,
                            "\"%s\" works on single samples, and \"%s\" before it makes batches\n"
                            "put \"%s\" before \"%s\"",
                            label, batcher, label, batcher);
    return;
  }
  g_string_append_printf (text, "\"%s\" needs %s", label, missing);
  if (problem->found.name != NULL && problem->giver != NULL) {
    g_autofree char *found = hr_field_spec_to_string (&problem->found);

    g_string_append_printf (text, ", but \"%s\" gives %s",
                            hr_check_label (walk->check, problem->giver), found);
  } else if (problem->giver != NULL) {
    g_string_append_printf (text, ", which nothing up to \"%s\" gives",
                            hr_check_label (walk->check, problem->giver));
  } else {
    g_string_append (text, ", and it has no input");
  }
}

/* an element further down that gives the field stands on the wrong side */
static HrElement *
giver_behind (const Walk *walk, const Problem *problem, const HrFieldSpec *spec)
{
  for (guint k = walk->check->n; k > 0; k--) {
    HrElement *element = walk->check->order[k - 1];
    g_autoptr (GArray) gives = hr_field_specs (element->def->gives);

    if (element == problem->element)
      return NULL;
    for (guint i = 0; i < gives->len; i++) {
      const HrFieldSpec *given = &g_array_index (gives, HrFieldSpec, i);

      if (given->name == spec->name && (spec->form == NULL || given->form == spec->form))
        return element;
    }
  }
  return NULL;
}

static void
append_givers (const Walk *walk, const Problem *problem, GString *text)
{
  for (guint i = 0; i < problem->missing->len; i++) {
    const HrFieldSpec *spec = &g_array_index (problem->missing, HrFieldSpec, i);
    g_autofree char *field = hr_field_spec_to_string (spec);
    g_autoptr (GPtrArray) givers = hr_repair_givers (spec, 4);
    g_autofree char *names = join_words (givers);
    HrElement *behind = giver_behind (walk, problem, spec);

    if (behind != NULL)
      g_string_append_printf (text, "\n\"%s\" gives %s, but stands behind \"%s\": put it before",
                              hr_check_label (walk->check, behind), field,
                              hr_check_label (walk->check, problem->element));
    else if (givers->len > 0)
      g_string_append_printf (text, "\n%s: given by %s", field, names);
    else
      g_string_append_printf (text, "\n%s: no element gives it", field);
  }
}

static gboolean
fail_fields (Walk *walk, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean repaired = TRUE;

  for (guint i = 0; i < walk->problems->len; i++) {
    const Problem *problem = &g_array_index (walk->problems, Problem, i);

    if (i > 0)
      g_string_append_c (text, '\n');
    append_problem (walk, problem, text);
    append_givers (walk, problem, text);
    repaired = repaired && problem->inserted != NULL;
  }
  if (repaired) {
    g_autofree char *corrected = hr_print_with (walk->check->pipeline, walk->inserted);

    g_string_append_printf (text, "\nthis fits:\n%s", corrected);
  }
  return hr_check_fail (walk->check, g_array_index (walk->problems, Problem, 0).element,
                        HR_PARSE_ERROR_TYPE, error, "%s", text->str);
}

gboolean
hr_check_fields (HrCheck *check, GError **error)
{
  Walk walk = { .check = check };
  gboolean good = TRUE;

  walk.sets = g_new0 (HrFieldSet *, check->n + 1);
  walk.problems = g_array_new (FALSE, FALSE, sizeof (Problem));
  g_array_set_clear_func (walk.problems, problem_clear);
  walk.inserted = g_hash_table_new (NULL, NULL);
  for (guint k = 0; k < check->n && good; k++)
    good = walk_element (&walk, check->order[k], error);
  if (good && walk.problems->len > 0)
    good = fail_fields (&walk, error);
  for (guint i = 0; i < check->n; i++)
    g_clear_pointer (&walk.sets[i], hr_field_set_free);
  g_free (walk.sets);
  g_array_unref (walk.problems);
  g_hash_table_unref (walk.inserted);
  return good;
}
