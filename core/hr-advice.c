/* hr-advice.c: what would help, in words */
#include "hr-advice.h"
#include "hr-json.h"
#include <math.h>

static const char *
part_name (const HrModel *model, int part)
{
  return part >= 0 ? model->parts[part].name : NULL;
}

static gdouble
measured_period (const HrModel *model)
{
  return MAX (model->train + model->wait, 1e-9);
}

static void
append_bytes (GString *text, gdouble bytes)
{
  if (bytes >= 1e6)
    g_string_append_printf (text, "%.1f MB", bytes / 1e6);
  else
    g_string_append_printf (text, "%.0f kB", bytes / 1e3);
}

/* decode is at work 97 % of the time with 2 workers */
static void
append_state (GString *text, const HrModel *model, int who)
{
  const HrModelPart *part = &model->parts[who];
  gdouble share = 100 * MIN (1, part->busy / MAX (1, part->width) / measured_period (model));

  if (part->kind == HR_MODEL_TRANSFER)
    g_string_append_printf (text, "%s is copying to its device %.0f %% of the time", part->name,
                            share);
  else
    g_string_append_printf (text, "%s is at work %.0f %% of the time", part->name, share);
  if (part->kind == HR_MODEL_LATENCY && part->grows)
    g_string_append_printf (text, " with %u request%s in flight", part->width,
                            part->width == 1 ? "" : "s");
  else if (part->grows)
    g_string_append_printf (text, " with %u worker%s", part->width, part->width == 1 ? "" : "s");
  if (part->kind == HR_MODEL_COPY) {
    g_string_append (text, ", copying ");
    append_bytes (text, part->copied);
    g_string_append (text, " a step");
  }
}

/* in serial mode the processor's time is only shared out */
static gboolean
waits_outside (const HrModel *model, const HrModelPart *part)
{
  return !model->serial && part->cpu < 0.5 * part->busy;
}

/* no setting helps: what does */
static void
append_less (GString *text, const HrModel *model, int who)
{
  append_state (text, model, who);
  switch (model->parts[who].kind) {
  case HR_MODEL_WORK:
    if (waits_outside (model, &model->parts[who]))
      g_string_append_printf (text,
                              ", but computes in %.0f %% of it: it waits for something outside, a "
                              "disk or another process, that would have to be faster",
                              100 * model->parts[who].cpu / model->parts[who].busy);
    else
      g_string_append (text,
                       ", and can have no more than its one worker; less work for it would help");
    break;
  case HR_MODEL_COPY:
    g_string_append (text,
                     "; fewer bytes (uint8 instead of float32, smaller images), or an element "
                     "that passes references on, would help");
    break;
  case HR_MODEL_LATENCY:
    g_string_append (text, ", waiting for answers; fewer and larger requests, more of them at "
                           "once, or data that lies nearer, would help");
    break;
  case HR_MODEL_BANDWIDTH:
    g_string_append (text,
                     ", and its line is full; fewer bytes, a faster line, or more connections if "
                     "each has a limit, would help");
    break;
  case HR_MODEL_TRANSFER:
    g_string_append (text, "; fewer bytes (uint8 instead of float32, smaller images) would help");
    break;
  case HR_MODEL_SECOND:
    g_string_append (text, ", a trainer of its own that all others wait for; only a faster one "
                           "would help");
    break;
  }
}

static void
append_processors (GString *text, guint n, const char *which)
{
  if (n == 1)
    g_string_append_printf (text, "the one processor %sis at work", which);
  else
    g_string_append_printf (text, "all %u processors %sare at work", n, which);
}

/* … most of them for decode, if one has so much */
static void
append_hungriest (GString *text, const HrModel *model)
{
  int who = hr_model_hungriest (model);
  gdouble sum = 0;

  for (guint i = 0; i < model->n_parts; i++)
    sum += model->parts[i].cpu;
  if (who >= 0 && sum > 0)
    g_string_append_printf (text, ", %.0f %% of that by %s", 100 * model->parts[who].cpu / sum,
                            model->parts[who].name);
}

