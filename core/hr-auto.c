/* hr-auto.c: which settings there are, what is counted, and how changes are applied
 *
 * Nothing that could change what is delivered: workers, bounds and depths only, all of them live.
 */
#include "hr-auto.h"
#include "hr-account.h"
#include "hr-climb.h"
#include "hr-json.h"
#include "hr-log.h"
#include "hr-topology.h"
#include <math.h>

/* a look takes some microseconds an element */
#define CLIMBING 25000000
#define SETTLED 200000000
/* transfers: few enough for any server, and enough to show soon what more would do; and more than
 * any server takes from one */
#define FIRST_TRANSFERS 32
#define MOST_TRANSFERS 1024
#define MOST_ITEMS 16384
#define MOST_STEPS 1024

guint hr_auto_hurry = 1;

typedef struct {
  HrElement *element;
  const HrProp *prop;
} Place;

struct _HrAuto {
  HrPipeline *pipeline;
  HrMutex lock; /* climb */
  HrClimb *climb;
  GArray *places; /* Place, by knob */
  HrClimbPart *parts;
};

/* ---- which there are ---- */

static gboolean
has_queue (const HrElement *element)
{
  /* a prefetchqueue's own bounds hold for the link behind it */
  return element->inputs->len > 0
         && ((HrLink *)element->inputs->pdata[0])->from->def->lookahead == NULL;
}

static HrKnobKind
kind_of (const HrProp *prop)
{
  if (prop->offset == G_STRUCT_OFFSET (HrCommon, workers))
    return HR_KNOB_WORKERS;
  return prop->offset == G_STRUCT_OFFSET (HrCommon, queue_items) ? HR_KNOB_QUEUE_ITEMS
                                                                 : HR_KNOB_QUEUE_BYTES;
}

static HrKnob
make_knob (HrElement *element, const HrProp *prop, HrKnobKind kind)
{
  return (HrKnob){ .kind = kind,
                   .part = element->index,
                   .computes = !element->def->waits && !element->def->light,
                   .least = (guint64)MAX (prop->min, 1),
                   .most = prop->max >= 0x1p63 ? G_MAXINT64 : (guint64)prop->max };
}

static void
add_knob (HrAuto *automatic, GArray *knobs, HrElement *element, const HrProp *prop, HrKnob knob)
{
  Place place = { element, prop };

  if (automatic->pipeline->settings.automatic)
    hr_element_mark (element, prop);
  g_array_append_val (automatic->places, place);
  g_array_append_val (knobs, knob);
}

static void
add_common (HrAuto *automatic, GArray *knobs, HrElement *element)
{
  HrRun *run = element->run;
  guint64 items, bytes;

  hr_run_get_bounds (run, &items, &bytes);
  for (const HrProp *prop = hr_common_props; prop->field != NULL; prop++) {
    HrKnob knob;

    if ((prop->flags & HR_PROP_AUTO) == 0)
      continue;
    knob = make_knob (element, prop, kind_of (prop));
    if (knob.kind == HR_KNOB_WORKERS ? element->def->parallel == HR_PARALLEL_NO
                                     : !has_queue (element))
      continue;
    knob.value = knob.kind == HR_KNOB_WORKERS       ? hr_run_get_n_workers (run)
                 : knob.kind == HR_KNOB_QUEUE_ITEMS ? items
                                                    : bytes;
    if (knob.kind == HR_KNOB_QUEUE_ITEMS)
      knob.most = MOST_ITEMS;
    add_knob (automatic, knobs, element, prop, knob);
  }
}

static void
add_own (HrAuto *automatic, GArray *knobs, HrElement *element)
{
  const HrElementDef *def = element->def;

  for (const HrProp *prop = def->props; prop != NULL && prop->field != NULL; prop++) {
    HrKnob knob;

    if ((prop->flags & HR_PROP_AUTO) == 0)
      continue;
    if (def->lookahead != NULL) {
      guint64 bytes;
      guint steps, warm_up;

      knob = make_knob (element, prop, HR_KNOB_AHEAD);
      def->lookahead (element->self, &steps, &bytes, &warm_up);
      knob.value = steps;
      knob.least = MAX (warm_up, 1);
      knob.most = MIN (knob.most, MOST_STEPS);
    } else {
      knob = make_knob (element, prop, HR_KNOB_CONCURRENCY);
      knob.value = def->concurrency (element->self);
      knob.most = MIN (knob.most, MOST_TRANSFERS);
    }
    add_knob (automatic, knobs, element, prop, knob);
  }
}

