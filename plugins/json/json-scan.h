/* json-scan.h: a strict check of one line of JSON, which notes where its values are */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define HR_JSON_MAX_DEPTH 1024

typedef enum {
  HR_JSON_NULL,
  HR_JSON_FALSE,
  HR_JSON_TRUE,
  HR_JSON_NUMBER,
  HR_JSON_STRING,
  HR_JSON_ARRAY,
  HR_JSON_OBJECT
} HrJsonType;

/* of strings: holds a backslash; holds a \u0000, which no C string can */
enum { HR_JSON_ESCAPED = 1 << 0, HR_JSON_NUL = 1 << 1 };

/**
 * HrJsonValue:
 * @start: offset of its text; of a string: behind the quote
 * @end: offset of the text's end; of a string: of the closing quote
 * @next: index of what follows it and all it holds
 *
 * Values lie in the order of the text: an array is followed by its items, an object by name, value,
 * name, value …. So index 0 is the line's own value, and never an item of another.
 */
typedef struct {
  guint32 start, end, next;
  guint8 type;  /* HrJsonType */
  guint8 flags; /* strings */
} HrJsonValue;

/**
 * HrJson:
 * @text: the line (transfer none): it must live as long as its values are looked at
 *
 * Zeroed at first; used for one line after the other, it keeps its room.
 */
typedef struct {
  const char *text;
  HrJsonValue *values;
  guint n_values;
  guint n_room;
} HrJson;

/**
 * hr_json_scan:
 * @json: where to put the values
 * @text: one line, without its end; need not end in NUL
 * @size: its bytes, less than 4 GiB
 * @max_depth: how many arrays and objects may stand inside each other, at most %HR_JSON_MAX_DEPTH
 * @offset: (out) (optional): of the first wrong byte
 * @error: #HR_DATA_ERROR: BAD_ENCODING for what is no UTF-8 and for half surrogate pairs, BAD_JSON
 *   for the rest; the message tells the column (bytes, the first is 1) and what was expected
 *
 * RFC 8259 and nothing more, but that one byte-order mark in front is white space. Numbers of any
 * size are text here. Names may be repeated; see hr_json_member().
 */
gboolean hr_json_scan (HrJson *json, const char *text, gsize size, guint max_depth, gsize *offset,
                       GError **error);

void hr_json_clear (HrJson *json);

G_END_DECLS
