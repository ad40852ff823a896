/* imagefetch.c: links become the bytes of images, many transfers at once on one thread */
#include "headrace.h"
#include "data-uri.h"
#include "file.h"
#include "image-header.h"
#include "media-link.h"
#include "s3-props.h"
#include "s3-request.h"
#include "s3-uri.h"
#include "sigv4.h"
#include <string.h>
#include <unistd.h>

#define FIRST_ESTIMATE (128 * 1024)
/* how many images the mean looks back on */
#define MEAN_IMAGES 256

typedef struct {
  guint64 concurrency;
  guint64 max_bytes;
  char **allow_links;
  char *media_root;
  HR_S3_FIELDS
} Imagefetch;

static const HrProp props[] = {
  HR_PROP_UINT (Imagefetch, concurrency, 1, 4096, 64, "Transfers in flight at once",
                .unit = "transfers"),
  HR_PROP_SIZE (Imagefetch, max_bytes, 1, 4 * HR_GIB, 256 * HR_MIB,
                "Largest encoded image; a larger one is a bad sample (image-too-large)",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRV (Imagefetch, allow_links, NULL,
                "Links that may be followed besides relative ones inside the root: all; file, s3, "
                "http, https; or folders and prefixes",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRING (Imagefetch, media_root, NULL,
                  "Tree that relative links may not leave; if unset jsonlparse's, or the location "
                  "given to the source",
                  .flags = HR_PROP_STREAM),
  HR_S3_PROPS (Imagefetch),
  HR_PROP_END
};

typedef struct _State State;
typedef struct _Job Job;

typedef enum {
  ITEM_NEW,
  ITEM_FLYING, /* its request is the client's */
  ITEM_PAUSED, /* and waits for bytes of the budget */
  ITEM_DONE
} ItemStage;

/* one image of a sample */
typedef struct {
  Job *job;
  guint index;
  ItemStage stage;
  HrHttpRequest *request;
  gsize wanted; /* bytes, once they are known */
  HrMemory *memory;
  gsize size;
} Item;

/* one sample */
struct _Job {
  State *state;
  HrTicket *ticket;
  HrBuffer *buffer;
  Item *items;
  guint n_items;
  guint n_left;
  guint64 wanted; /* sum of the items' */
  guint64 reserved;
  gboolean parked; /* until resume() */
};

struct _State {
  const Imagefetch *self;
  HrHttp *http;
  HrS3Config *config; /* made by the first s3:// link */
  char *root_text;    /* what root was made from */
  char *root;
  gdouble mean_bytes;
  guint n_images;
  GHashTable *jobs; /* a set */
};

static const char *
get_uri (const Item *item)
{
  return hr_list_get_string (hr_buffer_get_list (item->job->buffer, "images"), item->index);
}

/* as written in the record, where that is known */
static const char *
get_link (const Item *item)
{
  HrList *links = hr_buffer_get_list (item->job->buffer, "image_links");

  return links && item->index < hr_list_get_length (links) ? hr_list_get_string (links, item->index)
                                                           : NULL;
}

/* in front of each message: the link as the record has it */
static void
prefix_link (const Item *item, GError **error)
{
  g_autofree char *text =
      hr_media_link_shorten (get_link (item) ? get_link (item) : get_uri (item));

  if (!g_str_has_prefix ((*error)->message, text))
    g_prefix_error (error, "%s: ", text);
}

/* ---- the budget ---- */

/* TRUE: this many bytes of the item are within the reservation; FALSE: resume() will tell */
static gboolean
reserve (Item *item, gsize bytes)
{
  Job *job = item->job;

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
static HrMemory *
grow (Item *item, HrMemory *old, gsize used, gsize bytes, GError **error)
{
  HrMemory *memory = hr_ticket_alloc (item->job->ticket, "images", bytes, error);

  if (memory && used > 0)
    memcpy (memory->data, old->data, used);
  return memory;
}

/* ---- the results ---- */

static void
learn_size (State *state, gsize size)
{
  guint n = state->n_images = MIN (state->n_images + 1, MEAN_IMAGES);

  state->mean_bytes += ((gdouble)size - state->mean_bytes) / n;
}

static HrTensor *
get_sizes (Job *job)
{
  HrMemory *memory = hr_memory_new (MAX (job->n_items, 1) * 2 * sizeof (gint32));
  gint32 *sizes = (gint32 *)memory->data;
  gint64 shape[] = { job->n_items, 2 };

  for (guint i = 0; i < job->n_items; i++) {
    Item *item = &job->items[i];
    HrImageHeader header;
    guint32 height = 0, width = 0;

    /* one that is no image is imagedecode's to refuse */
    if (item->size > 0
        && hr_image_header_read (item->memory->data, item->size, G_MAXUINT64, &header, NULL))
      hr_image_header_get_size (&header, TRUE, &height, &width);
    sizes[2 * i] = MIN (height, G_MAXINT32);
    sizes[2 * i + 1] = MIN (width, G_MAXINT32);
  }
  return hr_tensor_new (memory, 0, HR_INT32, 2, shape);
}

static HrBuffer *
get_result (Job *job)
{
  HrBuffer *buffer = hr_buffer_make_writable (g_steal_pointer (&job->buffer));
  HrList *images = hr_list_new (job->n_items);

  hr_buffer_set_tensor (buffer, "image_sizes", get_sizes (job));
  for (guint i = 0; i < job->n_items; i++) {
    Item *item = &job->items[i];
    gint64 size = item->size;
    HrMemory *memory = item->memory ? g_steal_pointer (&item->memory) : hr_memory_new (1);

    learn_size (job->state, item->size);
    hr_list_append_tensor (images, hr_tensor_new (memory, 0, HR_UINT8, 1, &size));
  }
  hr_buffer_set_list (buffer, "images", images);
  return buffer;
}

static void
job_free (Job *job)
{
  for (guint i = 0; i < job->n_items; i++) {
    Item *item = &job->items[i];

    if (item->request)
      hr_http_cancel (job->state->http, item->request);
    g_clear_pointer (&item->memory, hr_memory_unref);
  }
  g_clear_pointer (&job->buffer, hr_buffer_unref);
  g_free (job->items);
  g_free (job);
}

/* takes @error; one failed image ends its sample */
static void
finish (Job *job, GError *error)
{
  HrTicket *ticket = job->ticket;
  HrBuffer *result = error ? NULL : get_result (job);

  g_hash_table_remove (job->state->jobs, job);
  job_free (job);
  hr_ticket_done (ticket, result, error);
}

static void
fail (Item *item, GError *error)
{
  item->stage = ITEM_DONE;
  prefix_link (item, &error);
  finish (item->job, error);
}

static void
item_done (Item *item)
{
  item->stage = ITEM_DONE;
  if (--item->job->n_left == 0)
    finish (item->job, NULL);
}

/* ---- transfers ---- */

static HrHttpRoom
make_room (HrHttpRequest *request, gsize bytes, GError **error)
{
  Item *item = request->user_data;
  gsize size = request->body ? request->body->size : 0;
  HrMemory *memory;

  /* of unknown length: in steps that double */
  if (request->response.content_length < 0)
    bytes = MAX (bytes, MIN (MAX (size * 2, FIRST_ESTIMATE), request->max_bytes));
  if (!reserve (item, bytes)) {
    item->stage = ITEM_PAUSED;
    return HR_HTTP_PAUSE;
  }
  memory = grow (item, request->body, request->received, bytes, error);
  if (!memory)
    return HR_HTTP_REFUSE;
  g_clear_pointer (&request->body, hr_memory_unref);
  request->body = memory;
  return HR_HTTP_READY;
}

/* what is wrong with one link is the sample's fault, all else the run's */
static GError *
judge (const HrHttpRequest *request, gboolean is_web, GError *error)
{
  guint status = request->response.status;
  int kind = -1;

  if (request->too_large)
    kind = HR_DATA_ERROR_IMAGE_TOO_LARGE;
  else if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND))
    kind = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  else if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN))
    kind = HR_DATA_ERROR_MEDIA_FORBIDDEN;
  /* of a web link a server may say anything, and means the link */
  else if (is_web && status >= 300 && status < 500 && status != 408 && status != 429)
    kind = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  if (kind >= 0) {
    error->domain = HR_DATA_ERROR;
    error->code = kind;
  }
  return error;
}

