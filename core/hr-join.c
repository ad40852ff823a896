/* hr-join.c: buffers of equal number from several inputs become one */
#include "hr-pipeline-private.h"

static void
unref_all (HrBuffer **in, guint n)
{
  for (guint i = 0; i < n; i++)
    hr_buffer_unref (in[i]);
}

HrBuffer *
hr_join_merge (HrWorker *worker, HrBuffer **in, guint n)
{
  HrRun *run = worker->run;
  HrBuffer like = { .place = -1 };
  g_autoptr (HrOrigin) origin = NULL;
  HrBuffer *merged;
  GError *error = NULL, *hole = NULL;

  hr_buffer_stand_for (&like, in[0]);
  for (guint i = 1; i < n; i++)
    if (in[i]->number != like.number) {
      error =
          g_error_new (HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                       "input 0 is at number %" G_GINT64_FORMAT ", input %u at %" G_GINT64_FORMAT
                       ": mode=zip needs the same samples on all inputs",
                       like.number, i, in[i]->number);
      unref_all (in, n);
      hr_pipeline_fail (run->pipeline, run->element, error);
      return NULL;
    }
  /* a hole in one is a hole */
  for (guint i = 0; i < n; i++)
    if (in[i]->flags & HR_BUFFER_HOLE) {
      merged = hr_buffer_ref (in[i]);
      unref_all (in, n);
      return merged;
    }
  if (hr_buffer_get_origin (in[0]) != NULL)
    origin = hr_origin_ref (hr_buffer_get_origin (in[0]));
  merged = run->def->merge (run->self, worker->state, in, n, &error);
  if (merged == NULL) {
    if (!hr_fault (run, origin, NULL, -1, error, &hole))
      return NULL;
    merged = hr_buffer_new ();
    hr_buffer_set_origin (merged, g_steal_pointer (&origin));
    hr_buffer_make_hole (merged, hole);
  }
  merged = hr_buffer_make_writable (merged);
  hr_buffer_stand_for (merged, &like);
  return merged;
}
