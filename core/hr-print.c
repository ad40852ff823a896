/* hr-print.c: the canonical text of a pipeline, which parses back to the same graph
 *
 * Elements come in their order; links between neighbours are written with "!", the others with
 * references: an output of a tee goes before its reader, any other output behind its writer. Names
 * and pads are only written where the parser would choose others. */
#include "hr-check-private.h"
#include "hr-link.h"
#include "hr-secrets.h"
#include "hr-split.h"
#include "hr-text.h"
#include <string.h>

typedef enum { LINK_CHAIN, LINK_HEAD, LINK_TAIL, LINK_END } LinkStyle;

typedef struct {
  HrLink *link;
  LinkStyle style;
} Printed;

typedef struct {
  HrPipeline *pipeline;
  guint n;
  gboolean *named;   /* name= is written */
  gboolean *in_pads; /* references name the pads of this element's inputs */
  gboolean *out_pads;
  GArray *links;             /* Printed, in the order of the text */
  GHashTable *inserted;      /* HrLink -> names of elements to put into it; may be NULL */
  const HrElement *replaced; /* may be NULL … */
  const char *instead;       /* … and what is written in its place */
  gboolean shown;            /* to people: no secrets */
  GString *text;
} Printer;

static HrElement *
nth (Printer *p, guint index)
{
  return hr_pipeline_get_nth_element (p->pipeline, index);
}

/* ---- names ---- */

/* The parser numbers the elements without a name; it never skips one of these numbers, as a name
 * that is written is not the number that was due. */
static void
choose_names (Printer *p)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < p->n; i++) {
    const char *factory = hr_element_get_factory (nth (p, i));
    gsize count = GPOINTER_TO_SIZE (g_hash_table_lookup (counts, factory));
    g_autofree char *name = g_strdup_printf ("%s%" G_GSIZE_FORMAT, factory, count);

    p->named[i] = !g_str_equal (name, hr_element_get_name (nth (p, i)));
    if (!p->named[i])
      g_hash_table_insert (counts, (gpointer)factory, GSIZE_TO_POINTER (count + 1));
  }
}

/* ---- links ---- */

static HrLink *
chain_link (Printer *p, guint index)
{
  HrElement *element = nth (p, index);

  for (guint pad = 0; index > 0 && pad < element->inputs->len; pad++) {
    HrLink *link = g_ptr_array_index (element->inputs, pad);

    if (link != NULL && link->from->index == index - 1)
      return link;
  }
  return NULL;
}

static void
add_link (Printer *p, HrLink *link, LinkStyle style)
{
  Printed printed = { link, style };

  g_array_append_val (p->links, printed);
}

/* in the order in which they will be written */
static void
order_links (Printer *p)
{
  HrLink *chain = NULL; /* from the element before */

  for (guint i = 0; i < p->n; i++) {
    HrElement *element = nth (p, i);
    HrLink *next = i + 1 < p->n ? chain_link (p, i + 1) : NULL;

    if (chain != NULL) {
      add_link (p, chain, LINK_CHAIN);
    } else if (element->def->merge == NULL) {
      HrLink *link = element->inputs->len > 0 ? g_ptr_array_index (element->inputs, 0) : NULL;

      if (link != NULL && link->from->def->route != NULL)
        add_link (p, link, LINK_HEAD);
    }
    if (next == NULL && element->def->route == NULL && element->outputs->len > 0
        && !element->def->pullable)
      add_link (p, g_ptr_array_index (element->outputs, 0), LINK_TAIL);
    chain = next;
  }
  /* what is left goes from a tee to a join */
  for (guint i = 0; i < p->n; i++) {
    HrElement *element = nth (p, i);

    for (guint pad = 0; element->def->route != NULL && pad < element->outputs->len; pad++) {
      HrLink *link = g_ptr_array_index (element->outputs, pad);

      if (link != NULL && link->to->def->merge != NULL && chain_link (p, link->to->index) != link)
        add_link (p, link, LINK_END);
    }
  }
}

