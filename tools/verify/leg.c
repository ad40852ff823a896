/* leg.c */
#include "leg.h"
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
step_clear (gpointer data)
{
  VerifyStep *step = data;

  g_free (step->content);
  g_free (step->origins);
}

GArray *
verify_steps_new (void)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (VerifyStep));

  g_array_set_clear_func (steps, step_clear);
  return steps;
}

/* ---- where samples come from ---- */

static void
add_origin (GString *text, HrBuffer *sample)
{
  const HrOrigin *origin = hr_buffer_get_origin (sample);
  const char *hole = sample->flags & HR_BUFFER_HOLE ? ", left out" : "";

  if (origin == NULL || origin->uri == NULL)
    g_string_append (text, "none");
  else
    g_string_append_printf (text, "%s byte %" G_GINT64_FORMAT, origin->uri, origin->byte);
  g_string_append_printf (text, "%s\n", hole);
}

static VerifyStep
describe (HrBuffer *buffer)
{
  g_autoptr (GString) origins = g_string_new (NULL);

  if (!(buffer->flags & HR_BUFFER_BATCH))
    add_origin (origins, buffer);
  for (guint i = 0; i < hr_buffer_get_n_members (buffer); i++)
    add_origin (origins, hr_buffer_get_member (buffer, i));
  return (VerifyStep){ buffer->number, buffer->epoch, hr_buffer_get_digest (buffer),
                       g_strdup (origins->str) };
}

/* ---- a pipeline that runs so ---- */

static guint64
get_number (GObject *object, const char *name)
{
  guint64 value;

  g_object_get (object, name, &value, NULL);
  return value;
}

static HrElement *
find_batch (HrPipeline *pipeline)
{
  for (guint i = 0; i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);

    if (g_str_equal (hr_element_get_factory (element), "batch"))
      return element;
  }
  return NULL;
}

static gboolean
is_set_to (GObject *object, const char *name, const char *nick)
{
  g_auto (GValue) value = G_VALUE_INIT;
  g_autoptr (GTypeClass) klass = NULL;

  g_value_init (&value,
                g_object_class_find_property (G_OBJECT_GET_CLASS (object), name)->value_type);
  g_object_get_property (object, name, &value);
  klass = g_type_class_ref (G_VALUE_TYPE (&value));
  return g_str_equal (g_enum_get_value ((GEnumClass *)klass, g_value_get_enum (&value))->value_nick,
                      nick);
}

gboolean
verify_has_numbered_rows (HrPipeline *pipeline)
{
  HrElement *batch = find_batch (pipeline);

  return batch != NULL && is_set_to (G_OBJECT (batch), "mode", "packed")
         && is_set_to (G_OBJECT (pipeline), "scan", "lengths")
         && get_number (G_OBJECT (pipeline), "steps") == 0;
}

guint64
verify_step_size (HrPipeline *pipeline, gboolean *packed)
{
  guint64 world = get_number (G_OBJECT (pipeline), "world");
  HrElement *batch = find_batch (pipeline);

  *packed = batch != NULL && is_set_to (G_OBJECT (batch), "mode", "packed");
  return batch == NULL || *packed ? world : world * get_number (G_OBJECT (batch), "size");
}

gboolean
verify_is_endless (HrPipeline *pipeline)
{
  gint64 epochs;

  g_object_get (pipeline, "epochs", &epochs, NULL);
  if (epochs > 0 || get_number (G_OBJECT (pipeline), "steps") > 0
      || get_number (G_OBJECT (pipeline), "limit") > 0)
    return FALSE;
  for (guint i = 0; epochs < 0 && i < hr_pipeline_get_n_elements (pipeline); i++) {
    GObject *element = G_OBJECT (hr_pipeline_get_nth_element (pipeline, i));

    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), "epochs") != NULL
        && get_number (element, "epochs") == 0)
      return TRUE;
  }
  return epochs == 0;
}

static gboolean
set_number (HrElement *element, const char *name, guint64 value, GError **error)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, value);

  return hr_element_set_from_string (element, name, text, error);
}

static gboolean
set_way (HrPipeline *pipeline, const VerifyWay *way, GError **error)
{
  gboolean packed;
  guint64 step_size = verify_step_size (pipeline, &packed);
  HrElement *batch = find_batch (pipeline);

  g_object_set (pipeline, "world", way->world, "rank", way->rank, "serial", way->workers == 0,
                NULL);
  if (batch != NULL && !packed && !set_number (batch, "size", step_size / way->world, error))
    return FALSE;
  for (guint i = 0; way->workers > 0 && i < hr_pipeline_get_n_elements (pipeline); i++) {
    HrElement *element = hr_pipeline_get_nth_element (pipeline, i);

    if (hr_registry_find (hr_element_get_factory (element), NULL)->parallel == HR_PARALLEL_YES
        && !set_number (element, "workers", way->workers, error))
      return FALSE;
  }
  return TRUE;
}

