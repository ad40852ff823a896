/* deadlettersrc.c: reads the samples again that a run has skipped */
#include <string.h>
#include <unistd.h>
#include "headrace.h"
#include "expand.h"
#include "file.h"
#include "http-metrics.h"
#include "http-wait.h"
#include "inflate.h"
#include "letters.h"
#include "line-limit.h"
#include "s3-props.h"
#include "s3-request.h"
#include "s3-uri.h"

/* of a line whose length is not known so much is read first, then twice as much */
#define FIRST_BYTES (64 * 1024)
/* of a compressed object, at once */
#define PART_BYTES (4 * 1024 * 1024)

typedef struct {
  char *location;
  char **kind;
  guint64 read_ahead;
  guint64 max_expansion;
  HR_S3_FIELDS
} Deadlettersrc;

static const HrProp props[] = {
  HR_PROP_STRING (Deadlettersrc, location, NULL,
                  "File that a run with dead-letter has written (docs/errors.md)",
                  .flags = HR_PROP_REQUIRED | HR_PROP_STREAM),
  HR_PROP_STRV (Deadlettersrc, kind, NULL,
                "Kinds of errors whose samples are read, such as media-not-found; unset: all",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Deadlettersrc, read_ahead, 0, 1024, 15,
                "Requests to S3 in flight beside the one that is waited for", .unit = "requests"),
  HR_PROP_UINT (
      Deadlettersrc, max_expansion, 0, G_MAXINT32, 250,
      "Bytes of text that each byte of a compressed object (*.gz, *.zst) may make, so that a "
      "small one does not fill the disk; 0: any number",
      .unit = "bytes"),
  HR_S3_PROPS (Deadlettersrc),
  HR_PROP_END
};

/* a compressed object that is open */
typedef struct {
  HrObject object;
  gint64 at;     /* what is in front has been read */
  gpointer part; /* of the expander's */
} Text;

typedef struct {
  const Deadlettersrc *self;
  GPtrArray *letters;   /* NULL: not read yet */
  guint next;           /* letter to give on */
  guint opened;         /* … and to ask for */
  GQueue reads;         /* Read, of letters next … opened-1; NULL: nothing is asked for ahead */
  HrExpander *expander; /* of compressed objects */
  GHashTable *expanded; /* the set of their URIs: kept, or being read */
  Text *text;           /* the one that was read last */
  HrHttp *http;
  HrS3Config *config;
  HrHttpMetrics *metrics; /* shared */
  HrOut *out;
} State;

/* a range of an object in S3 */
typedef struct {
  HrHttpRequest *request; /* until it is done */
  HrMemory *body;
  gsize received;
  GError *error;
} Read;

static gboolean
is_s3 (const Letter *letter)
{
  return g_str_has_prefix (letter->uri, "s3://");
}

static gboolean
is_compressed (const Letter *letter)
{
  return hr_stored_of (letter->uri) != HR_STORED_PLAIN;
}

static void
put_in_front (const State *state, const Letter *letter, GError **error)
{
  g_prefix_error (error, "%s:%u: ", state->self->location, letter->file_line);
}

static gboolean
fail_changed (const Letter *letter, const char *now, GError **error)
{
  g_set_error (
      error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
      "%s has changed since its sample was skipped: it was %s and is %s; run over it again",
      letter->uri, letter->identity, now);
  return FALSE;
}

static gboolean
fail_end (const Letter *letter, GError **error)
{
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_CHANGED,
               "%s ends in front of byte %" G_GINT64_FORMAT, letter->uri,
               letter->byte + MAX (letter->length, 1));
  return FALSE;
}

/* ---- S3 ---- */

static void
read_done (HrHttpRequest *request, GError *error)
{
  Read *read = request->user_data;

  read->request = NULL;
  read->error = error;
  read->body = g_steal_pointer (&request->body);
  read->received = request->received;
}

static void
read_free (State *state, Read *read)
{
  if (read == NULL)
    return;
  if (read->request != NULL)
    hr_http_cancel (state->http, read->request);
  g_clear_pointer (&read->body, hr_memory_unref);
  g_clear_error (&read->error);
  g_free (read);
}

