/* hr-each.c */
#include "hr-each.h"
#include "hr-log.h"

static const char *
member_name (const HrRun *run, const HrBuffer *sample, guint index)
{
  HrList *names =
      run->def->each_names != NULL ? hr_buffer_get_list (sample, run->def->each_names) : NULL;

  return names != NULL && index < hr_list_get_length (names) ? hr_list_get_string (names, index)
                                                             : NULL;
}

/* ---- what fails ---- */

/* Item @index of a batch's list belongs to which of its samples? Ranges as batch has them: over all
 * samples, or over those that have not been skipped. The first that is left, if there are none. */
static HrBuffer *
find_owner (const HrBuffer *batch, const char *field, guint index)
{
  g_autofree char *own = g_strconcat (field, "_cu", NULL);
  HrTensor *ranges = hr_buffer_get_tensor (batch, own);
  guint n = hr_buffer_get_n_members (batch), n_left = 0, range = 0;
  HrBuffer *first = NULL;
  const gint32 *cu;
  gboolean all;

  if (ranges == NULL)
    ranges = hr_buffer_get_tensor (batch, "image_cu");
  for (guint i = n; i-- > 0;)
    if (!(hr_buffer_get_member (batch, i)->flags & HR_BUFFER_HOLE)) {
      first = hr_buffer_get_member (batch, i);
      n_left++;
    }
  if (ranges == NULL)
    return first;
  all = hr_tensor_get_dim (ranges, 0) != (gint64)n_left + 1;
  cu = hr_tensor_get_data (ranges);
  for (guint i = 0; i < n && (gint64)range + 1 < hr_tensor_get_dim (ranges, 0); i++) {
    HrBuffer *member = hr_buffer_get_member (batch, i);

    if (!all && (member->flags & HR_BUFFER_HOLE))
      continue;
    if ((gint64)index >= cu[range] && (gint64)index < cu[range + 1])
      return member;
    range++;
  }
  return first;
}

/* A batch goes with one bad member: each of the other samples is told and counted, too. FALSE: the
 * run ends */
static gboolean
lose_others (HrWorker *worker, HrBuffer *batch, const HrBuffer *owner, const GError *why)
{
  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++) {
    const HrBuffer *member = hr_buffer_get_member (batch, i);
    GError *lost = NULL, *hole = NULL;

    if (member == owner || (member->flags & HR_BUFFER_HOLE))
      continue;
    hr_set_data_error (&lost, (HrDataError)why->code, "goes with the batch that it is in: %s",
                       why->message);
    if (!hr_fault (worker->run, hr_buffer_get_origin (member), NULL, -1, lost, &hole))
      return FALSE;
    hr_buffer_lose_member (batch, i, hole);
  }
  return TRUE;
}

/* @index: of the member that failed, or none: prepare() did */
static void
end_with_hole (HrWorker *worker, HrBuffer *sample, guint index, GError *error)
{
  HrRun *run = worker->run;
  g_autofree char *name = g_strdup (member_name (run, sample, index));
  const HrBuffer *owner = hr_buffer_get_n_members (sample) > 0
                              ? find_owner (sample, run->def->each_field, index)
                              : sample;
  GError *why = NULL;

  if (error == NULL)
    error = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "failed without saying why");
  if (hr_fault (run, owner != NULL ? hr_buffer_get_origin (owner) : NULL, name,
                index < G_MAXINT ? (gint)index : -1, error, &why)
      && lose_others (worker, sample, owner, why)) {
    hr_buffer_make_hole (sample, why);
    hr_out_add (worker->out, sample);
  } else {
    g_clear_error (&why);
    hr_buffer_unref (sample);
  }
}

