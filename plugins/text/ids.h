/* ids.h: a row of token ids that grows */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  guint32 *data;
  gsize n;
  gsize room;
} HrIds;

/* room for @n more */
static inline void
hr_ids_reserve (HrIds *ids, gsize n)
{
  if (ids->room - ids->n >= n)
    return;
  ids->room = MAX (ids->room * 2, ids->n + n);
  ids->data = g_renew (guint32, ids->data, ids->room);
}

static inline void
hr_ids_append (HrIds *ids, guint32 id)
{
  hr_ids_reserve (ids, 1);
  ids->data[ids->n++] = id;
}

static inline void
hr_ids_clear (HrIds *ids)
{
  g_free (ids->data);
  *ids = (HrIds){ NULL, 0, 0 };
}

G_END_DECLS