static gboolean
need_client (State *state, GError **error)
{
  HrS3Settings settings = HR_S3_SETTINGS (state->self);
  HrHttpOptions options = HR_S3_HTTP_OPTIONS (state->self, state->self->read_ahead + 1);

  if (state->config == NULL && (state->config = hr_s3_config_new (&settings, error)) == NULL)
    return FALSE;
  if (state->http == NULL)
    state->http = hr_http_new (&options, error);
  return state->http != NULL;
}

static gsize
count_wanted (const Letter *letter, gsize bytes)
{
  if (letter->length < 0 && letter->size >= 0 && !is_compressed (letter))
    return (gsize)MIN ((gint64)bytes, letter->size - letter->byte);
  return bytes;
}

static Read *
read_new (State *state, const Letter *letter, gsize bytes, GError **error)
{
  g_auto (HrS3Uri) uri = { 0 };
  Read *read;

  if (!need_client (state, error) || !hr_s3_uri_parse (&uri, letter->uri, error))
    return NULL;
  if (letter->size >= 0 && letter->byte + MAX (letter->length, 1) > letter->size) {
    fail_end (letter, error);
    return NULL;
  }
  read = g_new0 (Read, 1);
  read->request = hr_s3_get (state->config, uri.bucket, uri.key);
  read->request->done = read_done;
  read->request->user_data = read;
  bytes = count_wanted (letter, bytes);
  if (letter->byte > 0 || letter->size != (gint64)bytes)
    hr_http_request_set_range (read->request, letter->byte, letter->byte + (gint64)bytes - 1);
  hr_http_request_set_identity (read->request, letter->identity, letter->size);
  hr_http_submit (state->http, read->request);
  return read;
}

static gsize
first_bytes (const Letter *letter)
{
  return letter->length >= 0 ? (gsize)MAX (letter->length, 1) : FIRST_BYTES;
}

static gboolean
look_ahead (State *state, GError **error)
{
  guint ahead = hr_out_is_serial (state->out) ? 0 : (guint)state->self->read_ahead;

  while (state->opened < state->letters->len && state->opened <= state->next + ahead) {
    const Letter *letter = state->letters->pdata[state->opened];
    Read *read = NULL;

    if (is_s3 (letter) && !is_compressed (letter)
        && (read = read_new (state, letter, first_bytes (letter), error)) == NULL) {
      put_in_front (state, letter, error);
      return FALSE;
    }
    g_queue_push_tail (&state->reads, read);
    state->opened++;
  }
  return TRUE;
}

static HrMemory *
wait_for (State *state, Read *read, gsize *size, GError **error)
{
  while (read->request != NULL) {
    hr_out_answer (state->out);
    if (!hr_http_poll_or_stop (state->http, hr_out_get_wake_fd (state->out), HR_POLL_MS, error))
      return NULL;
  }
  if (read->error != NULL) {
    g_propagate_error (error, g_steal_pointer (&read->error));
    return NULL;
  }
  *size = read->received;
  return read->body != NULL ? g_steal_pointer (&read->body) : hr_memory_new (1);
}

/* ---- files ---- */

static HrMemory *
read_file (State *state, const Letter *letter, gsize bytes, gsize *size, GError **error)
{
  g_autofree char *path = hr_file_path (letter->uri, error), *identity = NULL;
  HrMemory *memory = NULL;
  struct stat info;
  gssize n = 1;
  int fd;

  if (path == NULL || (fd = hr_file_open (path, NULL, error)) < 0)
    return NULL;
  identity = fstat (fd, &info) == 0 ? hr_file_identity (&info) : NULL;
  if (letter->identity != NULL && g_strcmp0 (identity, letter->identity) != 0) {
    fail_changed (letter, identity != NULL ? identity : "no regular file", error);
  } else {
    memory = hr_memory_new (MAX (bytes, 1));
    for (*size = 0; n > 0 && *size < bytes; *size += (gsize)MAX (n, 0))
      n = hr_file_read (fd, path, letter->byte + (gint64)*size, memory->data + *size, bytes - *size,
                        hr_out_get_wake_fd (state->out), error);
    if (n < 0)
      g_clear_pointer (&memory, hr_memory_unref);
  }
  close (fd);
  return memory;
}

