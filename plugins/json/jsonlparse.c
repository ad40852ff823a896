/* jsonlparse.c: blocks of lines become samples: a conversation and the links of its images */
#include <string.h>
#include "headrace.h"
#include "hr-line-table.h"
#include "media-link.h"
#include "record.h"

typedef struct {
  char **keep;
  gint strip;
  gint missing_placeholder;
  gint video;
  gint late_system;
  char *media_base;
  guint64 max_line_bytes;
  guint64 max_depth;
  guint64 max_images;
} Jsonlparse;

/* in the order of the enumerations in record.h */
static const char *const strips[] = { "qwen", "none", NULL };
static const char *const missing[] = { "error", "prepend", NULL };
static const char *const videos[] = { "error", "skip", NULL };
static const char *const late[] = { "error", "drop", "keep", NULL };

static const HrProp props[] = {
  HR_PROP_STRV (Jsonlparse, keep, NULL,
                "Fields of the record to pass on under their own names: texts as strings, all else "
                "as JSON, and null where a record has none",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Jsonlparse, strip, strips, HR_STRIP_QWEN,
                "White space around the texts between placeholders, in user turns that are plain "
                "strings: qwen removes it, none keeps it",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Jsonlparse, missing_placeholder, missing, HR_MISSING_ERROR,
                "What to do with a record's only image if no <image> says where it belongs: error, "
                "or prepend it to the first user turn",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Jsonlparse, video, videos, HR_VIDEO_ERROR,
                "What to do with records that show a video: error, or skip them without one",
                .flags = HR_PROP_STREAM),
  HR_PROP_ENUM (Jsonlparse, late_system, late, HR_LATE_SYSTEM_ERROR,
                "What to do with a system turn that is not the first one: error; drop it, as the "
                "chat template of Qwen3-VL does; or keep it, for a template that shows it, such as "
                "Qwen2-VL's",
                .flags = HR_PROP_STREAM),
  HR_PROP_STRING (
      Jsonlparse, media_base, NULL,
      "Folder that relative links start from and may not leave; if unset they start from "
      "the JSONL's own folder and may not leave the location given to the source",
      .flags = HR_PROP_STREAM),
  HR_PROP_SIZE (Jsonlparse, max_line_bytes, 1, 2 * HR_GIB - 1, 16 * HR_MIB,
                "Longest line, without its end; longer ones are bad samples and are never held in "
                "memory as a whole",
                .flags = HR_PROP_STREAM),
  HR_PROP_UINT (Jsonlparse, max_depth, 1, HR_JSON_MAX_DEPTH, 128,
                "How many lists and objects may stand inside each other", .flags = HR_PROP_STREAM,
                .unit = "levels"),
  HR_PROP_UINT (Jsonlparse, max_images, 0, G_MAXUINT32, 1024,
                "Most images of one record; one with more is a bad sample (bad-record); 0: any",
                .flags = HR_PROP_STREAM, .unit = "images"),
  HR_PROP_END
};

typedef struct {
  HrJson json;
  char *base;       /* media-base; NULL: each block's own */
  GRefString *root; /* the same */
} State;

/* a block of lines while it is read */
typedef struct {
  const Jsonlparse *self;
  State *state;
  HrOut *out;
  GRefString *uri;
  GRefString *root;
  char *base;
} Block;

static gboolean
jsonlparse_check (gconstpointer selfp, GError **error)
{
  static const char *const own[] = { "conversation", "images", "image_links", "", NULL };
  /* what nobody but elements behind it gives: a record's own would stand in a trainer's way */
  static const char *const later[] = { "image_sizes", "image_targets",     "image_grid_thw",
                                       "image_cu",    "mm_token_type_ids", "pixel_values",
                                       "cu_seqlens",  "max_length_q",      "max_length_k",
                                       NULL };
  const Jsonlparse *self = selfp;

  for (guint i = 0; self->keep != NULL && self->keep[i] != NULL; i++)
    if (g_strv_contains (own, self->keep[i])) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "keep=%s: jsonlparse gives a field of that name itself", self->keep[i]);
      return FALSE;
    } else if (g_strv_contains (later, self->keep[i])) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "keep=%s: elements behind it give a field of that name; call the records' own "
                   "something else",
                   self->keep[i]);
      return FALSE;
    }
  return TRUE;
}

static gboolean
jsonlparse_worker_start (gconstpointer selfp, G_GNUC_UNUSED gpointer shared, gpointer worker,
                         G_GNUC_UNUSED GError **error)
{
  const Jsonlparse *self = selfp;
  State *state = worker;

  if (self->media_base != NULL) {
    state->base = hr_media_link_folder (self->media_base);
    state->root = g_ref_string_new (state->base);
  }
  return TRUE;
}

static void
jsonlparse_worker_stop (G_GNUC_UNUSED gconstpointer self, gpointer worker)
{
  State *state = worker;

  hr_json_clear (&state->json);
  g_clear_pointer (&state->base, g_free);
  g_clear_pointer (&state->root, g_ref_string_release);
}

/* ---- one record ---- */

