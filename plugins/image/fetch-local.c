/* fetch-local.c: images in files and in the links themselves */
#include "fetch-job.h"
#include "data-uri.h"
#include "file.h"
#include <unistd.h>

static gboolean
check_size (const HrFetchItem *item, guint64 size, GError **error)
{
  guint64 limit = item->job->state->self->max_bytes;

  if (size <= limit)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_IMAGE_TOO_LARGE,
                     "%" G_GUINT64_FORMAT " bytes, max-bytes is %" G_GUINT64_FORMAT, size, limit);
  return FALSE;
}

/* a file that is not there, or not for us, is the sample's fault */
static GError *
judge_file (GError *error)
{
  if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND))
    return hr_data_error_from (error, HR_DATA_ERROR_MEDIA_NOT_FOUND);
  if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN))
    return hr_data_error_from (error, HR_DATA_ERROR_MEDIA_FORBIDDEN);
  return error;
}

static gboolean
read_bytes (HrFetchItem *item, int fd, gsize bytes, GError **error)
{
  item->size = 0;
  while (item->size < bytes) {
    gssize n = hr_file_read (fd, hr_fetch_get_uri (item), item->size,
                             item->memory->data + item->size, bytes - item->size, -1, error);

    if (n < 0)
      return FALSE;
    if (n == 0)
      break;
    item->size += n;
  }
  __atomic_fetch_add (&item->job->state->shared->fetched_bytes, item->size, __ATOMIC_RELAXED);
  if (item->size < bytes) /* it has been cut meanwhile */
    item->whole = item->size;
  return TRUE;
}

/* as much of it as is wanted; FALSE without an error: the budget has no room for it yet */
static gboolean
read_file (HrFetchItem *item, int fd, GError **error)
{
  gsize bytes;

  do {
    bytes = item->part > 0 ? MIN (item->part, item->whole) : item->whole;
    g_clear_pointer (&item->memory, hr_memory_unref);
    if (!hr_fetch_reserve (item, bytes))
      return FALSE;
    item->memory = hr_ticket_alloc (item->job->ticket, "images", MAX (bytes, 1), error);
    if (!item->memory || !read_bytes (item, fd, bytes, error))
      return FALSE;
  } while (!hr_fetch_is_enough (item));
  return TRUE;
}

/* FALSE without an error: the budget has no room for it yet */
gboolean
hr_fetch_read_file (HrFetchItem *item, GError **error)
{
  gint64 size;
  GError *failure = NULL;
  int fd = hr_file_open (hr_fetch_get_uri (item), &size, &failure);
  gboolean good = FALSE;

  if (fd < 0) {
    g_propagate_error (error, judge_file (failure));
    return FALSE;
  }
  if (size < 0)
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_NOT_FOUND, "is no regular file");
  else if (check_size (item, size, error)) {
    item->whole = size;
    good = read_file (item, fd, error);
  }
  close (fd);
  return good;
}

gboolean
hr_fetch_decode_data (HrFetchItem *item, GError **error)
{
  const char *link = hr_fetch_get_uri (item);
  gsize most = hr_data_uri_max_size (link);
  gssize size;

  if (!check_size (item, most, error) || !hr_fetch_reserve (item, most))
    return FALSE;
  item->memory = hr_ticket_alloc (item->job->ticket, "images", MAX (most, 1), error);
  if (!item->memory)
    return FALSE;
  size = hr_data_uri_decode (link, item->memory->data, error);
  item->size = item->whole = MAX (size, 0);
  return size >= 0;
}