/* ---- compressed objects: their text is read from its beginning, on to each next letter. One that
 * is needed once more, or from further in front, is expanded into a file ---- */

/* bytes of one, as it is stored */
typedef struct {
  Letter stored; /* about no line, but those bytes; borrows */
  Read *read;    /* S3 */
  HrMemory *memory;
  gsize size;
} Part;

static void
part_close (gpointer data, gpointer handle)
{
  Part *part = handle;

  read_free (data, part->read);
  hr_memory_unref (part->memory);
  g_free (part);
}

static gpointer
part_open (gpointer data, const HrObject *object, gint64 start, gint64 end, GError **error)
{
  Part *part = g_new0 (Part, 1);

  part->stored = (Letter){ .uri = object->uri,
                           .byte = start,
                           .length = end - start,
                           .size = object->size,
                           .identity = object->etag };
  if (!is_s3 (&part->stored)
      || (part->read = read_new (data, &part->stored, (gsize)(end - start), error)) != NULL)
    return part;
  part_close (data, part);
  return NULL;
}

static gssize
part_read (gpointer data, gpointer handle, gint64 offset, guint8 *into, gsize size, GError **error)
{
  Part *part = handle;
  gsize at = (gsize)(offset - part->stored.byte), n;

  if (part->memory == NULL && part->read != NULL)
    part->memory = wait_for (data, part->read, &part->size, error);
  else if (part->memory == NULL)
    part->memory = read_file (data, &part->stored, (gsize)part->stored.length, &part->size, error);
  if (part->memory == NULL)
    return -1;
  n = at < part->size ? MIN (size, part->size - at) : 0;
  memcpy (into, part->memory->data + at, n);
  return (gssize)n;
}

static void
text_close (State *state)
{
  Text *text = g_steal_pointer (&state->text);

  if (text == NULL)
    return;
  if (text->part != NULL)
    hr_expander_funcs.close (state->expander, text->part);
  g_ref_string_release (text->object.uri);
  g_free (text->object.etag);
  g_free (text);
}

static gboolean
text_open (State *state, const Letter *letter, GError **error)
{
  static const HrLineSourceFuncs funcs = { part_open, part_read, part_close };
  Text *text = state->text;

  if (text != NULL && text->object.uri == letter->uri && text->object.stored == letter->size
      && g_strcmp0 (text->object.etag, letter->identity) == 0 && text->at <= letter->byte)
    return TRUE;
  text_close (state);
  if (letter->size < 0) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_READ,
                 "%s is compressed, and the letter does not tell its size; run over it again, or "
                 "choose others by kind=",
                 letter->uri);
    return FALSE;
  }
  if (state->expander == NULL) {
    state->expander = hr_expander_new (&funcs, state, PART_BYTES, state->self->max_expansion);
    state->expanded = g_hash_table_new (NULL, NULL);
  }
  state->text = text = g_new0 (Text, 1);
  text->object = (HrObject){ .uri = g_ref_string_acquire (letter->uri),
                             .key = letter->uri,
                             .size = -1,
                             .etag = g_strdup (letter->identity),
                             .stored = letter->size };
  if (!g_hash_table_add (state->expanded, letter->uri)
      && hr_expander_keep (state->expander, state->out, &text->object, error) < 0)
    return FALSE;
  text->part = hr_expander_funcs.open (state->expander, &text->object, 0, -1, error);
  return text->part != NULL;
}

static HrMemory *
read_text (State *state, const Letter *letter, gsize bytes, gsize *size, GError **error)
{
  g_autoptr (HrMemory) memory = hr_memory_new (MAX (bytes, 1));
  gssize n = 1;

  if (!text_open (state, letter, error))
    return NULL;
  for (*size = 0; n > 0 && *size < bytes; *size += (gsize)MAX (n, 0)) {
    hr_out_answer (state->out);
    n = hr_expander_funcs.read (state->expander, state->text->part, letter->byte + (gint64)*size,
                                memory->data + *size, bytes - *size, error);
  }
  if (n >= 0) {
    state->text->at = letter->byte + (gint64)*size;
    return g_steal_pointer (&memory);
  }
  text_close (state);
  return NULL;
}