/* where it begins: with little, and queues together with no more than all may hold */
static void
begin_with (HrAuto *automatic, GArray *knobs)
{
  guint64 memory = hr_live_uint (&automatic->pipeline->settings.memory), n_bytes = 0;

  for (guint i = 0; i < knobs->len; i++) {
    HrKnob *knob = &g_array_index (knobs, HrKnob, i);
    const Place *place = &g_array_index (automatic->places, Place, i);
    guint64 set;

    knob->active = hr_element_get_auto (place->element, place->prop, &set) != HR_AUTO_NOT;
    n_bytes += knob->active && knob->kind == HR_KNOB_QUEUE_BYTES;
  }
  for (guint i = 0; i < knobs->len; i++) {
    HrKnob *knob = &g_array_index (knobs, HrKnob, i);
    const Place *place = &g_array_index (automatic->places, Place, i);

    if (!knob->active)
      continue;
    if (knob->kind == HR_KNOB_CONCURRENCY)
      knob->value = FIRST_TRANSFERS;
    else if (knob->kind == HR_KNOB_QUEUE_BYTES)
      knob->value = MIN (knob->value, memory / n_bytes);
    knob->value = CLAMP (knob->value, knob->least, knob->most);
    hr_element_turn (place->element, place->prop, knob->value);
  }
}

HrAuto *
hr_auto_new (HrPipeline *pipeline)
{
  g_autoptr (GArray) knobs = g_array_new (FALSE, FALSE, sizeof (HrKnob));
  guint n = pipeline->elements->len;
  HrAuto *automatic;

  if (pipeline->settings.serial)
    return NULL;
  automatic = g_new0 (HrAuto, 1);
  automatic->pipeline = pipeline;
  hr_mutex_init (&automatic->lock);
  automatic->places = g_array_new (FALSE, FALSE, sizeof (Place));
  automatic->parts = g_new0 (HrClimbPart, n);
  for (guint i = 0; i < n; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    add_common (automatic, knobs, element);
    add_own (automatic, knobs, element);
  }
  begin_with (automatic, knobs);
  automatic->climb = hr_climb_new ((const HrKnob *)(gpointer)knobs->data, knobs->len, n);
  return automatic;
}

void
hr_auto_free (HrAuto *automatic)
{
  hr_climb_free (automatic->climb);
  g_array_unref (automatic->places);
  g_free (automatic->parts);
  hr_mutex_clear (&automatic->lock);
  g_free (automatic);
}

/* ---- what is counted ---- */

static gdouble
seconds (gint64 nanoseconds)
{
  return (gdouble)nanoseconds * hr_auto_hurry / 1e9;
}

static void
count_queues (const HrElement *element, HrClimbPart *part)
{
  for (guint i = 0; i < element->inputs->len; i++) {
    HrLink *link = element->inputs->pdata[i];

    hr_mutex_lock (&link->lock);
    part->n_starved += link->n_starved;
    part->n_full += link->n_full;
    hr_mutex_unlock (&link->lock);
  }
  if (element->outputs->len == 0)
    part->n_awaited = part->items;
  for (guint i = 0; i < element->outputs->len; i++) {
    HrLink *link = element->outputs->pdata[i];

    hr_mutex_lock (&link->lock);
    part->n_awaited += link->n_starved;
    hr_mutex_unlock (&link->lock);
  }
}

static void
count_part (HrRun *run, const HrSum *sum, HrClimbPart *part)
{
  const HrElementDef *def = run->def;

  *part = (HrClimbPart){ .cpu = seconds (sum->cpu),
                         .items = (guint64)sum->items,
                         .bytes = (guint64)sum->bytes,
                         .width = hr_run_get_n_workers (run) };
  if (!def->trains) /* that is the trainer's time */
    part->busy = seconds (sum->worked + sum->permit);
  if (def->concurrency != NULL) {
    part->width = def->concurrency (run->self);
    /* who does not say how long its transfers take has all of them in flight when it has one */
    part->busy =
        sum->n_transfers > 0 ? seconds (sum->first_byte + sum->body) : part->busy * part->width;
  }
  count_queues (run->element, part);
}

/* FALSE: nothing has come to the trainer yet */
static gboolean
count (HrAuto *automatic, HrClimbCounts *counts)
{
  HrPipeline *pipeline = automatic->pipeline;
  const HrRun *taker = hr_account_find_taker (pipeline);
  g_autofree HrAccount *account = hr_account_new (pipeline);

  if (taker == NULL || account->steps == 0)
    return FALSE;
  for (guint i = 0; i < account->n; i++)
    count_part (((HrElement *)pipeline->elements->pdata[i])->run, &account->sums[i],
                &automatic->parts[i]);
  *counts = (HrClimbCounts){ .now = seconds (account->at - pipeline->started_at),
                             .steps = (guint64)account->steps,
                             .train = seconds (account->train),
                             .wait = seconds (account->wait),
                             .cpus = (guint)hr_topology_count_cpus (pipeline),
                             .memory = hr_live_uint (&pipeline->settings.memory),
                             .ahead = taker->ahead,
                             .gated = taker->gated,
                             .parts = automatic->parts };
  if (!hr_account_is_trainer (taker->def)) { /* its time is an element's */
    counts->wait += counts->train;
    counts->train = 0;
  }
  return TRUE;
}

/* ---- what is changed ---- */