static void
set_images (const Block *block, HrBuffer *sample, const HrRecord *record)
{
  HrList *images = hr_list_new (record->links->len), *links = hr_list_new (record->links->len);

  for (guint i = 0; i < record->links->len; i++) {
    const char *target = record->targets->pdata[i];

    if (g_ascii_strncasecmp (target, "data:", 5) == 0) { /* may be long: not copied once more */
      hr_list_append_string (images, target);
    } else {
      g_autofree char *uri = hr_media_link_resolve (block->base, target);

      hr_list_append_string (images, uri);
    }
    hr_list_append_string (links, record->links->pdata[i]);
  }
  hr_buffer_set_list (sample, "images", images);
  hr_buffer_set_list (sample, "image_links", links);
}

static gboolean
set_kept (const Block *block, guint root, HrBuffer *sample, GError **error)
{
  const HrJson *json = &block->state->json;
  char **keep = block->self->keep;

  for (guint i = 0; keep != NULL && keep[i] != NULL; i++) {
    const char *name = g_intern_string (keep[i]);
    guint value = hr_json_member (json, root, name);
    JsonNode *node = value != 0 ? hr_json_to_node (json, value) : json_node_new (JSON_NODE_NULL);

    if (node == NULL) {
      hr_set_data_error (error, HR_DATA_ERROR_BAD_RECORD,
                         "%s holds \\u0000 (NUL), which no text may", name);
      return FALSE;
    }
    if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING) {
      hr_buffer_set_string (sample, name, json_node_get_string (node));
      json_node_unref (node);
    } else {
      hr_buffer_set_json (sample, name, node);
    }
  }
  return TRUE;
}

/* TRUE with *@sample NULL: it is to be left out */
static gboolean
read_record (const Block *block, guint root, HrBuffer **sample, GError **error)
{
  const Jsonlparse *self = block->self;
  HrRecordRules rules = { self->strip, self->missing_placeholder, self->video, self->late_system,
                          self->max_images };
  g_auto (HrRecord) record = { NULL, NULL, NULL, FALSE };

  if (!hr_record_read (&block->state->json, root, &rules, &record, error))
    return FALSE;
  if (record.left_out)
    return TRUE;
  *sample = hr_buffer_new ();
  hr_buffer_set_json (*sample, "conversation", g_steal_pointer (&record.conversation));
  set_images (block, *sample, &record);
  if (!set_kept (block, root, *sample, error)) {
    g_clear_pointer (sample, hr_buffer_unref);
    return FALSE;
  }
  return TRUE;
}

/* TRUE with *@sample NULL: it is to be left out. A list of one record is that record. */
static gboolean
read_line (const Block *block, const char *line, gsize length, HrOrigin *origin, HrBuffer **sample,
           GError **error)
{
  HrJson *json = &block->state->json;
  guint root = 0;

  if (!hr_json_scan (json, line, length, block->self->max_depth, NULL, error))
    return FALSE;
  if (hr_json_type (json, 0) == HR_JSON_ARRAY && hr_json_first (json, 0) != 0) {
    root = hr_json_first (json, 0);
    if (hr_json_next (json, 0, root) != 0) {
      hr_set_data_error (error, HR_DATA_ERROR_UNSUPPORTED,
                         "the line is a list of several records; a line is one place in the order "
                         "of samples: write each on a line of its own, as jq -c '.[]?' does, and "
                         "let batch mode=packed pack them");
      return FALSE;
    }
  }
  origin->id = hr_record_dup_id (json, root);
  return read_record (block, root, sample, error);
}

/* takes @origin */
static gboolean
give_line (const Block *block, const char *line, gsize length, HrOrigin *origin, GError **fatal)
{
  HrBuffer *sample = NULL;
  GError *error = NULL;

  if (!read_line (block, line, length, origin, &sample, &error))
    return hr_out_reject (block->out, NULL, origin, error, fatal);
  if (sample == NULL) {
    hr_out_drop (block->out, NULL, origin, NULL);
    return TRUE;
  }
  hr_buffer_set_origin (sample, origin);
  hr_out_push (block->out, sample);
  return TRUE;
}

static gboolean
reject_long_line (const Block *block, HrOrigin *origin, const char *limit, GError **fatal)
{
  g_autofree char *own = g_strdup_printf ("%" G_GUINT64_FORMAT, block->self->max_line_bytes);
  GError *error = NULL;

  hr_set_data_error (&error, HR_DATA_ERROR_LINE_TOO_LONG,
                     "the line has %" G_GINT64_FORMAT " bytes, the limit is max-line-bytes=%s",
                     origin->length, limit != NULL ? limit : own);
  return hr_out_reject (block->out, NULL, origin, error, fatal);
}

/* ---- a block of them ---- */

/* lines end at LF alone; a CR in front of it is white space like any other, but no part of the
 * line's length. @byte and @number are of the first line, -1 where unknown. */
