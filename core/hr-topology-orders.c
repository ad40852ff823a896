/* hr-topology-orders.c: which order each source is given: steps, ranks, rows, mixes, costs */
#include "hr-front.h"
#include "hr-packer.h"
#include "hr-topology.h"

static guint64
common_multiple (guint64 a, guint64 b)
{
  guint64 x = a, y = b;

  while (y != 0) {
    guint64 rest = x % y;

    x = y;
    y = rest;
  }
  return a / x * b;
}

/* what others give decides about steps behind it, too */
static gboolean
is_join (const HrElement *element)
{
  return element->def->merge != NULL && element->def->join (element->run->self) != HR_JOIN_ZIP;
}

static HrWalk
add_step (HrElement *element, gpointer data)
{
  HrShard *shard = data;
  const HrElementDef *def = element->def;
  const HrRun *run = element->run;
  guint block = def->block != NULL ? def->block (run->self) : 0;

  if (def->drop_last != NULL && def->drop_last (run->self))
    shard->drop_last = TRUE;
  if (block > 0) { /* rows are made of whole blocks, their number is nobody's business here */
    shard->group = common_multiple (shard->group, block * run->group);
    return HR_WALK_TURN;
  }
  if (is_join (element))
    return HR_WALK_TURN;
  if (element->outputs->len == 0)
    shard->group = common_multiple (shard->group, run->group);
  return HR_WALK_ON;
}

/* whole steps of all sinks below it: samples of ours that one takes */
static void
find_step (HrElement *element, HrShard *shard)
{
  if (add_step (element, shard) == HR_WALK_ON)
    hr_element_walk_downstream (element, add_step, shard);
}

static HrWalk
end_at_join (HrElement *element, gpointer data G_GNUC_UNUSED)
{
  return is_join (element) ? HR_WALK_END : HR_WALK_ON;
}

static HrWalk
end_at_border (HrElement *element, gpointer data)
{
  return hr_packer_is (element->run) ? HR_WALK_END : end_at_join (element, data);
}

/* TRUE: @element or one behind it */
static gboolean
leads_to (HrElement *element, HrWalkFunc end_at)
{
  return end_at (element, NULL) == HR_WALK_END
         || hr_element_walk_downstream (element, end_at, NULL) != NULL;
}

static void
bound_link (HrLink *link, gint64 last)
{
  link->last_number = last;
  link->is_bounded = TRUE;
}

/* `steps`, where no plan knows of it: how many rows a block makes is known when it is made, so it
 * is counted where rows come out; and where joins, and sources without an order, number samples */
static void
bound_steps (HrPipeline *pipeline)
{
  gint64 steps = (gint64)pipeline->settings.steps;

  for (guint i = 0; steps > 0 && i < pipeline->links->len; i++) {
    HrLink *link = pipeline->links->pdata[i];
    HrShard shard = { .group = 1 };

    if (hr_packer_is (link->from->run)) {
      bound_link (link, MAX (steps - pipeline->first_step, 0));
    } else if (hr_link_counts (link) && !leads_to (link->to, end_at_border)) {
      find_step (link->to, &shard);
      bound_link (link, steps * (gint64)(shard.group / link->group));
    }
  }
}

/* the blocks of each rank make another number of rows */
static gboolean
check_rows (HrPipeline *pipeline, HrRun *source, GError **error)
{
  const HrSettings *settings = &pipeline->settings;

  if (hr_packer_find (pipeline) == NULL)
    return TRUE;
  source->orders.steps = 0;
  if (settings->world == 1 || (settings->steps > 0 && source->orders.epochs == 0)
      || source->orders.rows.window > 0)
    return TRUE;
  g_set_error (
      error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
      "packed rows for world=%" G_GUINT64_FORMAT
      ": the blocks of each rank make another number of rows, so an epoch is not over for "
      "all at the same step; say steps=N epochs=0, or scan=lengths, which numbers rows beforehand",
      settings->world);
  return FALSE;
}

/* the mix that a source is a member of */
static HrLink *
find_mix (const HrElement *source)
{
  HrLink *out = source->outputs->len > 0 ? source->outputs->pdata[0] : NULL;

  return out != NULL && out->to->def->mixes != NULL ? out : NULL;
}

