/* hr-parse-graph.c: names, references and pads of a text that has been read, and the graph of them
 */
#include "hr-parse-private.h"
#include "hr-suggest.h"
#include "hr-value.h"
#include <string.h>

#define MAX_OUTPUTS 64 /* route() answers in the bits of a guint64 */
#define MAX_INPUTS 1024

/* ---- names ---- */

/* where the element itself stands */
static const Node *
node_of (Parser *p, const HrElement *element)
{
  for (guint i = 0; i < p->nodes->len; i++)
    if (node_at (p, i)->element == element && node_at (p, i)->name == NULL)
      return node_at (p, i);
  return NULL;
}

static gboolean
name_elements (Parser *p, GError **error)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < p->elements->len; i++) {
    HrElement *element = g_ptr_array_index (p->elements, i);
    HrElement *other;

    if (element->common.name == NULL)
      continue;
    other = g_hash_table_lookup (p->names, element->common.name);
    if (other != NULL) {
      const Node *node = node_of (p, element);
      g_autofree char *place = hr_parse_describe_place (p->text.text, other->offset);

      return FAIL (p, DUPLICATE, node->name_offset, node->name_length,
                   g_strdup_printf ("it is the name of the \"%s\" at %s", other->def->name, place),
                   error, "two elements are named \"%s\"", element->common.name);
    }
    g_hash_table_insert (p->names, element->common.name, element);
  }
  for (guint i = 0; i < p->elements->len; i++) {
    HrElement *element = g_ptr_array_index (p->elements, i);
    gsize n = GPOINTER_TO_SIZE (g_hash_table_lookup (counts, element->def->name));

    if (element->common.name != NULL)
      continue;
    do {
      g_free (element->common.name);
      element->common.name = g_strdup_printf ("%s%" G_GSIZE_FORMAT, element->def->name, n++);
    } while (g_hash_table_contains (p->names, element->common.name));
    g_hash_table_insert (counts, (gpointer)element->def->name, GSIZE_TO_POINTER (n));
    g_hash_table_insert (p->names, element->common.name, element);
  }
  return TRUE;
}

static char *
unknown_name_advice (Parser *p, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GString *list = g_string_new ("names:");
  const char *near;

  for (guint i = 0; i < p->elements->len; i++)
    g_ptr_array_add (names, ((HrElement *)g_ptr_array_index (p->elements, i))->common.name);
  for (guint i = 0; i < names->len; i++) {
    if (list->len > 70) {
      g_string_append (list, " …");
      break;
    }
    g_string_append_printf (list, "%s %s", i > 0 ? "," : "", (char *)g_ptr_array_index (names, i));
  }
  near = hr_suggest (name, (const char *const *)names->pdata, names->len);
  if (near != NULL)
    g_string_append_printf (list, "; did you mean \"%s\"?", near);
  return g_string_free (list, FALSE);
}

static gboolean
resolve_references (Parser *p, GError **error)
{
  for (guint i = 0; i < p->nodes->len; i++) {
    Node *node = node_at (p, i);

    if (node->element != NULL)
      continue;
    node->element = g_hash_table_lookup (p->names, node->name);
    if (node->element == NULL)
      return FAIL (p, UNKNOWN_NAME, node->offset, node->length, unknown_name_advice (p, node->name),
                   error, "no element is named \"%s\"", node->name);
    if (!node->linked)
      return FAIL (p, LINK, node->offset, node->length,
                   g_strdup_printf ("write \"! %s.\" to end a chain in it, \"%s. !\" to begin one",
                                    node->name, node->name),
                   error, "the reference \"%s.\" is not linked to anything", node->name);
  }
  return TRUE;
}

/* ---- pads ---- */

static guint
max_pads (const HrElementDef *def, gboolean output)
{
  gboolean source = def->create != NULL || def->pushable;
  gboolean sink = def->consume != NULL || def->pullable;

  if (output)
    return sink ? 0 : def->route != NULL ? MAX_OUTPUTS : 1;
  return source ? 0 : hr_element_def_joins (def) ? MAX_INPUTS : 1;
}

