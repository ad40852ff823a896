/* fetch-job.c: the bytes and the end of a sample whose images are being fetched */
#include "fetch-job.h"
#include "image-header.h"
#include "media-link.h"
#include <string.h>

/* how many images the mean looks back on */
#define MEAN_IMAGES 256

const char *
hr_fetch_get_uri (const HrFetchItem *item)
{
  return hr_list_get_string (hr_buffer_get_list (item->job->buffer, "images"), item->index);
}

/* as written in the record, where that is known */
const char *
hr_fetch_get_link (const HrFetchItem *item)
{
  HrList *links = hr_buffer_get_list (item->job->buffer, "image_links");

  return links && item->index < hr_list_get_length (links) ? hr_list_get_string (links, item->index)
                                                           : NULL;
}

/* in front of each message: the link as the record has it */
static void
prefix_link (const HrFetchItem *item, GError **error)
{
  g_autofree char *text = hr_media_link_shorten (
      hr_fetch_get_link (item) ? hr_fetch_get_link (item) : hr_fetch_get_uri (item));

  if (!g_str_has_prefix ((*error)->message, text))
    g_prefix_error (error, "%s: ", text);
}

/* ---- the budget ---- */

/* TRUE: this many bytes of the item are within the reservation; FALSE: resume() will tell */
gboolean
hr_fetch_reserve (HrFetchItem *item, gsize bytes)
{
  HrFetchJob *job = item->job;

  if (bytes > item->wanted) {
    job->wanted += bytes - item->wanted;
    item->wanted = bytes;
  }
  if (job->parked)
    return FALSE;
  if (job->wanted <= job->reserved)
    return TRUE;
  job->parked = !hr_ticket_reserve (job->ticket, job->wanted);
  job->reserved = job->wanted;
  return !job->parked;
}

/* memory of @bytes that holds what the item has so far */
HrMemory *
hr_fetch_grow (HrFetchItem *item, HrMemory *old, gsize used, gsize bytes, GError **error)
{
  HrMemory *memory = hr_ticket_alloc (item->job->ticket, "images", bytes, error);

  if (memory && used > 0)
    memcpy (memory->data, old->data, used);
  return memory;
}

/* ---- the results ---- */

static void
learn_size (HrFetchState *state, gsize size)
{
  guint n = state->n_images = MIN (state->n_images + 1, MEAN_IMAGES);

  state->mean_bytes += ((gdouble)size - state->mean_bytes) / n;
}

gboolean
hr_fetch_is_enough (HrFetchItem *item)
{
  HrImageHeader header;

  if (item->size >= item->whole
      || hr_image_header_read_part (item->memory->data, item->size, item->whole, &header))
    return TRUE;
  item->part = item->part < item->whole / FETCH_MORE ? item->part * FETCH_MORE : 0;
  return FALSE;
}

static HrTensor *
get_sizes (HrFetchJob *job)
{
  HrMemory *memory = hr_memory_new (MAX (job->n_items, 1) * 2 * sizeof (gint32));
  gint32 *sizes = (gint32 *)memory->data;
  gint64 shape[] = { job->n_items, 2 };

  for (guint i = 0; i < job->n_items; i++) {
    HrFetchItem *item = &job->items[i];
    HrImageHeader header;
    guint32 height = 0, width = 0;

    /* one that is no image is imagedecode's to refuse */
    if (item->size > 0
        && hr_image_header_read_part (item->memory->data, item->size, item->whole, &header))
      hr_image_header_get_size (&header, job->state->shared->turned, &height, &width);
    sizes[2 * i] = MIN (height, G_MAXINT32);
    sizes[2 * i + 1] = MIN (width, G_MAXINT32);
  }
  return hr_tensor_new (memory, 0, HR_INT32, 2, shape);
}

static HrBuffer *
get_result (HrFetchJob *job)
{
  HrBuffer *buffer = hr_buffer_make_writable (g_steal_pointer (&job->buffer));
  HrList *images = hr_list_new (job->n_items);

  hr_buffer_set_tensor (buffer, "image_sizes", get_sizes (job));
  for (guint i = 0; i < job->n_items; i++) {
    HrFetchItem *item = &job->items[i];
    gint64 size = item->size;
    HrMemory *memory = item->memory ? g_steal_pointer (&item->memory) : hr_memory_new (1);

    learn_size (job->state, item->size);
    hr_list_append_tensor (images, hr_tensor_new (memory, 0, HR_UINT8, 1, &size));
  }
  hr_buffer_set_list (buffer, "images", images);
  return buffer;
}

void
hr_fetch_job_free (HrFetchJob *job)
{
  for (guint i = 0; i < job->n_items; i++) {
    HrFetchItem *item = &job->items[i];

    if (item->request)
      hr_http_cancel (job->state->http, item->request);
    hr_fetch_forget_kept (item);
    g_clear_pointer (&item->key, g_bytes_unref);
  }
  g_clear_pointer (&job->buffer, hr_buffer_unref);
  g_free (job->items);
  g_free (job);
}

/* takes @error; one failed image ends its sample */
void
hr_fetch_finish (HrFetchJob *job, GError *error)
{
  HrTicket *ticket = job->ticket;
  HrBuffer *result = error ? NULL : get_result (job);

  g_hash_table_remove (job->state->jobs, job);
  hr_fetch_job_free (job);
  hr_ticket_done (ticket, result, error);
}

void
hr_fetch_fail (HrFetchItem *item, GError *error)
{
  item->stage = ITEM_DONE;
  prefix_link (item, &error);
  if (error->domain == HR_DATA_ERROR)
    hr_data_error_set_member (
        error, hr_fetch_get_link (item) ? hr_fetch_get_link (item) : hr_fetch_get_uri (item),
        item->index);
  hr_fetch_finish (item->job, error);
}

void
hr_fetch_item_done (HrFetchItem *item)
{
  item->stage = ITEM_DONE;
  if (--item->job->n_left == 0)
    hr_fetch_finish (item->job, NULL);
}