/* ---- a line ---- */

/* takes @first, what has been asked for ahead */
static HrMemory *
read_bytes (State *state, const Letter *letter, Read *first, gsize bytes, gsize *size,
            GError **error)
{
  HrMemory *memory;

  if (is_compressed (letter))
    return read_text (state, letter, bytes, size, error);
  if (!is_s3 (letter))
    return read_file (state, letter, bytes, size, error);
  if (first == NULL && (first = read_new (state, letter, bytes, error)) == NULL)
    return NULL;
  memory = wait_for (state, first, size, error);
  read_free (state, first);
  return memory;
}

/* takes @first. @length: of the line, without its end; of one over the limit the beginning is there
 */
static HrMemory *
read_line (State *state, const Letter *letter, Read *first, gsize limit, gint64 *length,
           GError **error)
{
  gsize bytes = first_bytes (letter);

  if (letter->length >= 0 && (gsize)letter->length > limit) {
    *length = letter->length;
    read_free (state, first);
    return hr_memory_new (1); /* jsonlparse refuses it for its length */
  }
  for (;; bytes *= 2, first = NULL) {
    gsize size, wanted = count_wanted (letter, bytes);
    HrMemory *memory = read_bytes (state, letter, first, bytes, &size, error);
    const guint8 *end;

    if (memory == NULL)
      return NULL;
    if (letter->length >= 0) {
      *length = letter->length;
      if ((gint64)size >= letter->length)
        return memory;
      hr_memory_unref (memory);
      fail_end (letter, error);
      return NULL;
    }
    end = memchr (memory->data, '\n', size);
    if (end != NULL || size < wanted || wanted < bytes || size > limit) {
      *length = end != NULL ? end - memory->data : (gssize)size;
      if (*length > 0 && memory->data[*length - 1] == '\r')
        --*length;
      return memory;
    }
    hr_memory_unref (memory);
  }
}

/* a block of one line, which stands where the sample stood */
static gboolean
give (State *state, const Letter *letter, const HrMemory *text, gint64 length, gsize limit,
      GError **error)
{
  gint64 kept = MIN (length, (gint64)limit + 1), shape = MAX (kept, 1);
  HrMemory *memory = hr_out_alloc (state->out, "lines", (gsize)shape, error);
  HrBuffer *block;
  HrRows *rows;
  HrRow row = { .uri = letter->uri,
                .root = letter->root,
                .length = (gsize)kept,
                .bytes = length,
                .byte = letter->byte,
                .line = letter->line,
                .place = letter->place };

  if (memory == NULL)
    return FALSE;
  memset (memory->data, ' ', (gsize)shape);
  memcpy (memory->data, text->data, MIN ((gsize)kept, text->size));
  hr_out_count_copy (state->out, (gsize)kept);
  rows = hr_rows_new ();
  hr_rows_add (rows, &row);
  block = hr_buffer_new ();
  block->epoch = letter->epoch;
  block->place = letter->place;
  hr_buffer_set_origin (
      block, hr_origin_new (letter->uri, letter->root, letter->byte, length, letter->line));
  hr_buffer_set_tensor (block, "lines", hr_tensor_new (memory, 0, HR_UINT8, 1, &shape));
  if (length > (gint64)limit) {
    g_autofree char *shown = g_strdup_printf ("%" G_GSIZE_FORMAT, limit);

    hr_buffer_set_string (block, "line-limit", shown);
  }
  hr_buffer_set_rows (block, rows);
  hr_out_push (state->out, block);
  return TRUE;
}