static gboolean
is_web (const Item *item)
{
  return g_ascii_strncasecmp (get_uri (item), "http", 4) == 0;
}

static void
request_done (HrHttpRequest *request, GError *error)
{
  Item *item = request->user_data;

  item->request = NULL;
  hr_ticket_count_transfer (item->job->ticket, request->first_byte_time, request->body_time,
                            request->received);
  if (error) {
    fail (item, judge (request, is_web (item), error));
    return;
  }
  item->memory = g_steal_pointer (&request->body);
  item->size = request->received;
  item_done (item);
}

static HrS3Config *
get_config (State *state, GError **error)
{
  HrS3Settings settings = HR_S3_SETTINGS (state->self);

  if (!state->config)
    state->config = hr_s3_config_new (&settings, error);
  return state->config;
}

/* spaces and letters that a URL may not hold; what is written as %XX stays so */
static char *
escape_url (const char *link)
{
  GString *url = g_string_new (NULL);

  for (const char *c = link; *c; c++)
    if ((guchar)*c <= ' ' || (guchar)*c >= 0x7f || strchr ("\"<>\\^`{|}", *c))
      hr_uri_encode (url, c, 1, FALSE);
    else
      g_string_append_c (url, *c);
  return g_string_free (url, FALSE);
}

static HrHttpRequest *
new_request (Item *item, GError **error)
{
  const char *link = get_uri (item);
  g_auto (HrS3Uri) uri = { 0 };
  g_autoptr (GError) failure = NULL;
  HrS3Config *config;
  HrHttpRequest *request;

  if (is_web (item)) {
    g_autofree char *url = escape_url (link);

    request = hr_http_request_new (link, url);
    request->follow = TRUE;
    request->question.close_is_end = TRUE;
    return request;
  }
  if (!hr_s3_uri_parse (&uri, link, &failure) || !*uri.key) {
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_NOT_FOUND, "names no object in S3%s%s",
                       failure ? ": " : "", failure ? failure->message : "");
    return NULL;
  }
  config = get_config (item->job->state, error);
  return config ? hr_s3_get (config, uri.bucket, uri.key) : NULL;
}

