/* hr-tell.c */
#include "hr-tell.h"
#include "hr-dead-letter.h"
#include "hr-headspace.h"
#include "hr-packer.h"
#include "hr-value.h"

/* a share of fewer samples says nothing */
#define MIN_SAMPLES 100

/* what one sink has got so far, in its order */
struct _HrTally {
  gint64 n_samples; /* holes too */
  gint64 n_bad;
  GError *last;
  guint n_elements;
  gint64 *bad_of;   /* by element */
  GError **last_of; /* the same */
};

struct _HrTell {
  HrMutex lock;
  GHashTable *untold; /* HrLetter: the set */
  guint64 n_letters;
  HrDeadLetters *file;
};

gboolean
hr_tell_start (HrPipeline *pipeline, GError **error)
{
  const char *path = pipeline->settings.dead_letter;
  HrTell *tell = g_new0 (HrTell, 1);

  pipeline->tell = tell;
  hr_mutex_init (&tell->lock);
  tell->untold = g_hash_table_new_full (NULL, NULL, (GDestroyNotify)hr_letter_unref, NULL);
  if (path == NULL || *path == '\0' || pipeline->measures)
    return TRUE;
  tell->file = hr_dead_letters_open (path, error);
  return tell->file != NULL;
}

void
hr_tell_clear (HrPipeline *pipeline)
{
  HrTell *tell = g_steal_pointer (&pipeline->tell);

  if (tell == NULL)
    return;
  g_hash_table_unref (tell->untold);
  hr_dead_letters_free (tell->file);
  hr_mutex_clear (&tell->lock);
  g_free (tell);
}

gboolean
hr_tell_sync (HrPipeline *pipeline, GError **error)
{
  HrTell *tell = pipeline->tell;

  return tell == NULL || tell->file == NULL || hr_dead_letters_sync (tell->file, error);
}

/* ---- limits ---- */

static HrTally *
tally_new (guint n_elements)
{
  HrTally *tally = g_new0 (HrTally, 1);

  tally->n_elements = n_elements;
  tally->bad_of = g_new0 (gint64, n_elements);
  tally->last_of = g_new0 (GError *, n_elements);
  return tally;
}

static HrTally *
tally_of (HrRun *run)
{
  if (run->tally == NULL)
    run->tally = tally_new (run->pipeline->elements->len);
  return run->tally;
}

void
hr_tally_free (HrTally *tally)
{
  if (tally == NULL)
    return;
  for (guint i = 0; i < tally->n_elements; i++)
    g_clear_error (&tally->last_of[i]);
  g_clear_error (&tally->last);
  g_free (tally->last_of);
  g_free (tally->bad_of);
  g_free (tally);
}

/* "10" samples, or "1%" of those so far once they are a hundred; a message when it is exceeded */
static char *
exceeded (const char *limit, gint64 n_bad, gint64 n_samples)
{
  guint64 count = G_MAXUINT64;
  double rate = 1;

  if (limit == NULL || *limit == '\0'
      || hr_value_parse_limit (limit, &count, &rate, NULL) != HR_VALUE_OK)
    return NULL;
  if ((guint64)n_bad > count)
    return g_strdup_printf ("max-errors=%s is exceeded, the last: ", limit);
  if (count < G_MAXUINT64 || n_samples < MIN_SAMPLES || (double)n_bad <= rate * (double)n_samples)
    return NULL;
  return g_strdup_printf ("max-errors=%s is exceeded: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                          " samples were bad, the last: ",
                          limit, n_bad, n_samples);
}

static gboolean
is_within (HrPipeline *pipeline, const char *limit, gint64 n_bad, gint64 n_samples,
           const GError *last)
{
  g_autofree char *too_many = n_bad > 0 ? exceeded (limit, n_bad, n_samples) : NULL;
  GError *error;

  if (too_many == NULL)
    return TRUE;
  error = g_error_copy (last);
  g_prefix_error (&error, "%s", too_many);
  hr_pipeline_fail (pipeline, NULL, error);
  return FALSE;
}

