/* hr-fault.c: what an error does: a hole, or the end of the run; and the messages that tell it */
#include "hr-log.h"
#include "hr-secrets.h"
#include "hr-tell.h"
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
  g_autofree char *hidden = NULL;
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
  hidden = hr_secrets_hide (text->str, HR_SECRETS_IN_TEXT);
  error->message = show_controls (hidden);
  g_string_free (text, TRUE);
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

/* what there is to tell of a bad sample, when it is told */
static void
write_letter (HrRun *run, const HrOrigin *origin, const char *member, gint index, GError *error)
{
  HrLetter *letter = hr_letter_of (error);
  g_autofree char *what = g_strdup (error->message);

  add_who_and_where (error, run->element, origin, member);
  if (letter == NULL) {
    letter = hr_letter_new ();
    hr_letter_attach (error, letter);
  }
  letter->element = run->element->index;
  letter->name = g_strdup (run->element->common.name);
  letter->what = g_steal_pointer (&what);
  letter->message = g_strdup (error->message);
  letter->kind =
      error->code >= 0 && error->code < HR_N_DATA_ERRORS ? error->code : HR_DATA_ERROR_OTHER;
  letter->origin = origin != NULL ? hr_origin_ref ((HrOrigin *)origin) : NULL;
  if (index >= 0) {
    letter->image = g_strdup (member);
    letter->index = index;
  }
  hr_log (run->element->common.name, HR_LOG_INFO, -1, "skipped: %s", error->message);
  hr_tell_later (run->pipeline, letter);
}

gboolean
hr_fault (HrRun *run, const HrOrigin *origin, const char *member, gint index, GError *error,
          GError **hole)
{
  if (g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED)) {
    /* a consequence: whoever closed us knows why */
    g_error_free (error);
    return FALSE;
  }
  if (error->domain != HR_DATA_ERROR || policy (run) != HR_ON_ERROR_SKIP) {
    add_who_and_where (error, run->element, origin, member);
    hr_pipeline_fail (run->pipeline, NULL, error);
    return FALSE;
  }
  write_letter (run, origin, member, index, error);
  *hole = error;
  return TRUE;
}

gboolean
hr_fault_holeless (HrRun *run, const HrBuffer *sample, const HrOrigin *origin, GError *error)
{
  HrBuffer nowhere = { .sample = -1, .place = -1 };
  g_autoptr (GError) why = NULL;

  return hr_fault (run, origin, NULL, -1, error, &why)
         && hr_tell_now (run, sample != NULL ? sample : &nowhere, why);
}

void
hr_fault_known (HrRun *run, const HrOrigin *origin, GError *why)
{
  if (why != NULL)
    write_letter (run, origin, NULL, -1, why);
}

void
hr_fault_drop (HrRun *run, const HrOrigin *origin, GError *why)
{
  if (why != NULL)
    add_who_and_where (why, run->element, origin, NULL);
  hr_fault_foreign_drop (run, origin, why);
}

void
hr_fault_foreign_drop (HrRun *run, const HrOrigin *origin, const GError *why)
{
  HrPipeline *pipeline = run->pipeline;

  if (why == NULL) {
    __atomic_add_fetch (&pipeline->n_dropped, 1, __ATOMIC_RELAXED);
    return;
  }
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