static gboolean
start_transfer (Item *item, GError **error)
{
  Job *job = item->job;
  HrHttpRequest *request = new_request (item, error);

  if (!request)
    return FALSE;
  request->max_bytes = job->state->self->max_bytes;
  request->priority = hr_ticket_get_number (job->ticket);
  request->room = make_room;
  request->done = request_done;
  request->user_data = item;
  item->request = request;
  item->stage = ITEM_FLYING;
  hr_http_submit (job->state->http, request);
  return TRUE;
}

/* ---- what is at hand at once ---- */

static gboolean
check_size (const Item *item, guint64 size, GError **error)
{
  guint64 limit = item->job->state->self->max_bytes;

  if (size <= limit)
    return TRUE;
  hr_set_data_error (error, HR_DATA_ERROR_IMAGE_TOO_LARGE,
                     "%" G_GUINT64_FORMAT " bytes, max-bytes is %" G_GUINT64_FORMAT, size, limit);
  return FALSE;
}

static GError *
judge_file (GError *error)
{
  if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND)) {
    error->domain = HR_DATA_ERROR;
    error->code = HR_DATA_ERROR_MEDIA_NOT_FOUND;
  } else if (g_error_matches (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FORBIDDEN)) {
    error->domain = HR_DATA_ERROR;
    error->code = HR_DATA_ERROR_MEDIA_FORBIDDEN;
  }
  return error;
}

static gboolean
read_all (Item *item, int fd, GError **error)
{
  item->size = 0;
  while (item->size < item->memory->size) {
    gssize n = hr_file_read (fd, get_uri (item), item->size, item->memory->data + item->size,
                             item->memory->size - item->size, -1, error);

    if (n < 0)
      return FALSE;
    if (n == 0)
      break;
    item->size += n;
  }
  return TRUE;
}

