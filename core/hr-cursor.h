/* hr-cursor.h: which places of the order a rank takes next, once it is known how many lines an
 * epoch has: one after the other, or slices that are asked for. docs/order.md */
#pragma once
#include "hr-shard.h"

/* where the order of a run ends */
typedef struct {
  guint64 epochs; /* 0: no end */
  guint64 limit;  /* places of the run; 0: all */
  guint64 steps;  /* of the run; 0: all */
} HrBounds;

/* what bounds leave of the @n lines of an epoch; every epoch has as many */
guint64 hr_bounds_cut (const HrBounds *bounds, const HrShard *shard, guint64 epoch, guint64 n);
/* steps of the whole run; -1: it has no end */
gint64 hr_bounds_count_steps (const HrBounds *bounds, const HrShard *shard, guint64 n);

typedef enum {
  HR_CURSOR_LINE, /* a place with a line */
  HR_CURSOR_PAD,  /* a place that fills up a step, a slice or a block */
  HR_CURSOR_LATER,
  HR_CURSOR_END
} HrCursorNext;

/**
 * HrUnitFunc:
 * @slice: (out): the places [slice * group, (slice + 1) * group) of @epoch: what rank slice % world
 *   gets in step slice / world; of packed rows: a block
 *
 * Returns: HR_CURSOR_LINE: there is one, HR_CURSOR_LATER, HR_CURSOR_END
 */
typedef HrCursorNext (*HrUnitFunc) (gpointer user, guint64 *epoch, guint64 *slice);

typedef struct {
  HrShard shard;
  HrBounds bounds;
  guint64 n_lines;      /* of an epoch */
  HrUnitFunc next_unit; /* NULL: the rank's places, one after the other */
  gpointer user;
  /* how many places the epoch has; NULL: n_lines, as the bounds leave them */
  guint64 (*count) (gpointer user, guint64 epoch);
  gpointer count_user;
  /* the place that stands at @place once each step of the epoch, whose first @n places have lines,
   * has been dealt to ranks; NULL: that place itself */
  guint64 (*deal) (gpointer user, guint64 epoch, guint64 n, guint64 place);
  gpointer deal_user;

  /*< private >*/
  guint64 epoch;
  guint64 first;      /* where the epoch begins for this run: steps are counted from there */
  guint64 n;          /* lines of the epoch that are wanted */
  guint64 next;       /* the rank's next place, counted in its own */
  guint64 place, end; /* what is left of the unit */
} HrCursor;

/* all but the private part has been filled in; it begins at @place of @epoch, the first of a step,
 * which with count() may be any place */
void hr_cursor_begin (HrCursor *cursor, guint64 epoch, guint64 place);
/* the next place; it stays the next until hr_cursor_advance() */
HrCursorNext hr_cursor_peek (HrCursor *cursor, guint64 *epoch, guint64 *place);
void hr_cursor_advance (HrCursor *cursor);
/* passes over the places below @place of the epoch that the last one was of */
void hr_cursor_skip (HrCursor *cursor, guint64 place);
