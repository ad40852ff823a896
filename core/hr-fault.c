/* hr-fault.c: what an error does: a hole, or the end of the run; and the messages that tell it */
#include "hr-log.h"
#include "hr-pipeline-private.h"
#include <string.h>

/* Names in data come from strangers: a message stays one line, and no terminal obeys it. */
static char *
show_controls (const char *message)
{
  GString *text = g_string_new (NULL);

  for (const guint8 *p = (const guint8 *)message; *p; p++) {
    if (*p == '\n')
      g_string_append (text, "\\n");
    else if (*p == '\t')
      g_string_append (text, "\\t");
    else if (*p < 0x20 || *p == 0x7f)
      g_string_append_printf (text, "\\x%02x", *p);
    else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
      g_string_append_printf (text, "\\u%04x", *++p);
    else
      g_string_append_c (text, (char)*p);
  }
  return g_string_free (text, FALSE);
}

/* `imagedecode "imagedecode0": s3://c/train/a.jsonl:1234 images/7.jpg: JPEG ends early` */
static void
add_who_and_where (GError *error, const HrElement *element, const HrOrigin *origin,
                   const char *member)
{
  g_autofree char *where = origin != NULL ? hr_origin_to_string (origin) : NULL;
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s \"%s\": ", element->def->name, element->common.name);
  if (where != NULL)
    g_string_append (text, where);
  if (member != NULL)
    g_string_append_printf (text, "%s%s", where != NULL ? " " : "", member);
  if (where != NULL || member != NULL)
    g_string_append (text, ": ");
  g_string_append (text, error->message);
  g_free (error->message);
  error->message = show_controls (text->str);
  g_string_free (text, TRUE);
}

/* "10" errors, or "1%" of the samples seen once there were 100; a message when it is exceeded */
static char *
exceeded (const char *limit, gint64 n_errors, gint64 n_seen)
{
  char *end = NULL;
  double number;

  if (limit == NULL || *limit == '\0')
    return NULL;
  number = g_ascii_strtod (limit, &end);
  if (*end == '%' ? n_seen < 100 || n_errors * 100.0 <= number * n_seen : n_errors <= number)
    return NULL;
  if (*end == '%')
    return g_strdup_printf ("max-errors=%s is exceeded: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                            " samples were bad, the last: ",
                            limit, n_errors, n_seen);
  return g_strdup_printf ("max-errors=%s is exceeded, the last: ", limit);
}

/* samples that its workers have begun; what goes into jsonlparse is no samples yet */
static gint64
count_samples (HrRun *run)
{
  gint64 n = 0;

  if (run->def->stamps)
    return __atomic_load_n (&run->n_stamped, __ATOMIC_RELAXED) + 1;
  hr_mutex_lock (&run->lock);
  for (guint i = 0; i < run->n_workers; i++)
    n += (gint64)hr_counter_get (&run->workers[i]->items);
  hr_mutex_unlock (&run->lock);
  return n;
}

static HrOnError
policy (const HrRun *run)
{
  gint own = __atomic_load_n (&run->element->common.on_error, __ATOMIC_RELAXED);

  return own != HR_ON_ERROR_DEFAULT ? own : run->pipeline->settings.on_error;
}

gboolean
hr_fault_skips (const HrRun *run)
{
  return policy (run) == HR_ON_ERROR_SKIP;
}

gboolean
hr_fault (HrRun *run, const HrOrigin *origin, const char *member, GError *error, GError **hole)
{
  HrPipeline *pipeline = run->pipeline;
  const char *limit = run->element->common.max_errors;
  g_autofree char *too_many = NULL;
  gint64 n_errors;

  if (g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED)) {
    /* a consequence: whoever closed us knows why */
    g_error_free (error);
    return FALSE;
  }
  add_who_and_where (error, run->element, origin, member);
  if (error->domain != HR_DATA_ERROR || policy (run) != HR_ON_ERROR_SKIP) {
    hr_pipeline_fail (pipeline, NULL, error);
    return FALSE;
  }
  n_errors = __atomic_add_fetch (&run->n_errors, 1, __ATOMIC_RELAXED);
  if (limit == NULL)
    limit = pipeline->settings.max_errors;
  too_many = exceeded (limit, n_errors, count_samples (run));
  if (too_many != NULL) {
    g_prefix_error (&error, "%s", too_many);
    hr_pipeline_fail (pipeline, NULL, error);
    return FALSE;
  }
  if (error->code >= 0 && error->code < HR_N_DATA_ERRORS)
    __atomic_add_fetch (&pipeline->skipped[error->code], 1, __ATOMIC_RELAXED);
  hr_log (run->element->common.name, HR_LOG_INFO, -1, "skipped: %s", error->message);
  hr_pipeline_post (pipeline, HR_MESSAGE_SKIPPED, run->element, error, (HrOrigin *)origin);
  *hole = error;
  return TRUE;
}

void
hr_fault_known (HrRun *run, const HrOrigin *origin, GError *why)
{
  HrPipeline *pipeline = run->pipeline;

  if (why == NULL)
    return;
  add_who_and_where (why, run->element, origin, NULL);
  if (why->code >= 0 && why->code < HR_N_DATA_ERRORS)
    __atomic_add_fetch (&pipeline->skipped[why->code], 1, __ATOMIC_RELAXED);
  hr_log (run->element->common.name, HR_LOG_INFO, -1, "skipped: %s", why->message);
  hr_pipeline_post (pipeline, HR_MESSAGE_SKIPPED, run->element, why, (HrOrigin *)origin);
}

void
hr_fault_drop (HrRun *run, const HrOrigin *origin, GError *why)
{
  HrPipeline *pipeline = run->pipeline;

  if (why == NULL) {
    __atomic_add_fetch (&pipeline->n_dropped, 1, __ATOMIC_RELAXED);
    return;
  }
  add_who_and_where (why, run->element, origin, NULL);
  if (why->domain == HR_DATA_ERROR && why->code >= 0 && why->code < HR_N_DATA_ERRORS)
    __atomic_add_fetch (&pipeline->dropped[why->code], 1, __ATOMIC_RELAXED);
  else
    __atomic_add_fetch (&pipeline->n_dropped, 1, __ATOMIC_RELAXED);
  hr_log (run->element->common.name, HR_LOG_INFO, -1, "dropped: %s", why->message);
  hr_pipeline_post (pipeline, HR_MESSAGE_DROPPED, run->element, why, (HrOrigin *)origin);
}

void
hr_pipeline_fail (HrPipeline *pipeline, HrElement *element, GError *error)
{
  gboolean first;

  if (element != NULL)
    add_who_and_where (error, element, NULL, NULL);
  hr_mutex_lock (&pipeline->lock);
  first = pipeline->error == NULL && !g_atomic_int_get (&pipeline->stopping);
  if (first) {
    pipeline->error = error;
    g_atomic_int_set (&pipeline->failed, 1);
  }
  hr_mutex_unlock (&pipeline->lock);
  if (first) {
    hr_log ("core", HR_LOG_ERROR, -1, "%s", error->message);
    hr_pipeline_post (pipeline, HR_MESSAGE_ERROR, NULL, error, NULL);
  } else {
    g_error_free (error); /* a consequence of the first */
  }
  hr_pipeline_stop (pipeline);
}
