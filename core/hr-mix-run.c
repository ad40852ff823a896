/* hr-mix-run.c */
#include "hr-mix-run.h"
#include "hr-pipeline-private.h"

struct _HrMixRun {
  HrMixRules rules;
  guint n;
  HrCursor places;
  guint64 epoch, place; /* where these begin */

  HrMutex lock;
  HrCond complete;
  HrMixMember *members; /* length 0: has not told */
  HrMix *mix;           /* set once */
};

HrMixRun *
hr_mix_run_new (const HrMixRules *rules, guint n_members)
{
  HrMixRun *run = g_new0 (HrMixRun, 1);

  run->rules = *rules;
  run->n = n_members;
  run->members = g_new0 (HrMixMember, n_members);
  hr_mutex_init (&run->lock);
  hr_cond_init (&run->complete);
  return run;
}

void
hr_mix_run_free (HrMixRun *run)
{
  g_clear_pointer (&run->mix, hr_mix_free);
  g_free (run->members);
  hr_cond_clear (&run->complete);
  hr_mutex_clear (&run->lock);
  g_free (run);
}

const HrMixRules *
hr_mix_run_get_rules (const HrMixRun *run)
{
  return &run->rules;
}

void
hr_mix_run_set_places (HrMixRun *run, const HrPlanOrders *orders)
{
  run->places = (HrCursor){ .shard = orders->shard,
                            .bounds = { run->rules.epochs, orders->limit, orders->steps },
                            .next_unit = orders->next_unit,
                            .user = orders->unit_user };
}

void
hr_mix_run_set_start (HrMixRun *run, const HrPlanStart *start)
{
  run->epoch = start->epoch;
  run->place = (guint64)start->place;
}

static gint
find_missing (const HrMixRun *run)
{
  for (guint i = 0; i < run->n; i++)
    if (run->members[i].length == 0)
      return (gint)i;
  return -1;
}

static gboolean
complete (HrMixRun *run, GError **error)
{
  HrMix *mix = hr_mix_new (&run->rules, run->members, run->n, error);

  if (mix == NULL)
    return FALSE;
  run->places.n_lines = hr_mix_get_length (mix);
  hr_cursor_begin (&run->places, run->epoch, run->place);
  run->mix = mix;
  return TRUE;
}

gboolean
hr_mix_run_tell (HrMixRun *run, guint member, const HrMixMember *what, GError **error)
{
  gboolean ok = TRUE;

  g_return_val_if_fail (member < run->n && what->length > 0, FALSE);
  hr_mutex_lock (&run->lock);
  run->members[member] = *what;
  if (find_missing (run) < 0 && run->mix == NULL)
    ok = complete (run, error);
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->complete);
  return ok;
}

const HrMix *
hr_mix_run_get (HrMixRun *run)
{
  const HrMix *mix;

  hr_mutex_lock (&run->lock);
  mix = run->mix;
  hr_mutex_unlock (&run->lock);
  return mix;
}

const HrMix *
hr_mix_run_wait (HrMixRun *run, const gint *closed, const gint *stopping)
{
  const HrMix *mix;

  hr_stall ();
  hr_worker_begin_wait (hr_worker_self, HR_WAIT_OUTSIDE, NULL);
  hr_mutex_lock (&run->lock);
  while (run->mix == NULL && closed != NULL && !g_atomic_int_get (closed)
         && !g_atomic_int_get (stopping))
    hr_cond_wait (&run->complete, &run->lock);
  mix = run->mix;
  hr_mutex_unlock (&run->lock);
  hr_worker_end_wait (hr_worker_self);
  return mix;
}

void
hr_mix_run_wake (HrMixRun *run)
{
  hr_mutex_lock (&run->lock);
  hr_mutex_unlock (&run->lock);
  hr_cond_broadcast (&run->complete);
}

gint
hr_mix_run_find_missing (HrMixRun *run)
{
  gint missing;

  hr_mutex_lock (&run->lock);
  missing = find_missing (run);
  hr_mutex_unlock (&run->lock);
  return missing;
}

HrPlanNext
hr_mix_run_peek (HrMixRun *run, HrMixPlace *place)
{
  guint64 epoch, at;
  HrMixed mixed;
  HrCursorNext next = hr_cursor_peek (&run->places, &epoch, &at);

  if (next == HR_CURSOR_END || next == HR_CURSOR_LATER)
    return next == HR_CURSOR_END ? HR_PLAN_END : HR_PLAN_LATER;
  *place = (HrMixPlace){ .epoch = (guint)epoch, .place = (gint64)at, .input = HR_NO_INPUT };
  if (next == HR_CURSOR_LINE) {
    hr_mix_locate (run->mix, epoch, at, &mixed);
    place->input = mixed.member;
  }
  return HR_PLAN_READ;
}

void
hr_mix_run_advance (HrMixRun *run)
{
  hr_cursor_advance (&run->places);
}