/* FALSE without an error: the budget has no room for it yet */
static gboolean
read_file (Item *item, GError **error)
{
  gint64 size;
  int fd = hr_file_open (get_uri (item), &size, error);
  gboolean good = FALSE;

  if (fd < 0)
    return FALSE;
  if (size < 0)
    hr_set_data_error (error, HR_DATA_ERROR_MEDIA_NOT_FOUND, "is no regular file");
  else if (check_size (item, size, error) && reserve (item, size)) {
    item->memory = hr_ticket_alloc (item->job->ticket, "images", MAX (size, 1), error);
    good = item->memory && read_all (item, fd, error);
  }
  close (fd);
  return good;
}

static gboolean
decode_data (Item *item, GError **error)
{
  const char *link = get_uri (item);
  gsize most = hr_data_uri_max_size (link);
  gssize size;

  if (!check_size (item, most, error) || !reserve (item, most))
    return FALSE;
  item->memory = hr_ticket_alloc (item->job->ticket, "images", MAX (most, 1), error);
  if (!item->memory)
    return FALSE;
  size = hr_data_uri_decode (link, item->memory->data, error);
  item->size = MAX (size, 0);
  return size >= 0;
}

/* FALSE: the job is over, or cannot go on before resume() */
static gboolean
start_item (Item *item)
{
  const char *link = get_uri (item);
  gboolean is_data = hr_data_uri_is (link), is_file = *link == '/';
  GError *error = NULL;
  gboolean last = item->job->n_left == 1;

  if (!is_data && !is_file) {
    if (start_transfer (item, &error))
      return TRUE;
  } else if (is_data ? decode_data (item, &error) : read_file (item, &error)) {
    item_done (item);
    return !last;
  }
  if (error)
    fail (item, is_file ? judge_file (error) : error);
  return FALSE;
}

static void
start_items (Job *job)
{
  guint n = job->n_items;

  for (guint i = 0; i < n; i++)
    if (job->items[i].stage == ITEM_NEW && !start_item (&job->items[i]))
      return;
}

/* ---- the element ---- */

static const char *
get_root (State *state, const HrBuffer *in)
{
  HrOrigin *origin = hr_buffer_get_origin (in);
  const char *text = state->self->media_root;

  if (!text && origin)
    text = origin->root;
  if (text && g_strcmp0 (text, state->root_text) != 0) {
    g_free (state->root_text);
    g_free (state->root);
    state->root_text = g_strdup (text);
    state->root = hr_media_link_folder (text);
  }
  return text ? state->root : NULL;
}

/* all links of a sample, before anything is opened */
static gboolean
check_links (Job *job, GError **error)
{
  State *state = job->state;
  const char *root = get_root (state, job->buffer);

  for (guint i = 0; i < job->n_items; i++) {
    Item *item = &job->items[i];

    if (!hr_media_link_check (get_link (item), get_uri (item), root,
                              (const char *const *)state->self->allow_links, error))
      return FALSE;
  }
  return TRUE;
}

static guint64
estimate (const State *state, guint n_images)
{
  gdouble mean = state->n_images > 0 ? state->mean_bytes : FIRST_ESTIMATE;

  return n_images * (guint64)CLAMP (mean, 1, state->self->max_bytes);
}

static guint64
imagefetch_estimate (gconstpointer self G_GNUC_UNUSED, gpointer worker, const HrBuffer *in)
{
  HrList *links = hr_buffer_get_list (in, "images");

  return links ? estimate (worker, hr_list_get_length (links)) : 0;
}

static void
imagefetch_submit (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrBuffer *in,
                   HrTicket *ticket)
{
  HrList *links = hr_buffer_get_list (in, "images");
  Job *job = g_new0 (Job, 1);
  GError *error = NULL;

  job->state = worker;
  g_hash_table_add (job->state->jobs, job);
  job->ticket = ticket;
  job->buffer = in;
  job->n_left = job->n_items = links ? hr_list_get_length (links) : 0;
  job->items = g_new0 (Item, MAX (job->n_items, 1));
  job->reserved = estimate (worker, job->n_items);
  for (guint i = 0; i < job->n_items; i++) {
    job->items[i].job = job;
    job->items[i].index = i;
  }
  hr_ticket_set_data (ticket, job);
  if (hr_ticket_is_serial (ticket))
    hr_http_set_max_transfers (job->state->http, 1);
  if (!check_links (job, &error) || job->n_items == 0)
    finish (job, error);
  else
    start_items (job);
}

