/* hr-message.c: what a pipeline tells its owner, pulled */
#include "hr-trace.h"
#include "hr-secrets.h"

/* a run that skips millions must not keep millions of messages; the counters have them all */
#define MAX_MESSAGES 10000

G_DEFINE_BOXED_TYPE (HrMessage, hr_message, hr_message_ref, hr_message_unref)

const char *
hr_message_type_name (HrMessageType type)
{
  static const char *const names[] = { "error",   "skipped",    "warning", "done",
                                       "dropped", "checkpoint", "scan",    "stall" };

  G_STATIC_ASSERT (G_N_ELEMENTS (names) == HR_MESSAGE_STALL + 1);
  return names[type];
}

HrMessage *
hr_message_ref (HrMessage *message)
{
  g_atomic_int_inc (&message->ref_count);
  return message;
}

void
hr_message_unref (HrMessage *message)
{
  if (!g_atomic_int_dec_and_test (&message->ref_count))
    return;
  g_free (message->element);
  g_clear_error (&message->error);
  g_clear_pointer (&message->origin, hr_origin_unref);
  g_free (message->text);
  g_free (message);
}

/* that all is done is said last: of what a program took as it was stopped, it may be told later */
static void
add (HrPipeline *pipeline, HrMessage *message)
{
  GList *last = pipeline->messages.tail;

  hr_trace_message (pipeline, message);
  if (last != NULL && ((const HrMessage *)last->data)->type == HR_MESSAGE_DONE)
    g_queue_insert_before (&pipeline->messages, last, message);
  else
    g_queue_push_tail (&pipeline->messages, message);
}

void
hr_pipeline_post_locked (HrPipeline *pipeline, HrMessageType type, HrElement *element,
                         const GError *error, HrOrigin *origin)
{
  HrMessage *message = g_new0 (HrMessage, 1);

  message->ref_count = 1;
  message->type = type;
  message->element = element != NULL ? g_strdup (element->common.name) : NULL;
  message->error = error != NULL ? g_error_copy (error) : NULL;
  message->origin = origin != NULL ? hr_origin_ref (origin) : NULL;
  if ((type == HR_MESSAGE_SKIPPED || type == HR_MESSAGE_DROPPED)
      && pipeline->messages.length >= MAX_MESSAGES)
    hr_message_unref (message);
  else
    add (pipeline, message);
  hr_cond_broadcast (&pipeline->changed);
}

static gint
compare_type (gconstpointer message, gconstpointer type)
{
  return ((const HrMessage *)message)->type != *(const HrMessageType *)type;
}

void
hr_pipeline_post_text (HrPipeline *pipeline, HrMessageType type, char *text)
{
  HrMessage *message = g_new0 (HrMessage, 1);
  GList *older;

  message->ref_count = 1;
  message->type = type;
  message->text = text;
  hr_mutex_lock (&pipeline->lock);
  older = type != HR_MESSAGE_STALL /* its end does not take the place of its beginning */
              ? g_queue_find_custom (&pipeline->messages, &type, compare_type)
              : NULL;
  if (older != NULL) {
    hr_message_unref (older->data);
    g_queue_delete_link (&pipeline->messages, older);
  }
  add (pipeline, message);
  hr_cond_broadcast (&pipeline->changed);
  hr_mutex_unlock (&pipeline->lock);
}

void
hr_pipeline_post (HrPipeline *pipeline, HrMessageType type, HrElement *element, const GError *error,
                  HrOrigin *origin)
{
  hr_mutex_lock (&pipeline->lock);
  hr_pipeline_post_locked (pipeline, type, element, error, origin);
  hr_mutex_unlock (&pipeline->lock);
}

void
hr_element_warn (HrElement *element, const GError *why)
{
  g_autofree char *shown = hr_secrets_hide (why->message, HR_SECRETS_IN_TEXT);
  g_autoptr (GError) error = g_error_new (why->domain, why->code, "%s \"%s\": %s",
                                          element->def->name, element->common.name, shown);

  hr_pipeline_post (element->pipeline, HR_MESSAGE_WARNING, element, error, NULL);
}

HrMessage *
hr_pipeline_pop_message (HrPipeline *pipeline, gint64 timeout_ns)
{
  gint64 until = hr_now () + MAX (timeout_ns, 0);
  HrMessage *message;

  g_return_val_if_fail (HR_IS_PIPELINE (pipeline), NULL);
  if (hr_pipeline_is_foreign (pipeline))
    return NULL;
  hr_mutex_lock (&pipeline->lock);
  while ((message = g_queue_pop_head (&pipeline->messages)) == NULL
         && pipeline->state == HR_STATE_RUNNING) {
    if (timeout_ns < 0)
      hr_cond_wait (&pipeline->changed, &pipeline->lock);
    else if (!hr_cond_wait_until (&pipeline->changed, &pipeline->lock, until))
      break;
  }
  hr_mutex_unlock (&pipeline->lock);
  return message;
}