static HrPipeline *
begin (const char *text, const VerifyWay *way, const char *checkpoint, GError **error)
{
  g_autoptr (HrPipeline) pipeline = hr_parse_launch (text, error);

  if (pipeline == NULL || !set_way (pipeline, way, error)
      || (checkpoint != NULL && !hr_pipeline_resume (pipeline, checkpoint, FALSE, error))
      || !hr_pipeline_start (pipeline, error))
    return NULL;
  return g_steal_pointer (&pipeline);
}

gboolean
verify_leg (const char *text, const VerifyWay *way, const char *checkpoint, gint64 n_steps,
            GArray *steps, char **behind, GError **error)
{
  g_autoptr (HrPipeline) pipeline = begin (text, way, checkpoint, error);
  g_autoptr (GError) failure = NULL;
  g_autoptr (HrBuffer) last = NULL;

  if (pipeline == NULL)
    return FALSE;
  for (gint64 n = 0; n_steps < 0 || n < n_steps; n++) {
    HrBuffer *buffer = hr_pipeline_pull (pipeline, &failure);
    VerifyStep step;

    if (buffer == NULL)
      break;
    step = describe (buffer);
    g_array_append_val (steps, step);
    g_clear_pointer (&last, hr_buffer_unref);
    last = buffer;
  }
  if (failure == NULL && behind != NULL && last != NULL)
    *behind = hr_pipeline_get_checkpoint (pipeline, last, &failure);
  hr_pipeline_stop (pipeline);
  hr_pipeline_wait (pipeline, failure == NULL ? &failure : NULL);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return *error == NULL;
}

/* ---- one that is killed ---- */

gboolean
verify_leg_child (const char *text, const VerifyWay *way, const char *file, GError **error)
{
  g_autoptr (HrPipeline) pipeline = begin (text, way, NULL, error);
  HrBuffer *buffer;

  if (pipeline == NULL)
    return FALSE;
  while (*error == NULL && (buffer = hr_pipeline_pull (pipeline, error)) != NULL) {
    VerifyStep step = describe (buffer);
    g_autofree char *escaped = g_strescape (step.origins, NULL);
    g_autofree char *behind = NULL;

    printf ("%" G_GINT64_FORMAT "\t%u\t%s\t%s\n", step.number, step.epoch, step.content, escaped);
    fflush (stdout);
    behind = hr_pipeline_get_checkpoint (pipeline, buffer, error);
    if (behind != NULL)
      g_file_set_contents_full (file, behind, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
    step_clear (&step);
    hr_buffer_unref (buffer);
  }
  /* that was all, as who reads sees, and kills it; or who started it has gone itself */
  if (*error == NULL && freopen ("/dev/null", "w", stdout) != NULL)
    while (getchar () != EOF)
      ;
  hr_pipeline_stop (pipeline);
  hr_pipeline_wait (pipeline, *error == NULL ? error : NULL);
  return *error == NULL;
}

static gboolean
read_step (GDataInputStream *lines, GArray *steps)
{
  g_autofree char *line = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
  g_auto (GStrv) parts = line != NULL ? g_strsplit (line, "\t", 4) : NULL;
  VerifyStep step;

  if (parts == NULL || g_strv_length (parts) != 4)
    return FALSE;
  step = (VerifyStep){ g_ascii_strtoll (parts[0], NULL, 10),
                       (guint)g_ascii_strtoull (parts[1], NULL, 10), g_strdup (parts[2]),
                       g_strcompress (parts[3]) };
  g_array_append_val (steps, step);
  return TRUE;
}

/* reads what the process delivers, and kills it */
static gboolean
watch_child (GSubprocess *child, gint64 n_steps, GArray *steps, GError **error)
{
  g_autoptr (GDataInputStream) lines =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (child));

  while (steps->len < n_steps && read_step (lines, steps))
    ;
  g_subprocess_send_signal (child, SIGKILL);
  while (read_step (lines, steps)) /* what it had delivered by then */
    ;
  if (!g_subprocess_wait (child, NULL, error))
    return FALSE;
  if (g_subprocess_get_if_signaled (child))
    return TRUE;
  g_set_error_literal (error, HR_CORE_ERROR, HR_CORE_ERROR_STATE,
                       "a run in another process has failed, see above");
  return FALSE;
}

gboolean
verify_leg_killed (const char *text, const VerifyWay *way, gint64 n_steps, GArray *steps,
                   char **behind, GError **error)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *file = g_strdup_printf ("%s/hr-verify-%d", g_get_tmp_dir (), (int)getpid ());
  g_autofree char *how =
      g_strdup_printf ("%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT, way->world,
                       way->rank, way->workers);
  g_autoptr (GSubprocess) child =
      g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, error, self,
                        "resume", "--leg", how, "--checkpoint", file, text, NULL);
  gboolean ok = child != NULL && watch_child (child, n_steps, steps, error);

  g_clear_pointer (behind, g_free);
  if (ok && g_file_test (file, G_FILE_TEST_EXISTS))
    ok = g_file_get_contents (file, behind, NULL, error);
  g_unlink (file);
  return ok;
}