static void
begin_mixes (HrPipeline *pipeline)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrMixRules rules = { 0 };

    if (element->def->mixes == NULL)
      continue;
    element->def->mixes (element->self, &rules);
    if (pipeline->settings.seed >= 0)
      rules.seed = (guint64)pipeline->settings.seed;
    if (pipeline->settings.epochs >= 0)
      rules.epochs = (guint64)pipeline->settings.epochs;
    element->run->mix = hr_mix_run_new (&rules, element->inputs->len);
  }
}

/* what a mix says goes for its members, as far as they do not say it themselves */
static void
join_mix (HrElement *source)
{
  const HrLink *out = find_mix (source);
  const HrMixRules *rules;
  HrPlanOrders *orders = &source->run->orders;
  gpointer self;
  const HrProp *location = hr_element_find_prop (source, "location", &self);

  if (out == NULL)
    return;
  source->run->mix = orders->mix = out->to->run->mix;
  rules = hr_mix_run_get_rules (orders->mix);
  orders->member = out->to_pad;
  orders->name =
      location != NULL ? *(char **)((char *)self + location->offset) : source->common.name;
  orders->epochs = (gint64)rules->epochs;
  if (orders->seed >= 0 || !hr_element_is_set (source, "seed"))
    orders->seed = hr_mix_member_seed (rules->seed, orders->member);
  if (hr_element_is_set (out->to, "shuffle") && !hr_element_is_set (source, "shuffle"))
    orders->shuffle = (gint)rules->shuffle;
  if (!source->pipeline->settings.serial) { /* there, nobody else would come to tell */
    orders->closed = &source->run->closed;
    orders->stopping = &source->pipeline->stopping;
  }
}

/* the mix itself goes through the same places as its members */
static gboolean
end_mixes (HrPipeline *pipeline, GError **error)
{
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrPlanOrders orders;

    if (element->def->mixes == NULL)
      continue;
    orders = ((HrLink *)element->inputs->pdata[0])->from->run->orders;
    if (orders.shard.group == 0) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "%s \"%s\" mixes samples, and no element behind it makes any of the lines that "
                   "come: jsonlparse does",
                   element->def->name, element->common.name);
      return FALSE;
    }
    if (orders.next_unit != NULL) {
      element->run->reader.requests = pipeline->requests;
      orders.unit_user = &element->run->reader;
    }
    hr_mix_run_set_places (element->run->mix, &orders);
  }
  return TRUE;
}

/* what is to be known beforehand */
static gboolean
give_scan (HrPipeline *pipeline, HrElement *source, GError **error)
{
  HrRun *run = source->run;

  run->orders.wants_object = pipeline->wants_object;
  run->orders.wants_user = pipeline->wants_user;
  run->orders.lines = pipeline->settings.scan != HR_SCAN_AUTO;
  run->orders.lengths = pipeline->settings.scan == HR_SCAN_LENGTHS;
  if (!run->orders.lengths)
    return TRUE;
  run->front = hr_front_find (source, error);
  return run->front != NULL;
}

/* with lengths all rows are known beforehand: these are what is numbered, and what ranks share */
static gboolean
give_rows (HrPipeline *pipeline, HrRun *source, GError **error)
{
  HrRun *packer = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];

    if (hr_packer_is (element->run) && element->def->row_limits != NULL)
      packer = element->run;
  }
  if (!source->orders.lengths || packer == NULL)
    return TRUE;
  for (HrElement *element = source->element; element != packer->element;
       element = ((HrLink *)element->outputs->pdata[0])->to)
    if (element->outputs->len != 1 || !element->common.ordered
        || (element->inputs->len > 1 && element->def->mixes == NULL)) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "scan=lengths with packed rows: %s \"%s\" stands before %s: rows are made up "
                   "beforehand, so each sample must come, in its order: no tee, join or "
                   "ordered=false there",
                   element->def->name, element->common.name, packer->def->name);
      return FALSE;
    }
  source->orders.rows.window = packer->def->block (packer->self);
  packer->def->row_limits (packer->self, &source->orders.rows.max_tokens,
                           &source->orders.rows.max_image_tokens);
  source->orders.row_steps = pipeline->settings.steps;
  source->orders.first_step = pipeline->first_step;
  source->orders.shard.group = 1;
  if (!packer->numbered_rows) /* by another member of its mix */
    hr_steps_mark_blocks (pipeline->steps);
  packer->numbered_rows = TRUE;
  return TRUE;
}

