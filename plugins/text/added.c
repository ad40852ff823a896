/* added.c: finds added tokens in text, with a tree of their bytes */
#include "added.h"
#include <string.h>

#define NO_VALUE G_MAXUINT32

typedef struct {
  guint32 child;   /* first of them; 0: none */
  guint32 sibling; /* 0: the last one */
  guint32 value;   /* NO_VALUE: no token ends here */
  guint8 byte;
} Node;

struct _HrAdded {
  GArray *nodes;      /* Node; the first is the root */
  guint32 roots[256]; /* child of the root, by byte; 0: none */
  gint only;          /* the only byte they begin with; -1: there are several */
};

HrAdded *
hr_added_new (void)
{
  HrAdded *added = g_new0 (HrAdded, 1);
  Node root = { 0, 0, NO_VALUE, 0 };

  added->nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  g_array_append_val (added->nodes, root);
  added->only = -1;
  return added;
}

void
hr_added_free (HrAdded *added)
{
  if (added == NULL)
    return;
  g_array_unref (added->nodes);
  g_free (added);
}

gboolean
hr_added_is_empty (const HrAdded *added)
{
  return added->nodes->len == 1;
}

static inline const Node *
node_at (const HrAdded *added, guint32 index)
{
  return &g_array_index (added->nodes, Node, index);
}

static guint32
find_child (const HrAdded *added, guint32 node, guint8 byte)
{
  guint32 child = node_at (added, node)->child;

  while (child != 0 && node_at (added, child)->byte != byte)
    child = node_at (added, child)->sibling;
  return child;
}

static guint32
add_child (HrAdded *added, guint32 node, guint8 byte)
{
  Node child = { 0, node_at (added, node)->child, NO_VALUE, byte };
  guint32 index = added->nodes->len;

  g_array_append_val (added->nodes, child);
  g_array_index (added->nodes, Node, node).child = index;
  return index;
}

void
hr_added_add (HrAdded *added, const char *content, guint32 value)
{
  guint32 node = 0;
  guint8 first = (guint8)*content;

  if (*content == '\0')
    return;
  added->only = hr_added_is_empty (added) || added->only == first ? first : -1;
  for (const char *c = content; *c != '\0'; c++) {
    guint32 child = find_child (added, node, (guint8)*c);

    node = child != 0 ? child : add_child (added, node, (guint8)*c);
    if (c == content)
      added->roots[first] = node;
  }
  if (node_at (added, node)->value == NO_VALUE)
    g_array_index (added->nodes, Node, node).value = value;
}

/* the longest one that begins with @p's first byte, which @node stands for; 0: none */
static gsize
match (const HrAdded *added, guint32 node, const guint8 *p, const guint8 *end, guint32 *value)
{
  gsize best = 0;

  for (const guint8 *q = p + 1;; q++) {
    if (node_at (added, node)->value != NO_VALUE) {
      best = q - p;
      *value = node_at (added, node)->value;
    }
    if (q >= end || (node = find_child (added, node, *q)) == 0)
      return best;
  }
}

gboolean
hr_added_find (const HrAdded *added, const guint8 *text, gsize size, gsize *at, gsize *length,
               guint32 *value)
{
  const guint8 *end = text + size;

  for (const guint8 *p = text; p < end; p++) {
    if (added->only >= 0) {
      p = memchr (p, added->only, end - p);
      if (p == NULL)
        return FALSE;
    }
    if (added->roots[*p] == 0)
      continue;
    *length = match (added, added->roots[*p], p, end, value);
    if (*length > 0) {
      *at = p - text;
      return TRUE;
    }
  }
  return FALSE;
}
