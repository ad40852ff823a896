/* hr-pack.c: which samples of a block share a row */
#include "hr-pack.h"

typedef struct {
  const HrPackSize *sizes;
  gint64 max_image_tokens;
  HrPackSize *left; /* of each row */
  guint n_rows;
} Packing;

static gint
longest_first (gconstpointer a, gconstpointer b, gpointer sizes)
{
  guint one = *(const guint *)a, other = *(const guint *)b;
  gint64 x = ((const HrPackSize *)sizes)[one].tokens, y = ((const HrPackSize *)sizes)[other].tokens;

  return x != y ? (x > y ? -1 : 1) : (one < other ? -1 : 1);
}

/* the row that has the least room but enough; n_rows: none */
static guint
find_row (const Packing *packing, const HrPackSize *size)
{
  guint best = packing->n_rows;

  for (guint row = 0; row < packing->n_rows; row++) {
    const HrPackSize *left = &packing->left[row];

    if (left->tokens < size->tokens
        || (packing->max_image_tokens > 0 && left->image_tokens < size->image_tokens))
      continue;
    if (best == packing->n_rows || left->tokens < packing->left[best].tokens)
      best = row;
  }
  return best;
}

/* numbers as rows come up, sample by sample */
static void
number_rows (guint *rows, guint n, guint n_rows)
{
  g_autofree guint *number = g_new (guint, n_rows + 1);
  guint next = 0;

  for (guint row = 0; row < n_rows; row++)
    number[row] = n_rows;
  for (guint i = 0; i < n; i++) {
    if (number[rows[i]] == n_rows)
      number[rows[i]] = next++;
    rows[i] = number[rows[i]];
  }
}

guint
hr_pack_block (const HrPackSize *sizes, guint n, gint64 max_tokens, gint64 max_image_tokens,
               guint *rows)
{
  g_autofree guint *order = g_new (guint, n + 1);
  g_autofree HrPackSize *left = g_new (HrPackSize, n + 1);
  Packing packing = { sizes, max_image_tokens, left, 0 };

  for (guint i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint)n, sizeof (guint), longest_first, (gpointer)sizes);
  for (guint i = 0; i < n; i++) {
    const HrPackSize *size = &sizes[order[i]];
    guint row = find_row (&packing, size);

    if (row == packing.n_rows)
      left[packing.n_rows++] = (HrPackSize){ max_tokens, max_image_tokens };
    left[row].tokens -= size->tokens;
    left[row].image_tokens -= size->image_tokens;
    rows[order[i]] = row;
  }
  number_rows (rows, n, packing.n_rows);
  return packing.n_rows;
}