/* what the pipeline says goes before what the source does; -1: neither */
static gint64
find_epochs (HrElement *source)
{
  const HrSettings *settings = &source->pipeline->settings;
  gpointer self;
  const HrProp *epochs = hr_element_find_prop (source, "epochs", &self);

  if (settings->epochs >= 0 || epochs == NULL || epochs->type != HR_PROP_TYPE_UINT)
    return settings->epochs;
  return (gint64) * (guint64 *)((char *)self + epochs->offset);
}

static gboolean
fail_balance (const char *why, GError **error)
{
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT, "balance=pixels: %s", why);
  return FALSE;
}

/* once it is known what a step is */
static gboolean
give_balance (HrPipeline *pipeline, HrRun *source, GError **error)
{
  guint64 group = source->orders.shard.group;

  source->orders.balance = pipeline->settings.balance != HR_BALANCE_NONE;
  if (!source->orders.balance)
    return TRUE;
  if (!source->orders.lengths)
    return fail_balance ("what samples cost must be known beforehand: say scan=lengths as well",
                         error);
  if (group * source->orders.shard.world > G_MAXINT32)
    return fail_balance ("so large steps cannot be dealt", error);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (hr_packer_is (element->run))
      return fail_balance ("a rank gets one packed row in a step: there is nothing to deal; "
                           "mode=list and padded have samples to deal",
                           error);
    if (element->outputs->len == 0 && element->run->group != group)
      return fail_balance ("the sinks take steps of different sizes: each sample would have to be "
                           "dealt in several ways",
                           error);
  }
  return TRUE;
}

static gboolean
check_epochs (HrPipeline *pipeline, GError **error)
{
  const HrElement *source = NULL;

  for (guint i = 0; i < pipeline->elements->len; i++) {
    const HrElement *element = pipeline->elements->pdata[i];

    if (element->def->plans)
      return TRUE;
    if (element->inputs->len == 0)
      source = element;
  }
  if (pipeline->settings.epochs <= 1) /* none is set, none ends; or once, which it does */
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "epochs=%" G_GINT64_FORMAT ": %s \"%s\" gives what it gives once; files and objects "
               "(filesrc, s3src) can be gone through again",
               pipeline->settings.epochs, source->def->name, source->common.name);
  return FALSE;
}

gboolean
hr_topology_give_orders (HrPipeline *pipeline, GError **error)
{
  const HrSettings *settings = &pipeline->settings;

  if (settings->rank >= settings->world) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                 "rank=%" G_GUINT64_FORMAT " of world=%" G_GUINT64_FORMAT
                 ": ranks are counted from 0, the last is %" G_GUINT64_FORMAT,
                 settings->rank, settings->world, settings->world - 1);
    return FALSE;
  }
  if (!check_epochs (pipeline, error))
    return FALSE;
  begin_mixes (pipeline);
  for (guint i = 0; i < pipeline->elements->len; i++) {
    HrElement *element = pipeline->elements->pdata[i];
    HrRun *run = element->run;

    if (!element->def->plans)
      continue;
    run->orders = (HrPlanOrders){ .shard = { settings->rank, settings->world, 0, FALSE },
                                  .seed = settings->seed,
                                  .epochs = find_epochs (element),
                                  .limit = settings->limit,
                                  .steps = settings->steps,
                                  .shuffle = -1 };
    join_mix (element);
    if (!run->raw)
      continue;
    if (!give_scan (pipeline, element, error))
      return FALSE;
    run->orders.shard.group = 1;
    find_step (element, &run->orders.shard);
    if (!give_rows (pipeline, run, error) || !give_balance (pipeline, run, error))
      return FALSE;
    run->numbers->planned = !leads_to (element, end_at_join);
    if (!run->numbers->planned)
      run->orders.steps = 0;
    if (settings->requests) {
      run->reader.requests = pipeline->requests;
      run->orders.next_unit = hr_requests_next;
      run->orders.unit_user = &run->reader;
    } else if (!check_rows (pipeline, run, error)) {
      return FALSE;
    }
  }
  if (!settings->requests)
    bound_steps (pipeline);
  return end_mixes (pipeline, error);
}