static void
imagefetch_resume (gconstpointer self G_GNUC_UNUSED, gpointer worker, HrTicket *ticket)
{
  State *state = worker;
  Job *job = hr_ticket_get_data (ticket);

  job->parked = FALSE;
  if (job->wanted > job->reserved) {
    /* more has become known meanwhile */
    job->parked = !hr_ticket_reserve (ticket, job->wanted);
    job->reserved = job->wanted;
    if (job->parked)
      return;
  }
  for (guint i = 0; i < job->n_items; i++)
    if (job->items[i].stage == ITEM_PAUSED) {
      job->items[i].stage = ITEM_FLYING;
      hr_http_resume (state->http, job->items[i].request);
    }
  start_items (job);
}

static gboolean
imagefetch_poll (gconstpointer self G_GNUC_UNUSED, gpointer worker, int wake_fd, int timeout_ms,
                 GError **error)
{
  return hr_http_poll (((State *)worker)->http, wake_fd, timeout_ms, error);
}

static guint
imagefetch_concurrency (gconstpointer self)
{
  return ((const Imagefetch *)self)->concurrency;
}

static gboolean
imagefetch_check (gconstpointer self, GError **error)
{
  return hr_media_link_check_allow ((const char *const *)((const Imagefetch *)self)->allow_links,
                                    error);
}

static gboolean
imagefetch_worker_start (gconstpointer selfp, gpointer shared G_GNUC_UNUSED, gpointer worker,
                         GError **error)
{
  const Imagefetch *self = selfp;
  State *state = worker;
  HrHttpOptions options = HR_S3_HTTP_OPTIONS (self, self->concurrency);

  state->self = self;
  state->jobs = g_hash_table_new (NULL, NULL);
  state->http = hr_http_new (&options, error);
  return state->http != NULL;
}

/* what was under way when the run ended; the tickets are the core's */
static void
drop_jobs (State *state)
{
  GHashTableIter iter;
  gpointer job;

  g_hash_table_iter_init (&iter, state->jobs);
  while (g_hash_table_iter_next (&iter, &job, NULL)) {
    g_hash_table_iter_steal (&iter);
    job_free (job);
  }
}

static void
imagefetch_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  State *state = worker;

  drop_jobs (state);
  g_hash_table_unref (state->jobs);
  g_clear_pointer (&state->http, hr_http_free);
  g_clear_pointer (&state->config, hr_s3_config_unref);
  g_free (state->root_text);
  g_free (state->root);
}

static const char *const examples[] = {
  "filesrc location=tests/data/cases/16-image-links/corpus/ ! jsonlparse ! imagefetch "
  "on-error=skip ! fakesink",
  "s3src location=s3://demo/train/ ! jsonlparse ! imagefetch concurrency=128 ! fakesink", NULL
};

HR_ELEMENT (
    imagefetch, Imagefetch, .summary = "Fetch the images that samples link to",
    .description =
        "Follows the links of each sample (files, s3://, data:, and http:// or https:// "
        "where allow-links says so) and gives the images as a list of uint8 [bytes] in "
        "\"images\", and their sizes as \"image_sizes\", int32 [n, 2]: height and width after "
        "EXIF orientation, 0, 0 for what is no image. The images of a sample are fetched "
        "in parallel, and those of many samples at once. Bad links are link-refused, "
        "media-not-found, media-forbidden, media-undecodable (data:) or image-too-large; "
        "a server that does not answer, after tries= times, ends the run.",
    .examples = examples, .needs = "images:links", .gives = "images:encoded, image_sizes",
    .worker_size = sizeof (State), .props = props, .network = TRUE, .check = imagefetch_check,
    .worker_start = imagefetch_worker_start, .worker_stop = imagefetch_worker_stop,
    .estimate = imagefetch_estimate, .submit = imagefetch_submit, .resume = imagefetch_resume,
    .poll = imagefetch_poll, .concurrency = imagefetch_concurrency)