static gboolean
check_element (HrPipeline *pipeline, const HrTally *tally, guint index)
{
  HrElement *element = pipeline->elements->pdata[index];

  return is_within (pipeline, element->common.max_errors, tally->bad_of[index], tally->n_samples,
                    tally->last_of[index]);
}

static gboolean
check_all (HrPipeline *pipeline, const HrTally *tally)
{
  return is_within (pipeline, pipeline->settings.max_errors, tally->n_bad, tally->n_samples,
                    tally->last);
}

/* a share is looked at for the first time when it means something, whatever that sample is like */
static gboolean
count_sample (HrRun *sink)
{
  HrPipeline *pipeline = sink->pipeline;
  HrTally *tally = tally_of (sink);
  gboolean within = TRUE;

  if (++tally->n_samples != MIN_SAMPLES)
    return TRUE;
  within = check_all (pipeline, tally);
  for (guint i = 0; within && i < pipeline->elements->len; i++)
    within = check_element (pipeline, tally, i);
  return within;
}

static gboolean
count_bad (HrRun *sink, const HrLetter *letter, const GError *error)
{
  HrTally *tally = tally_of (sink);

  tally->n_bad++;
  tally->bad_of[letter->element]++;
  g_clear_error (&tally->last);
  tally->last = g_error_copy (error);
  g_clear_error (&tally->last_of[letter->element]);
  tally->last_of[letter->element] = g_error_copy (error);
  return check_element (sink->pipeline, tally, letter->element)
         && check_all (sink->pipeline, tally);
}

/* ---- words ---- */

void
hr_tell_later (HrPipeline *pipeline, HrLetter *letter)
{
  HrTell *tell = pipeline->tell;

  if (tell == NULL || pipeline->measures)
    return;
  hr_mutex_lock (&tell->lock);
  letter->number = tell->n_letters++;
  g_hash_table_add (tell->untold, hr_letter_ref (letter));
  hr_mutex_unlock (&tell->lock);
}

static gboolean
take_letter (HrPipeline *pipeline, HrLetter *letter)
{
  HrTell *tell = pipeline->tell;

  if (__atomic_exchange_n (&letter->told, 1, __ATOMIC_ACQ_REL) != 0)
    return FALSE;
  hr_mutex_lock (&tell->lock);
  g_hash_table_remove (tell->untold, letter);
  hr_mutex_unlock (&tell->lock);
  return TRUE;
}

/* what its list said of it */
static const HrObject *
find_object (HrPipeline *pipeline, const HrOrigin *origin)
{
  for (guint i = 0; origin != NULL && origin->uri != NULL && i < pipeline->elements->len; i++) {
    HrRun *run = ((HrElement *)pipeline->elements->pdata[i])->run;
    const HrPlan *plan = __atomic_load_n (&run->plan, __ATOMIC_ACQUIRE);
    const HrObject *object = plan != NULL ? hr_plan_find_object (plan, origin->uri) : NULL;

    if (object != NULL)
      return object;
  }
  return NULL;
}

static gboolean
tell_letter (HrPipeline *pipeline, HrLetter *letter, const HrBuffer *sample, const GError *error)
{
  HrTell *tell = pipeline->tell;
  HrElement *element = pipeline->elements->pdata[letter->element];
  GError *failure = NULL;

  if (!take_letter (pipeline, letter))
    return TRUE;
  __atomic_add_fetch (&pipeline->skipped[letter->kind], 1, __ATOMIC_RELAXED);
  hr_pipeline_post (pipeline, HR_MESSAGE_SKIPPED, element, error, letter->origin);
  if (tell->file == NULL
      || hr_dead_letters_write (tell->file, letter, sample, find_object (pipeline, letter->origin),
                                &failure))
    return TRUE;
  hr_pipeline_fail (pipeline, NULL, failure);
  return FALSE;
}

void
hr_tell_never (HrPipeline *pipeline, const HrBuffer *hole)
{
  HrLetter *letter = hole->error != NULL ? hr_letter_of (hole->error) : NULL;

  if (letter != NULL && pipeline->tell != NULL)
    take_letter (pipeline, letter);
}