static gboolean
read_lines (const Block *block, const char *text, gsize size, gint64 byte, gint64 number,
            GError **fatal)
{
  const char *end = text + size, *next;

  for (const char *p = text; p < end; p = next, number += number >= 0) {
    const char *stop = memchr (p, '\n', end - p);
    gsize length = (stop != NULL ? stop : end) - p;
    HrOrigin *origin;
    gboolean go_on;

    next = stop != NULL ? stop + 1 : end;
    if (length > 0 && p[length - 1] == '\r')
      length--;
    if (hr_line_is_blank (p, length))
      continue;
    if (hr_out_is_closed (block->out))
      return TRUE;
    origin =
        hr_origin_new (block->uri, block->root, byte >= 0 ? byte + (p - text) : -1, length, number);
    if (length > block->self->max_line_bytes)
      go_on = reject_long_line (block, origin, NULL, fatal);
    else
      go_on = give_line (block, p, length, origin, fatal);
    if (!go_on)
      return FALSE;
  }
  return TRUE;
}

/* the lines that the source wants samples of, in its order; they may be of several objects */
static gboolean
read_rows (Block *block, const HrRows *rows, const char *text, const char *limit, GError **fatal)
{
  g_autofree char *base = NULL;
  const GRefString *of = NULL;
  GRefString *root = block->state->root; /* media-base */

  for (guint i = 0; i < hr_rows_get_length (rows); i++) {
    const HrRow *row = hr_rows_get (rows, i);
    HrOrigin *origin;
    gboolean go_on;

    if (hr_out_is_closed (block->out))
      return TRUE;
    if (block->state->base == NULL && row->uri != of) {
      g_free (base);
      block->base = base = hr_media_link_base (row->uri);
      of = row->uri;
    }
    origin =
        hr_origin_new (row->uri, root != NULL ? root : row->root, row->byte, row->bytes, row->line);
    if (row->bytes > (gint64)MIN (block->self->max_line_bytes, row->length))
      /* perhaps the source has cut it: then the rest was never in memory */
      go_on = reject_long_line (block, origin, limit, fatal);
    else
      go_on = give_line (block, text + row->offset, row->length, origin, fatal);
    if (!go_on)
      return FALSE;
  }
  return TRUE;
}

static gboolean
jsonlparse_process (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out, GError **error)
{
  State *state = worker;
  HrTensor *lines = hr_buffer_get_tensor (in, "lines");
  HrOrigin *origin = hr_buffer_get_origin (in);
  const char *limit = hr_buffer_get_string (in, "line-limit");
  Block block = { self, state, out, NULL, state->root, state->base };
  g_autofree char *base = NULL;
  gboolean good;

  if (lines == NULL && (limit == NULL || origin == NULL)) {
    /* an application may push anything */
    hr_buffer_unref (in);
    g_set_error (
        error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
        "expected bytes in the field \"lines\": put this element behind a source of lines");
    return FALSE;
  }
  if (origin != NULL) {
    block.uri = origin->uri;
    if (block.root == NULL)
      block.root = origin->root;
  }
  if (hr_buffer_get_rows (in) != NULL) {
    good = read_rows (&block, hr_buffer_get_rows (in), hr_tensor_get_data (lines), limit, error);
    hr_buffer_unref (in);
    return good;
  }
  if (block.base == NULL)
    block.base = base =
        block.uri != NULL ? hr_media_link_base (block.uri) : hr_media_link_folder (".");
  if (limit != NULL && origin != NULL)
    /* the source has cut it there: the rest was never in memory */
    good = reject_long_line (
        &block, hr_origin_new (origin->uri, block.root, origin->byte, origin->length, origin->line),
        limit, error);
  else
    good = read_lines (&block, hr_tensor_get_data (lines), hr_tensor_get_n_bytes (lines),
                       origin != NULL ? origin->byte : 0, origin != NULL ? origin->line : 1, error);
  hr_buffer_unref (in);
  return good;
}

static const char *const examples[] = {
  "filesrc location=tests/data/cases/25-placeholder-mismatch/a.jsonl ! jsonlparse on-error=skip "
  "keep=id ! fakesink",
  NULL
};

HR_ELEMENT (
    jsonlparse, Jsonlparse, .summary = "Read JSON lines as conversations with images",
    .description =
        "Checks every line strictly (RFC 8259, UTF-8), reads the record on it in whichever of the "
        "common forms it is written (docs/records.md), and gives one sample a record: the "
        "conversation as JSON, {\"turns\": [{\"role\", \"train\", \"parts\": [{\"text\"} | "
        "{\"image\": k}]}]}, and the images as a list of strings: image k's file or URI in "
        "\"images\", its link as written, but for secrets, in \"image_links\". Links are resolved "
        "here and followed "
        "by "
        "imagefetch. Bad lines are bad-json, bad-encoding, line-too-long, bad-record, unsupported, "
        "no-assistant-turn or placeholder-mismatch.",
    .examples = examples, .needs = "lines", .gives = "conversation, images:links, image_links",
    .takes = "lines", .worker_size = sizeof (State), .props = props, .parallel = HR_PARALLEL_YES,
    .stamps = TRUE, .check = jsonlparse_check, .worker_start = jsonlparse_worker_start,
    .worker_stop = jsonlparse_worker_stop, .process = jsonlparse_process)
