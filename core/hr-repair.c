/* hr-repair.c: which elements would give the fields that are missing */
#include "hr-check-private.h"
#include "hr-registry.h"
#include <string.h>

#define MAX_DEPTH 4
#define MAX_SETS                                                                                   \
  4000 /* that the search looks at: it runs only when there is an error to explain                 \
        */

/* an element of the registry that may be put into a link */
typedef struct {
  const HrElementInfo *info;
  GArray *needs;
  gboolean useless; /* it has been opened and cannot be put there */
} Candidate;

typedef struct {
  HrFieldSet *set;
  gint parent;    /* -1: the start */
  gint candidate; /* what has been put behind the parent */
  guint depth;
} Step;

static void
candidate_clear (gpointer data)
{
  g_array_unref (((Candidate *)data)->needs);
}

static void
step_clear (gpointer data)
{
  hr_field_set_free (((Step *)data)->set);
}

static gboolean
has_all (const HrFieldSet *set, const GArray *needs)
{
  for (guint i = 0; i < needs->len; i++)
    if (!hr_field_set_has (set, &g_array_index (needs, HrFieldSpec, i)))
      return FALSE;
  return TRUE;
}

/* Can it stand between two others with all its defaults? The plugin is opened to see. */
static gboolean
fits_in_between (const HrElementInfo *info)
{
  const HrElementDef *def = hr_registry_find (info->name, NULL);

  if (def == NULL || (def->process == NULL && def->each == NULL && def->submit == NULL))
    return FALSE;
  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++)
    if ((prop->flags & HR_PROP_REQUIRED) != 0)
      return FALSE;
  return TRUE;
}

static GArray *
read_candidates (void)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  GArray *candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));

  g_array_set_clear_func (candidates, candidate_clear);
  for (guint i = 0; i < rows->len; i++) {
    const HrElementInfo *info = g_ptr_array_index (rows, i);

    if (*info->gives != '\0') {
      Candidate candidate = { info, hr_field_specs (info->needs), FALSE };

      g_array_append_val (candidates, candidate);
    }
  }
  return candidates;
}

/* the index of the step at which all needs are met, or -1 */
static gint
search (GArray *steps, GArray *candidates, const GArray *needs)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  g_hash_table_add (seen, hr_field_set_key (g_array_index (steps, Step, 0).set));
  for (guint at = 0; at < steps->len && steps->len < MAX_SETS; at++)
    for (guint c = 0; c < candidates->len; c++) {
      const Candidate *candidate = &g_array_index (candidates, Candidate, c);
      const Step *from = &g_array_index (steps, Step, at);
      Step step = { NULL, (gint)at, (gint)c, from->depth + 1 };
      g_autofree char *key = NULL;

      if (candidate->useless || from->depth >= MAX_DEPTH || !has_all (from->set, candidate->needs)
          || !hr_field_set_suits (from->set, candidate->needs))
        continue;
      step.set = hr_field_set_copy (from->set);
      hr_field_set_apply (step.set, candidate->info->takes, candidate->info->gives, NULL);
      key = hr_field_set_key (step.set);
      /* one that lets anything come would hide what is missing */
      if ((step.set->open && !from->set->open) || g_hash_table_contains (seen, key)) {
        hr_field_set_free (step.set);
        continue;
      }
      g_hash_table_add (seen, g_steal_pointer (&key));
      g_array_append_val (steps, step);
      if (has_all (step.set, needs))
        return (gint)steps->len - 1;
    }
  return -1;
}

GPtrArray *
hr_repair_find (const HrFieldSet *set, GArray *needs)
{
  g_autoptr (GArray) candidates = read_candidates ();

  for (;;) {
    g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (Step));
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    Step start = { hr_field_set_copy (set), -1, -1, 0 };
    gboolean good = TRUE;
    gint at;

    g_array_set_clear_func (steps, step_clear);
    g_array_append_val (steps, start);
    at = search (steps, candidates, needs);
    if (at < 0)
      return NULL;
    for (; at > 0; at = g_array_index (steps, Step, at).parent) {
      Candidate *candidate =
          &g_array_index (candidates, Candidate, g_array_index (steps, Step, at).candidate);

      candidate->useless = !fits_in_between (candidate->info);
      good = good && !candidate->useless;
      g_ptr_array_insert (names, 0, (gpointer)candidate->info->name);
    }
    if (good)
      return g_steal_pointer (&names);
  }
}

GPtrArray *
hr_repair_givers (const HrFieldSpec *spec, guint most)
{
  g_autoptr (GPtrArray) rows = hr_registry_list ();
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < rows->len && names->len < most; i++) {
    const HrElementInfo *info = g_ptr_array_index (rows, i);
    g_autoptr (GArray) gives = hr_field_specs (info->gives);

    for (guint k = 0; k < gives->len; k++) {
      const HrFieldSpec *given = &g_array_index (gives, HrFieldSpec, k);

      if (g_str_equal (given->name, spec->name)
          && (spec->form == NULL || given->form == spec->form)) {
        g_ptr_array_add (names, (gpointer)info->name);
        break;
      }
    }
  }
  return names;
}