gboolean
hr_tell_now (HrRun *run, const HrBuffer *sample, const GError *error)
{
  HrLetter *letter = hr_letter_of (error);

  return tell_letter (run->pipeline, letter, sample, error) && count_bad (run, letter, error);
}

/* padding was never anything */
static gboolean
is_padding (const HrBuffer *buffer)
{
  return (buffer->flags & HR_BUFFER_HOLE) && buffer->error == NULL && buffer->origin == NULL;
}

static gboolean
tell_sample (HrRun *sink, const HrBuffer *buffer)
{
  HrLetter *letter = (buffer->flags & HR_BUFFER_HOLE) && buffer->error != NULL
                         ? hr_letter_of (buffer->error)
                         : NULL;

  if (is_padding (buffer) || !count_sample (sink))
    return is_padding (buffer);
  return letter == NULL
         || (tell_letter (sink->pipeline, letter, buffer, buffer->error)
             && count_bad (sink, letter, buffer->error));
}

gboolean
hr_tell_taken (HrRun *sink, const HrBuffer *buffer)
{
  guint n = hr_buffer_get_n_members (buffer);
  gboolean within = TRUE;

  if (sink->pipeline->measures)
    return TRUE;
  for (guint i = 0; within && buffer->left_out != NULL && i < buffer->left_out->len; i++)
    within = tell_sample (sink, buffer->left_out->pdata[i]);
  for (guint i = 0; within && i < n; i++)
    within = tell_sample (sink, hr_buffer_get_member (buffer, i));
  return within && (n > 0 || (buffer->flags & HR_BUFFER_BATCH) || tell_sample (sink, buffer));
}

/* steps of packed rows end somewhere in what has been packed: the rest belongs to no step of the
 * run
 */
static gboolean
ends_inside_blocks (HrPipeline *pipeline)
{
  gboolean packs = FALSE;

  for (guint i = 0; i < pipeline->elements->len; i++)
    packs = packs || hr_packer_is (((HrElement *)pipeline->elements->pdata[i])->run);
  return packs && pipeline->settings.steps > 0;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  const HrLetter *x = *(HrLetter *const *)a, *y = *(HrLetter *const *)b;

  return x->number < y->number ? -1 : x->number > y->number;
}

/* of the last blocks, which made no row */
static void
tell_left_out (HrRun *packer)
{
  for (guint i = 0; packer->left_out != NULL && i < packer->left_out->len; i++) {
    const HrBuffer *hole = packer->left_out->pdata[i];
    HrLetter *letter = hr_letter_of (hole->error);

    if (letter != NULL)
      tell_letter (packer->pipeline, letter, hole, hole->error);
  }
}

void
hr_tell_rest (HrPipeline *pipeline)
{
  g_autoptr (GPtrArray) rest = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_letter_unref);
  HrTell *tell = pipeline->tell;
  GHashTableIter each;
  gpointer letter;

  if (ends_inside_blocks (pipeline) || hr_headspace_replays (pipeline))
    return; /* the others were not wanted */
  for (guint i = 0; i < pipeline->elements->len; i++)
    tell_left_out (((HrElement *)pipeline->elements->pdata[i])->run);
  hr_mutex_lock (&tell->lock);
  g_hash_table_iter_init (&each, tell->untold);
  while (g_hash_table_iter_next (&each, &letter, NULL))
    g_ptr_array_add (rest, hr_letter_ref (letter));
  hr_mutex_unlock (&tell->lock);
  g_ptr_array_sort (rest, compare_numbers);
  for (guint i = 0; i < rest->len; i++) {
    HrBuffer nowhere = { .sample = -1, .place = -1 };
    HrLetter *one = rest->pdata[i];
    g_autoptr (GError) error = g_error_new_literal (HR_DATA_ERROR, one->kind, one->message);

    tell_letter (pipeline, one, &nowhere, error);
  }
}