static HrFlow
deadlettersrc_create (gconstpointer selfp, gpointer worker, HrOut *out, GError **error)
{
  const Deadlettersrc *self = selfp;
  State *state = worker;
  const Letter *letter;
  g_autoptr (HrMemory) text = NULL;
  gsize limit = hr_line_limit (out, 0);
  gint64 length = 0;

  state->self = self;
  state->out = out;
  if (state->letters == NULL)
    state->letters = letters_read (self->location, (const char *const *)self->kind, error);
  if (state->letters == NULL)
    return HR_FLOW_ERROR;
  if (state->next == state->letters->len)
    return HR_FLOW_END;
  if (!look_ahead (state, error))
    return HR_FLOW_ERROR;
  letter = state->letters->pdata[state->next++];
  text = read_line (state, letter, g_queue_pop_head (&state->reads), limit, &length, error);
  if (state->http != NULL)
    hr_http_metrics_publish (state->metrics, state->http);
  if (text == NULL) {
    put_in_front (state, letter, error);
    return HR_FLOW_ERROR;
  }
  return give (state, letter, text, length, limit, error) ? HR_FLOW_MORE : HR_FLOW_ERROR;
}

static gboolean
deadlettersrc_worker_start (gconstpointer self G_GNUC_UNUSED, gpointer shared, gpointer worker,
                            GError **error G_GNUC_UNUSED)
{
  ((State *)worker)->metrics = shared;
  return TRUE;
}

static void
deadlettersrc_worker_stop (gconstpointer self G_GNUC_UNUSED, gpointer worker)
{
  State *state = worker;

  while (!g_queue_is_empty (&state->reads))
    read_free (state, g_queue_pop_head (&state->reads));
  text_close (state);
  g_clear_pointer (&state->expander, hr_expander_free);
  g_clear_pointer (&state->expanded, g_hash_table_unref);
  g_clear_pointer (&state->http, hr_http_free);
  g_clear_pointer (&state->config, hr_s3_config_unref);
  g_clear_pointer (&state->letters, g_ptr_array_unref);
}

static guint64
deadlettersrc_waits_for (gconstpointer self G_GNUC_UNUSED, gpointer worker, GString *into)
{
  State *state = worker;

  return state->http != NULL ? hr_http_describe (state->http, into) : 0;
}

static void
deadlettersrc_metrics (gconstpointer self G_GNUC_UNUSED, gpointer shared, JsonBuilder *into)
{
  hr_http_metrics_add (shared, into);
}

/* a kind that does not exist would choose nothing, and say nothing */
static gboolean
deadlettersrc_check (gconstpointer selfp, GError **error)
{
  const Deadlettersrc *self = selfp;

  for (guint i = 0; self->kind != NULL && self->kind[i] != NULL; i++) {
    gboolean known = FALSE;

    for (int k = 0; k < HR_N_DATA_ERRORS; k++)
      known = known || strcmp (self->kind[i], hr_data_error_kind (k)) == 0;
    if (!known) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_BAD_VALUE,
                   "kind=%s: there is no such kind of error; docs/errors.md lists them",
                   self->kind[i]);
      return FALSE;
    }
  }
  return TRUE;
}

static const char *const examples[] = {
  "deadlettersrc location=tests/data/letters/none.jsonl ! jsonlparse ! fakesink", NULL
};

HR_ELEMENT (
    deadlettersrc, Deadlettersrc, .summary = "Read those samples again that a run has skipped",
    .description =
        "Reads just the lines that a file of dead letters names, from where they were read "
        "first (files, S3), in the order of the letters. The objects must be the same; what "
        "their records link to may have been repaired. Each sample stands where it stood "
        "in the run, so what depends on its place, or on its epoch, is the same as well. "
        "Gives one line at a time: field \"lines\", uint8 [n]. All ranks get all of them, "
        "and there is no checkpoint.",
    .examples = examples, .gives = "lines", .shared_size = sizeof (HrHttpMetrics),
    .worker_size = sizeof (State), .props = props, .waits = TRUE, .network = TRUE,
    .check = deadlettersrc_check, .worker_start = deadlettersrc_worker_start,
    .worker_stop = deadlettersrc_worker_stop, .create = deadlettersrc_create,
    .metrics = deadlettersrc_metrics, .waits_for = deadlettersrc_waits_for)