/* Does the parser, which gives each link the lowest free pad, choose the pads that they have? */
static void
choose_pads (Printer *p)
{
  g_autofree guint *inputs = g_new0 (guint, p->n + 1);
  g_autofree guint *outputs = g_new0 (guint, p->n + 1);

  for (guint i = 0; i < p->links->len; i++) {
    const HrLink *link = g_array_index (p->links, Printed, i).link;

    p->out_pads[link->from->index] |= outputs[link->from->index]++ != link->from_pad;
    p->in_pads[link->to->index] |= inputs[link->to->index]++ != link->to_pad;
  }
}

/* ---- text ---- */

static void
add_word (GString *text, const char *word)
{
  if (text->len > 0)
    g_string_append_c (text, ' ');
  g_string_append (text, word);
}

static void
add_setting (GString *text, gconstpointer self, const HrProp *prop, gboolean shown)
{
  g_autofree char *value = NULL;
  g_autofree char *quoted = NULL;

  if (hr_prop_is_default (self, prop))
    return;
  value = hr_prop_get_string (self, prop);
  if (value == NULL && prop->type != HR_PROP_TYPE_STRV)
    return;
  if (shown && value != NULL) {
    char *hidden = hr_secrets_hide (value, HR_SECRETS_IN_VALUE);

    g_free (value);
    value = hidden;
  }
  quoted = hr_text_quote (value != NULL ? value : "");
  add_word (text, hr_prop_name (prop));
  g_string_append_printf (text, "=%s", quoted);
}

/* a value that the core has found is not written: it finds it again */
static void
add_setting_of (GString *text, HrElement *element, const HrProp *prop, gboolean shown)
{
  gpointer self;
  guint64 value;
  HrAutoMark mark = HR_AUTO_NOT;

  hr_element_find_prop (element, hr_prop_name (prop), &self);
  if ((prop->flags & HR_PROP_AUTO) != 0)
    mark = hr_element_get_auto (element, prop, &value);
  if (mark == HR_AUTO_NOT)
    add_setting (text, self, prop, shown);
  else if (mark == HR_AUTO_SAID) {
    add_word (text, hr_prop_name (prop));
    g_string_append (text, "=auto");
  }
}

static void
add_element (GString *text, HrElement *element, gboolean named, gboolean shown)
{
  add_word (text, hr_element_get_factory (element));
  if (named)
    g_string_append_printf (text, " name=%s", hr_element_get_name (element));
  for (const HrProp *prop = element->def->props; prop != NULL && prop->field != NULL; prop++)
    add_setting_of (text, element, prop, shown);
  for (const HrProp *prop = hr_common_props + 1; prop->field != NULL; prop++)
    add_setting_of (text, element, prop, shown);
}

char *
hr_element_to_string (HrElement *element)
{
  GString *text = g_string_new (NULL);

  add_element (text, element, FALSE, FALSE);
  return g_string_free (text, FALSE);
}

static void
add_reference (Printer *p, const HrElement *element, gboolean output, guint pad)
{
  add_word (p->text, hr_element_get_name ((HrElement *)element));
  g_string_append_c (p->text, '.');
  if (output ? p->out_pads[element->index] : p->in_pads[element->index])
    g_string_append_printf (p->text, "%u", pad);
}

/* "!", or "! imagefetch !" where something is to be put in */
static void
add_link_sign (Printer *p, HrLink *link)
{
  GPtrArray *names = p->inserted != NULL ? g_hash_table_lookup (p->inserted, link) : NULL;

  add_word (p->text, "!");
  for (guint i = 0; names != NULL && i < names->len; i++) {
    add_word (p->text, g_ptr_array_index (names, i));
    add_word (p->text, "!");
  }
}

/* inserted elements have no name, so the others of their kind get theirs written */
static void
name_beside_inserted (Printer *p)
{
  GHashTableIter iter;
  gpointer names;

  if (p->inserted == NULL)
    return;
  g_hash_table_iter_init (&iter, p->inserted);
  while (g_hash_table_iter_next (&iter, NULL, &names))
    for (guint k = 0; k < ((GPtrArray *)names)->len; k++)
      for (guint i = 0; i < p->n; i++)
        if (g_str_equal (g_ptr_array_index ((GPtrArray *)names, k),
                         hr_element_get_factory (nth (p, i))))
          p->named[i] = TRUE;
}

