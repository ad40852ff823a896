/* hr-rows.c */
#include "hr-rows.h"
#include "hr-ref.h"

struct _HrRows {
  gint ref_count;
  GArray *rows; /* HrRow */
};

G_DEFINE_BOXED_TYPE (HrRows, hr_rows, hr_rows_ref, hr_rows_unref)

static void
row_clear (gpointer data)
{
  HrRow *row = data;

  g_ref_string_release (row->uri);
  g_clear_pointer (&row->root, g_ref_string_release);
}

/**
 * hr_rows_new:
 *
 * Makes an empty list.
 *
 * Returns: (transfer full): no rows yet
 */
HrRows *
hr_rows_new (void)
{
  HrRows *rows = g_new (HrRows, 1);

  rows->ref_count = 1;
  rows->rows = g_array_new (FALSE, FALSE, sizeof (HrRow));
  g_array_set_clear_func (rows->rows, row_clear);
  return rows;
}

/**
 * hr_rows_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @rows
 */
HrRows *
hr_rows_ref (HrRows *rows)
{
  hr_ref_inc (&rows->ref_count);
  return rows;
}

/**
 * hr_rows_unref:
 * @rows: (transfer full) (nullable): rows
 *
 * Gives a reference back; with the last one it dies.
 */
void
hr_rows_unref (HrRows *rows)
{
  if (rows == NULL || !hr_ref_dec (&rows->ref_count))
    return;
  g_array_unref (rows->rows);
  g_free (rows);
}

void
hr_rows_add (HrRows *rows, const HrRow *row)
{
  g_ref_string_acquire (row->uri);
  if (row->root != NULL)
    g_ref_string_acquire (row->root);
  g_array_append_val (rows->rows, *row);
}

guint
hr_rows_get_length (const HrRows *rows)
{
  return rows->rows->len;
}

const HrRow *
hr_rows_get (const HrRows *rows, guint index)
{
  g_return_val_if_fail (index < rows->rows->len, NULL);
  return &g_array_index (rows->rows, HrRow, index);
}
