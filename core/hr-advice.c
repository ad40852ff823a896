/* hr-advice.c: what would help, in words */
#include "hr-advice.h"
#include "hr-json.h"
#include <math.h>

static const char *
part_name (const HrModel *model, int part)
{
  return part >= 0 ? model->parts[part].name : NULL;
}

/* part 97 % of a step, with 2 workers */
static void
append_state (GString *text, const HrModel *model, int who)
{
  const HrModelPart *part = &model->parts[who];
  gdouble period = model->train + model->wait;

  g_string_append_printf (text, "%s is at work %.0f %% of the time", part->name,
                          100 * MIN (1, part->busy / MAX (1, part->width) / MAX (period, 1e-9)));
  if (part->kind == HR_MODEL_LATENCY)
    g_string_append_printf (text, " with %u requests in flight", part->width);
  else if (part->grows)
    g_string_append_printf (text, " with %u worker%s", part->width, part->width == 1 ? "" : "s");
}

static void
append_change (GString *text, const HrModel *model, const HrChange *change)
{
  switch (change->kind) {
  case HR_CHANGE_NONE:
    g_string_append (text,
                     "the data is there in time; only a faster trainer would make this faster");
    break;
  case HR_CHANGE_NOT_SERIAL:
    g_string_append (text, "everything runs one after the other; leave out serial=true");
    break;
  case HR_CHANGE_PREFETCH:
    g_string_append_printf (text,
                            "each step is begun when the trainer asks for it; put prefetchqueue "
                            "max-batches=%u behind batch",
                            change->value);
    break;
  case HR_CHANGE_WORKERS:
    append_state (text, model, change->part);
    g_string_append_printf (text, "; give it workers=%u", change->value);
    break;
  case HR_CHANGE_CONCURRENCY:
    append_state (text, model, change->part);
    g_string_append_printf (text, ", waiting for answers; give it concurrency=%u", change->value);
    break;
  case HR_CHANGE_CPUS:
    g_string_append_printf (text, "all %u processors that it may use are at work; give it cpus=%u",
                            model->processors, change->value);
    break;
  case HR_CHANGE_PROCESSORS:
    g_string_append_printf (text,
                            "all %u processors are at work; more of them, another machine beside "
                            "this one, or less work (smaller images) would help",
                            model->processors);
    break;
  case HR_CHANGE_ALONE:
    append_state (text, model, change->part);
    g_string_append (text,
                     ", and can have no more than its one worker; less work for it would help");
    break;
  case HR_CHANGE_BYTES:
    append_state (text, model, change->part);
    g_string_append (text, ", and its line is full; fewer bytes, or a faster line, would help");
    break;
  }
}

static const char *
next_name (const HrModel *model, int next)
{
  if (next == HR_MODEL_TRAINER)
    return "the trainer";
  return next == HR_MODEL_PROCESSORS ? "the processors" : part_name (model, next);
}

static gboolean
changes_something (const HrChange *change)
{
  return change->kind != HR_CHANGE_NONE && change->kind != HR_CHANGE_ALONE
         && change->kind != HR_CHANGE_BYTES && change->kind != HR_CHANGE_PROCESSORS;
}

static void
append_prediction (GString *text, const HrModel *model, const HrChange *change)
{
  if (!changes_something (change))
    return;
  if (isnan (change->wait_ratio))
    g_string_append (text, "; how far that goes these numbers do not tell");
  else if (model->train <= 0)
    g_string_append_printf (text, ": predicted %.1f times this speed, then bound by %s",
                            change->speedup, next_name (model, change->next));
  else
    g_string_append_printf (text, ": predicted wait ratio %.2f → %.2f, then bound by %s",
                            hr_model_measured (model), change->wait_ratio,
                            next_name (model, change->next));
}

JsonNode *
hr_advice_to_json (const HrModel *model, const HrChange *change)
{
  static const char *const properties[] = {
    [HR_CHANGE_NOT_SERIAL] = "serial", [HR_CHANGE_PREFETCH] = "max-batches",
    [HR_CHANGE_WORKERS] = "workers",   [HR_CHANGE_CONCURRENCY] = "concurrency",
    [HR_CHANGE_CPUS] = "cpus",         [HR_CHANGE_BYTES] = NULL
  };
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean changes = changes_something (change), known = changes && !isnan (change->wait_ratio);

  append_change (text, model, change);
  append_prediction (text, model, change);
  json_builder_begin_object (json);
  hr_json_add_string (json, "text", text->str);
  hr_json_add_string (json, "element", part_name (model, change->part));
  hr_json_add_string (json, "property", changes ? properties[change->kind] : NULL);
  hr_json_add_double (json, "value",
                      changes && change->kind != HR_CHANGE_NOT_SERIAL ? change->value : NAN);
  hr_json_add_double (json, "predicted_wait_ratio", known ? change->wait_ratio : NAN);
  hr_json_add_double (json, "predicted_speedup", known ? change->speedup : NAN);
  hr_json_add_string (json, "next", known ? next_name (model, change->next) : NULL);
  json_builder_end_object (json);
  return json_builder_get_root (json);
}