/* "1", "sink_1", "src_1", "sink", "src" */
static gboolean
read_pad (Parser *p, const Node *node, gboolean output, guint *pad, GError **error)
{
  const char *digits = node->pad;
  const char *side = output ? "src" : "sink";
  const char *other = output ? "sink" : "src";
  const char *what = output ? "an output" : "an input";
  guint most = max_pads (node->element->def, output);
  gint64 number = 0;
  gboolean valid = TRUE;

  *pad = ANY_PAD;
  if (node->pad == NULL)
    return TRUE;
  if (g_str_equal (digits, other)
      || (g_str_has_prefix (digits, other) && digits[strlen (other)] == '_'))
    return FAIL (p, LINK, node->offset, node->length,
                 g_strdup ("left of \"!\" stands an output (src), right of it an input (sink)"),
                 error, "\"%s\" is %s of \"%s\", and %s is needed here", node->pad,
                 output ? "an input" : "an output", node->name, what);
  if (g_str_equal (digits, side))
    digits = "0";
  else if (g_str_has_prefix (digits, side) && digits[strlen (side)] == '_')
    digits += strlen (side) + 1;
  for (const char *c = digits; *c != '\0'; c++)
    valid = valid && g_ascii_isdigit (*c);
  if (!valid || *digits == '\0' || hr_value_parse_int (digits, &number, NULL) != HR_VALUE_OK
      || number >= most) {
    char *advice =
        most == 0 ? g_strdup_printf ("\"%s\" has no %s", node->name, output ? "outputs" : "inputs")
        : most == 1 ? g_strdup_printf ("\"%s\" has one: write %s.", node->name, node->name)
                    : g_strdup_printf ("pads are numbers from 0 to %u, or %s_0, %s_1 …", most - 1,
                                       side, side);

    return FAIL (p, LINK, node->offset, node->length, advice, error, "\"%s\" is no %s of \"%s\"",
                 node->pad, what + 3, node->name);
  }
  *pad = (guint)number;
  return TRUE;
}

/* which link has which pad of an element, on one side */
typedef struct {
  GArray *taken; /* guint: node + 1, 0 if free */
  guint next;    /* the lowest that may be free */
} Pads;

static guint *
pad_slot (Pads *pads, guint pad)
{
  if (pads->taken->len <= pad)
    g_array_set_size (pads->taken, pad + 1);
  return &g_array_index (pads->taken, guint, pad);
}

static gboolean
too_many (Parser *p, const Node *node, gboolean output, guint holder, GError **error)
{
  const HrElementDef *def = node->element->def;
  const char *name = hr_element_get_name (node->element);
  guint most = max_pads (def, output);
  g_autofree char *place = NULL;

  if (most == 0)
    return FAIL (p, LINK, node->offset, node->length,
                 g_strdup (output ? "a sink ends a chain; begin the next one without \"!\""
                                  : "a source begins a chain; leave out the \"!\" before it"),
                 error,
                 output ? "\"%s\" is a sink: it has no output"
                        : "\"%s\" is a source: it has no input",
                 def->name);
  place = hr_parse_describe_place (p->text.text, node_at (p, holder)->offset);
  return FAIL (p, LINK, node->offset, node->length,
               g_strdup_printf (output
                                    ? "the other link is at %s; a tee gives copies of a stream"
                                    : "the other link is at %s; a join makes one stream of several",
                                place),
               error,
               output ? "\"%s\" has one output, and it is linked already"
                      : "\"%s\" has one input, and it is linked already",
               name);
}

/* One side of one link: an explicit pad, or the lowest free one. */
static gboolean
take_pad (Parser *p, Pads *pads, guint node_index, gboolean output, guint wanted, guint *pad,
          GError **error)
{
  const Node *node = node_at (p, node_index);
  guint most = max_pads (node->element->def, output);

  if (wanted != ANY_PAD) {
    guint *slot = pad_slot (pads, wanted);

    if (*slot != 0) {
      g_autofree char *place =
          hr_parse_describe_place (p->text.text, node_at (p, *slot - 1)->offset);

      return FAIL (p, LINK, node->offset, node->length,
                   g_strdup_printf ("the other link is at %s", place), error,
                   "%s %u of \"%s\" is linked already", output ? "output" : "input", wanted,
                   hr_element_get_name (node->element));
    }
    *slot = node_index + 1;
    *pad = wanted;
    return TRUE;
  }
  while (pads->next < pads->taken->len && *pad_slot (pads, pads->next) != 0)
    pads->next++;
  if (pads->next >= most) {
    if (most <= 1)
      return too_many (p, node, output, most == 0 ? 0 : *pad_slot (pads, 0) - 1, error);
    return FAIL (p, LINK, node->offset, node->length, NULL, error, "\"%s\" has more than %u %s",
                 hr_element_get_name (node->element), most, output ? "outputs" : "inputs");
  }
  *pad_slot (pads, pads->next) = node_index + 1;
  *pad = pads->next++;
  return TRUE;
}