HrSplit *
hr_each_begin (HrWorker *worker, HrBuffer *in)
{
  HrRun *run = worker->run;
  const HrElementDef *def = run->def;
  HrBuffer *sample = hr_buffer_make_writable (in);
  GError *error = NULL;
  HrSplit *split;
  HrList *list;

  hr_out_begin (worker->out, sample);
  if (def->prepare != NULL
      && !def->prepare (run->self, worker->state, sample, worker->out, &error)) {
    end_with_hole (worker, sample, G_MAXUINT, error);
    return NULL;
  }
  list = hr_buffer_get_list (sample, def->each_field);
  if (list == NULL || hr_list_get_length (list) == 0) { /* a sample of text alone */
    hr_out_add (worker->out, sample);
    return NULL;
  }
  split = g_new0 (HrSplit, 1);
  split->n = split->left = hr_list_get_length (list);
  split->failed_at = split->n;
  split->members = g_new0 (HrTensor *, split->n);
  if (def->cost != NULL) {
    split->costs = g_new (guint64, split->n);
    for (guint i = 0; i < split->n; i++)
      split->costs[i] = def->cost (run->self, sample, i);
  }
  hr_mutex_init (&split->lock);
  for (guint i = 0; i < split->n; i++) {
    HrTensor *tensor = hr_list_get_tensor (list, i);

    split->members[i] = tensor != NULL ? hr_tensor_ref (tensor) : NULL;
  }
  /* so that a member's bytes go as soon as it has been worked on */
  hr_buffer_remove (sample, def->each_field);
  split->sample = sample;
  return split;
}

static guint
get_failed_at (HrSplit *split)
{
  guint failed_at;

  hr_mutex_lock (&split->lock);
  failed_at = split->failed_at;
  hr_mutex_unlock (&split->lock);
  return failed_at;
}

/* Of several that fail the lowest is told, whoever was first: the same in every run. */
static void
set_failed (HrSplit *split, guint index, GError *error)
{
  hr_mutex_lock (&split->lock);
  if (index < split->failed_at) {
    split->failed_at = index;
    g_clear_error (&split->error);
    split->error = error;
    error = NULL;
  }
  hr_mutex_unlock (&split->lock);
  g_clear_error (&error);
}

void
hr_each_member (HrWorker *worker, HrSplit *split, guint index)
{
  HrRun *run = worker->run;
  HrOut *out = worker->out;
  GError *error = NULL;

  if (get_failed_at (split) < index || hr_run_is_closed (run))
    return;
  hr_out_begin (out, split->sample);
  if (split->members[index] == NULL) {
    set_failed (split, index,
                g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                             "member %u of \"%s\" is no tensor", index, run->def->each_field));
    return;
  }
  hr_log (run->element->common.name, HR_LOG_TRACE, out->sample, "member %u of %u", index, split->n);
  out->cost = split->costs != NULL ? split->costs[index] : 0;
  hr_out_take_permit (out);
  if (!run->def->each (run->self, worker->state, split->sample, index, &split->members[index], out,
                       &error)) {
    if (error == NULL)
      error = g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED, "failed without saying why");
    set_failed (split, index, error);
  }
  hr_out_give_permit (out);
}

void
hr_split_free (HrSplit *split)
{
  for (guint i = 0; i < split->n; i++)
    g_clear_pointer (&split->members[i], hr_tensor_unref);
  g_clear_pointer (&split->sample, hr_buffer_unref);
  g_clear_error (&split->error);
  hr_mutex_clear (&split->lock);
  g_free (split->members);
  g_free (split->costs);
  g_free (split->order);
  g_free (split);
}

void
hr_each_end (HrWorker *worker, HrSplit *split)
{
  const HrRun *run = worker->run;
  HrBuffer *sample = g_steal_pointer (&split->sample);

  if (split->error != NULL) {
    end_with_hole (worker, sample, split->failed_at, g_steal_pointer (&split->error));
  } else if (hr_run_is_closed (run)) { /* members were left out */
    hr_buffer_unref (sample);
  } else {
    HrList *list = hr_list_new (split->n);

    for (guint i = 0; i < split->n; i++)
      if (split->members[i] != NULL)
        hr_list_append_tensor (list, g_steal_pointer (&split->members[i]));
    if (hr_list_get_length (list) > 0)
      hr_buffer_set_list (sample, run->def->each_field, list);
    else
      hr_list_unref (list);
    hr_out_add (worker->out, sample);
  }
  hr_split_free (split);
}

void
hr_each_all (HrWorker *worker, HrBuffer *in)
{
  HrSplit *split = hr_each_begin (worker, in);

  if (split == NULL)
    return;
  for (guint i = 0; i < split->n; i++)
    hr_each_member (worker, split, i);
  hr_each_end (worker, split);
}