/* what somebody has set meanwhile; FALSE: nothing is automatic */
static gboolean
look_at_marks (HrAuto *automatic)
{
  gboolean any = FALSE;

  for (guint i = 0; i < automatic->places->len; i++) {
    const Place *place = &g_array_index (automatic->places, Place, i);
    guint64 value;
    gboolean active = hr_element_get_auto (place->element, place->prop, &value) != HR_AUTO_NOT;
    const HrKnob *knob = hr_climb_get_knob (automatic->climb, i);

    any |= active;
    /* 0: as the core chooses, which is what it was */
    if (active != knob->active || (active && value > 0 && value != knob->value))
      hr_climb_set_knob (automatic->climb, i, active, value > 0 ? value : knob->value);
  }
  return any;
}

/* the lowest first: what is made wider finds the steps for it */
static void
apply (HrAuto *automatic)
{
  for (guint i = 0; i < automatic->places->len; i++) {
    const Place *place = &g_array_index (automatic->places, Place, i);
    guint64 now, value;
    HrAutoMark mark = hr_element_get_auto (place->element, place->prop, &now);

    hr_mutex_lock (&automatic->lock);
    value = hr_climb_get_knob (automatic->climb, i)->value;
    hr_mutex_unlock (&automatic->lock);
    if (mark != HR_AUTO_NOT && now != value
        && hr_element_turn (place->element, place->prop, value)) {
      hr_log (hr_element_get_name (place->element), HR_LOG_DEBUG, -1,
              "%s=%" G_GUINT64_FORMAT " (auto)", hr_prop_name (place->prop), value);
      hr_element_live_changed (place->element);
    }
  }
}

gint64
hr_auto_look (HrAuto *automatic)
{
  HrPipeline *pipeline = automatic->pipeline;
  HrClimbCounts counts;
  gboolean any, counted = FALSE, turns = FALSE, settled;

  hr_mutex_lock (&automatic->lock);
  any = look_at_marks (automatic);
  hr_mutex_unlock (&automatic->lock);
  if (any) {
    hr_mutex_lock (&pipeline->live); /* nothing else changes meanwhile */
    counted = count (automatic, &counts);
    hr_mutex_unlock (&pipeline->live);
  }
  hr_mutex_lock (&automatic->lock);
  if (counted)
    turns = hr_climb_look (automatic->climb, &counts);
  settled = hr_climb_is_settled (automatic->climb);
  hr_mutex_unlock (&automatic->lock);
  if (turns)
    apply (automatic);
  return hr_now () + (any && !settled ? CLIMBING : SETTLED) / hr_auto_hurry;
}

/* ---- stats ---- */

static void
add_setting (HrAuto *automatic, guint index, JsonBuilder *into)
{
  const Place *place = &g_array_index (automatic->places, Place, index);
  const HrKnob *knob = hr_climb_get_knob (automatic->climb, index);
  guint64 value;

  if (hr_element_get_auto (place->element, place->prop, &value) == HR_AUTO_NOT)
    return;
  json_builder_begin_object (into);
  hr_json_add_string (into, "element", hr_element_get_name (place->element));
  hr_json_add_string (into, "property", hr_prop_name (place->prop));
  hr_json_add_int (into, "value", (gint64)value);
  hr_json_add_int (into, "changes", knob->n_changes);
  hr_json_add_int (into, "late_changes", knob->n_late);
  hr_json_add_int (into, "returns", knob->n_returns);
  json_builder_end_object (into);
}

static gboolean
is_any_active (const HrAuto *automatic)
{
  for (guint i = 0; i < automatic->places->len; i++)
    if (hr_climb_get_knob (automatic->climb, i)->active)
      return TRUE;
  return FALSE;
}

void
hr_auto_add_stats (HrAuto *automatic, JsonBuilder *into)
{
  guint changes = 0, late = 0;
  gdouble settled;

  json_builder_set_member_name (into, "auto");
  if (automatic != NULL)
    hr_mutex_lock (&automatic->lock);
  if (automatic == NULL || !is_any_active (automatic)) {
    if (automatic != NULL)
      hr_mutex_unlock (&automatic->lock);
    json_builder_add_null_value (into);
    return;
  }
  for (guint i = 0; i < automatic->places->len; i++) {
    changes += hr_climb_get_knob (automatic->climb, i)->n_changes;
    late += hr_climb_get_knob (automatic->climb, i)->n_late;
  }
  settled = hr_climb_get_settled (automatic->climb);
  json_builder_begin_object (into);
  hr_json_add_bool (into, "settled", hr_climb_is_settled (automatic->climb));
  hr_json_add_double (into, "settled_s", settled >= 0 ? settled / hr_auto_hurry : NAN);
  hr_json_add_int (into, "changes", changes);
  hr_json_add_int (into, "late_changes", late);
  json_builder_set_member_name (into, "settings");
  json_builder_begin_array (into);
  for (guint i = 0; i < automatic->places->len; i++)
    add_setting (automatic, i, into);
  json_builder_end_array (into);
  json_builder_end_object (into);
  hr_mutex_unlock (&automatic->lock);
}