static void
pads_free (gpointer data)
{
  Pads *pads = data;

  g_array_unref (pads->taken);
  g_free (pads);
}

static Pads *
pads_of (GHashTable *table, HrElement *element)
{
  Pads *pads = g_hash_table_lookup (table, element);

  if (pads == NULL) {
    pads = g_new0 (Pads, 1);
    pads->taken = g_array_new (FALSE, TRUE, sizeof (guint));
    g_hash_table_insert (table, element, pads);
  }
  return pads;
}

/* Pads given by number are taken first; the other links take the lowest free ones, in the order of
 * the text. */
static gboolean
assign_pads (Parser *p, GHashTable *outputs, GHashTable *inputs, GError **error)
{
  for (guint round = 0; round < 2; round++)
    for (guint i = 0; i < p->links->len; i++) {
      Link *link = &g_array_index (p->links, Link, i);
      const Node *left = node_at (p, link->left), *right = node_at (p, link->right);
      guint from, to;

      if (!read_pad (p, left, TRUE, &from, error) || !read_pad (p, right, FALSE, &to, error))
        return FALSE;
      if ((from != ANY_PAD) == (round == 0)
          && !take_pad (p, pads_of (outputs, left->element), link->left, TRUE, from,
                        &link->from_pad, error))
        return FALSE;
      if ((to != ANY_PAD) == (round == 0)
          && !take_pad (p, pads_of (inputs, right->element), link->right, FALSE, to, &link->to_pad,
                        error))
        return FALSE;
    }
  return TRUE;
}

/* pads are counted without gaps */
static gboolean
check_gaps (Parser *p, GHashTable *table, gboolean output, GError **error)
{
  for (guint i = 0; i < p->links->len; i++) {
    const Link *link = &g_array_index (p->links, Link, i);
    const Node *node = node_at (p, output ? link->left : link->right);
    Pads *pads = pads_of (table, node->element);
    guint pad = output ? link->from_pad : link->to_pad;

    for (guint k = 0; k < pad; k++)
      if (*pad_slot (pads, k) == 0)
        return FAIL (p, LINK, node->offset, node->length,
                     g_strdup ("pads are numbered from 0 on without gaps"), error,
                     "%s %u of \"%s\" is linked, but not %s %u", output ? "output" : "input", pad,
                     hr_element_get_name (node->element), output ? "output" : "input", k);
  }
  return TRUE;
}

/* ---- the graph ---- */

gboolean
hr_parse_build (Parser *p, GError **error)
{
  g_autoptr (GHashTable) outputs = g_hash_table_new_full (NULL, NULL, NULL, pads_free);
  g_autoptr (GHashTable) inputs = g_hash_table_new_full (NULL, NULL, NULL, pads_free);
  g_autoptr (GError) wrong = NULL;
  HrElement *culprit = NULL;

  if (!name_elements (p, error) || !resolve_references (p, error)
      || !assign_pads (p, outputs, inputs, error) || !check_gaps (p, outputs, TRUE, error)
      || !check_gaps (p, inputs, FALSE, error))
    return FALSE;
  for (guint i = 0; i < p->elements->len; i++)
    hr_pipeline_add (p->pipeline, g_object_ref (g_ptr_array_index (p->elements, i)));
  for (guint i = 0; i < p->links->len; i++) {
    const Link *link = &g_array_index (p->links, Link, i);

    hr_pipeline_link_pads (p->pipeline, node_at (p, link->left)->element, link->from_pad,
                           node_at (p, link->right)->element, link->to_pad);
  }
  if (!hr_pipeline_check (p->pipeline, &culprit, &wrong)) {
    const Node *node = culprit != NULL ? node_of (p, culprit) : node_at (p, 0);
    char *rest = strchr (wrong->message, '\n');

    /* its first line is the headline, further ones are the advice */
    if (rest != NULL)
      *rest++ = '\0';
    return hr_text_fail (&p->text, (HrParseError)wrong->code, node->offset, node->length,
                         g_strdup (rest), error, "%s", wrong->message);
  }
  return TRUE;
}
