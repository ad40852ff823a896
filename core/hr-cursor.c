/* hr-cursor.c */
#include "hr-cursor.h"

guint64
hr_bounds_cut (const HrBounds *bounds, const HrShard *shard, guint64 epoch, guint64 n)
{
  guint64 size = hr_shard_step_size (shard);
  /* the epochs before this one were whole */
  guint64 places = epoch * n, steps = epoch * hr_shard_count_steps (shard, n);

  if (bounds->limit > 0)
    n = MIN (n, bounds->limit - MIN (bounds->limit, places));
  if (bounds->steps > 0) {
    steps = bounds->steps - MIN (bounds->steps, steps);
    n = MIN (n, MIN (steps, n / size + 1) * size);
  }
  return n;
}

gint64
hr_bounds_count_steps (const HrBounds *bounds, const HrShard *shard, guint64 n)
{
  guint64 each = hr_shard_count_steps (shard, n);
  guint64 steps = G_MAXINT64;

  if (each == 0)
    return 0; /* no epoch has any */
  if (bounds->epochs > 0)
    steps = MIN (steps, bounds->epochs * each);
  if (bounds->limit > 0)
    steps = MIN (steps, bounds->limit / n * each + hr_shard_count_steps (shard, bounds->limit % n));
  if (bounds->steps > 0)
    steps = MIN (steps, bounds->steps);
  return steps < G_MAXINT64 ? (gint64)steps : -1;
}

static void
begin_epoch (HrCursor *cursor, guint64 epoch)
{
  cursor->epoch = epoch;
  cursor->first = 0;
  if (cursor->count != NULL)
    cursor->n = cursor->count (cursor->count_user, epoch);
  else if (cursor->next_unit != NULL)
    cursor->n = cursor->n_lines;
  else
    cursor->n = hr_bounds_cut (&cursor->bounds, &cursor->shard, epoch, cursor->n_lines);
}

void
hr_cursor_begin (HrCursor *cursor, guint64 epoch, guint64 place)
{
  begin_epoch (cursor, epoch);
  cursor->next = 0;
  if (cursor->count != NULL)
    cursor->first = MIN (place, cursor->n);
  else
    cursor->next = hr_shard_count (&cursor->shard, place);
  cursor->place = cursor->end = 0;
}

/* @place is one of a slice that is ours */
static HrCursorNext
deal (const HrCursor *cursor, guint64 *place)
{
  if (cursor->deal != NULL)
    *place = cursor->deal (cursor->deal_user, cursor->epoch, cursor->n, *place);
  return *place < cursor->n ? HR_CURSOR_LINE : HR_CURSOR_PAD;
}

static HrCursorNext
next_in_unit (HrCursor *cursor, guint64 *epoch, guint64 *place)
{
  guint64 slice;

  if (cursor->place == cursor->end) {
    guint64 of = cursor->epoch;
    HrCursorNext next = cursor->next_unit (cursor->user, &of, &slice);

    if (next != HR_CURSOR_LINE)
      return next;
    begin_epoch (cursor, of);
    cursor->place = slice * cursor->shard.group;
    cursor->end = cursor->place + cursor->shard.group;
  }
  *epoch = cursor->epoch;
  *place = cursor->place;
  return deal (cursor, place);
}

HrCursorNext
hr_cursor_peek (HrCursor *cursor, guint64 *epoch, guint64 *place)
{
  if (cursor->next_unit != NULL)
    return next_in_unit (cursor, epoch, place);
  for (;;) {
    guint64 end = cursor->first + hr_shard_round (&cursor->shard, cursor->n - cursor->first);

    if ((cursor->bounds.epochs > 0 && cursor->epoch >= cursor->bounds.epochs) || end == 0)
      return HR_CURSOR_END;
    *epoch = cursor->epoch;
    *place = cursor->first + hr_shard_place (&cursor->shard, cursor->next);
    if (*place < end)
      return deal (cursor, place);
    begin_epoch (cursor, cursor->epoch + 1);
    cursor->next = 0;
  }
}

void
hr_cursor_advance (HrCursor *cursor)
{
  if (cursor->next_unit != NULL)
    cursor->place++;
  else
    cursor->next++;
}

void
hr_cursor_skip (HrCursor *cursor, guint64 place)
{
  if (cursor->next_unit != NULL)
    cursor->place = MAX (cursor->place, MIN (place, cursor->end));
  else
    cursor->next = MAX (cursor->next, hr_shard_count (&cursor->shard, place));
}