/* what stands for another has its name, as others may refer to that */
static void
add_nth (Printer *p, guint index)
{
  HrElement *element = nth (p, index);

  if (element != p->replaced) {
    add_element (p->text, element, p->named[index], p->shown);
    return;
  }
  add_word (p->text, p->instead);
  g_string_append_printf (p->text, " name=%s", hr_element_get_name (element));
}

static char *
print (HrPipeline *pipeline, GHashTable *inserted, gboolean shown, const HrElement *replaced,
       const char *instead)
{
  Printer p = { .pipeline = pipeline,
                .n = hr_pipeline_get_n_elements (pipeline),
                .inserted = inserted,
                .replaced = replaced,
                .instead = instead,
                .shown = shown };
  guint k = 0;

  p.named = g_new0 (gboolean, p.n + 1);
  p.in_pads = g_new0 (gboolean, p.n + 1);
  p.out_pads = g_new0 (gboolean, p.n + 1);
  p.links = g_array_new (FALSE, FALSE, sizeof (Printed));
  p.text = g_string_new (NULL);
  choose_names (&p);
  name_beside_inserted (&p);
  order_links (&p);
  choose_pads (&p);
  for (const HrProp *prop = hr_pipeline_props; prop->field != NULL; prop++)
    add_setting (p.text, hr_pipeline_get_settings (pipeline), prop, shown);
  for (guint i = 0; i < p.n; i++) {
    const Printed *printed = k < p.links->len ? &g_array_index (p.links, Printed, k) : NULL;

    if (printed != NULL && printed->style <= LINK_HEAD && printed->link->to->index == i) {
      if (printed->style == LINK_HEAD)
        add_reference (&p, printed->link->from, TRUE, printed->link->from_pad);
      add_link_sign (&p, printed->link);
      k++;
    }
    add_nth (&p, i);
    printed = k < p.links->len ? &g_array_index (p.links, Printed, k) : NULL;
    if (printed != NULL && printed->style == LINK_TAIL && printed->link->from->index == i) {
      add_link_sign (&p, printed->link);
      add_reference (&p, printed->link->to, FALSE, printed->link->to_pad);
      k++;
    }
  }
  for (; k < p.links->len; k++) {
    HrLink *link = g_array_index (p.links, Printed, k).link;

    add_reference (&p, link->from, TRUE, link->from_pad);
    add_link_sign (&p, link);
    add_reference (&p, link->to, FALSE, link->to_pad);
  }
  g_free (p.named);
  g_free (p.in_pads);
  g_free (p.out_pads);
  g_array_unref (p.links);
  return g_string_free (p.text, FALSE);
}

char *
hr_print_with (HrPipeline *pipeline, GHashTable *inserted)
{
  return print (pipeline, inserted, TRUE, NULL, NULL);
}

char *
hr_pipeline_to_string (HrPipeline *pipeline)
{
  return print (pipeline, NULL, FALSE, NULL, NULL);
}

char *
hr_pipeline_to_shown_string (HrPipeline *pipeline)
{
  return print (pipeline, NULL, TRUE, NULL, NULL);
}

char *
hr_pipeline_split (HrPipeline *pipeline, const char *instead, char **sink)
{
  HrElement *found = NULL;
  guint n = 0;
  GString *text;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline) && instead != NULL && sink != NULL, NULL);
  *sink = NULL;
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++)
    if (hr_pipeline_get_nth_element (pipeline, i)->def->pullable) {
      found = hr_pipeline_get_nth_element (pipeline, i);
      n++;
    }
  if (n != 1)
    return hr_pipeline_to_string (pipeline);
  text = g_string_new (NULL);
  add_element (text, found, TRUE, FALSE);
  *sink = g_string_free (text, FALSE);
  return print (pipeline, NULL, FALSE, found, instead);
}