/* on demand or in serial mode all of them are waited for; this one longest */
static void
append_slowest (GString *text, const HrModel *model)
{
  int who = hr_model_bottleneck (model);

  if (who >= 0)
    g_string_append_printf (text, ", and %s takes longest", model->parts[who].name);
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
    g_string_append (text, "everything runs one after the other");
    append_slowest (text, model);
    g_string_append (text, "; leave out serial=true");
    if (change->value > 0)
      g_string_append_printf (text, ", and put prefetchqueue max-batches=%u behind batch",
                              change->value);
    break;
  case HR_CHANGE_PREFETCH:
    g_string_append (text, "each step is begun when the trainer asks for it");
    append_slowest (text, model);
    g_string_append_printf (text, "; put prefetchqueue max-batches=%u behind batch", change->value);
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
    append_processors (text, model->processors, "that it may use ");
    append_hungriest (text, model);
    g_string_append_printf (text, "; give it cpus=%u", change->value);
    break;
  case HR_CHANGE_PROCESSORS:
    append_processors (text, model->processors, "");
    append_hungriest (text, model);
    g_string_append (text, "; more of them, another machine beside this one, or less work "
                           "(smaller images) would help");
    break;
  case HR_CHANGE_CROWDED:
    append_processors (text, model->processors, "");
    g_string_append_printf (text,
                            ", %.0f %% of that for other programs or the trainer's own threads; "
                            "fewer of those, more processors, or less work (smaller images) would "
                            "help",
                            100 * (1 - model->free / MAX (1, model->processors)));
    break;
  case HR_CHANGE_HELD:
    append_state (text, model, change->part);
    g_string_append (text,
                     ", and all others less: more at once would not help; memory, a window, "
                     "queues, too few steps ahead or uneven samples hold it, and a trace shows "
                     "what each thread waits for");
    break;
  case HR_CHANGE_AUTOMATIC:
    append_state (text, model, change->part);
    g_string_append (text, ", a number that is found while it runs; these numbers hold the time "
                           "it took to find it");
    break;
  case HR_CHANGE_ALONE:
  case HR_CHANGE_BYTES:
    append_less (text, model, change->part);
    break;
  }
}

static const char *
next_name (const HrModel *model, int next)
{
  if (next == HR_MODEL_NOTHING)
    return NULL;
  if (next == HR_MODEL_TRAINER)
    return "the trainer";
  return next == HR_MODEL_PROCESSORS ? "the processors" : part_name (model, next);
}

static gboolean
changes_something (const HrChange *change)
{
  switch (change->kind) {
  case HR_CHANGE_NONE:
  case HR_CHANGE_PROCESSORS:
  case HR_CHANGE_CROWDED:
  case HR_CHANGE_AUTOMATIC:
  case HR_CHANGE_HELD:
  case HR_CHANGE_ALONE:
  case HR_CHANGE_BYTES:
    return FALSE;
  case HR_CHANGE_NOT_SERIAL:
  case HR_CHANGE_PREFETCH:
  case HR_CHANGE_WORKERS:
  case HR_CHANGE_CONCURRENCY:
  case HR_CHANGE_CPUS:
    return TRUE;
  }
  return FALSE;
}

static void
append_prediction (GString *text, const HrModel *model, const HrChange *change)
{
  const char *next = next_name (model, change->next);
  const char *still = change->next >= 0 && change->next == change->part ? "still " : "";

  if (!changes_something (change)) {
    if (next != NULL)
      g_string_append_printf (text, "; next would be %s", next);
  } else if (isnan (change->wait_ratio)) {
    g_string_append (text, "; how far that goes these numbers do not tell");
  } else if (model->train <= 0) {
    g_string_append_printf (text, ": predicted %.1f times this speed, then %sbound by %s",
                            change->speedup, still, next);
  } else {
    g_string_append_printf (text, ": predicted wait ratio %.2f → %.2f, then %sbound by %s",
                            hr_model_measured (model), change->wait_ratio, still, next);
  }
}

JsonNode *
hr_advice_bottleneck_to_json (const HrModel *model)
{
  static const char *const kinds[] = {
    [HR_MODEL_WORK] = "cpu",
    [HR_MODEL_COPY] = "copy",
    [HR_MODEL_LATENCY] = "network-latency",
    [HR_MODEL_BANDWIDTH] = "network-bandwidth",
    [HR_MODEL_TRANSFER] = "transfer",
    [HR_MODEL_SECOND] = "trainer",
  };
  g_autoptr (JsonBuilder) json = json_builder_new ();
  int who = hr_model_bottleneck (model);
  const char *kind = "cpu"; /* the processors: of who computes most */

  if (who == HR_MODEL_NOTHING)
    return NULL;
  if (who >= 0)
    kind = kinds[model->parts[who].kind];
  else if (who == HR_MODEL_TRAINER)
    kind = "trainer";
  else
    who = hr_model_hungriest (model);
  json_builder_begin_object (json);
  hr_json_add_string (json, "element",
                      who == HR_MODEL_TRAINER ? model->trainer : part_name (model, who));
  hr_json_add_string (json, "kind", kind);
  json_builder_end_object (json);
  return json_builder_get_root (json);
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
  hr_json_add_double (json, "predicted_wait_ratio",
                      known && model->train > 0 ? change->wait_ratio : NAN);
  hr_json_add_double (json, "predicted_speedup", known ? change->speedup : NAN);
  hr_json_add_string (json, "next", next_name (model, change->next));
  json_builder_end_object (json);
  return json_builder_get_root (json);
}
