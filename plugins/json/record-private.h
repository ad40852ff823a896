/* record-private.h: what the files that read records share */
#pragma once
#include "hr-error.h"
#include "record.h"

G_BEGIN_DECLS

/**
 * HrPlace: where in a record something stands, for messages: "messages[1].content[2].text",
 * "images[0].path", "history[3][1]". -1 and %NULL where there is none. Texts are made of it only
 * when something is wrong.
 */
typedef struct {
  const char *field;
  int index;
  const char *key;
  int part;
  const char *member;
} HrPlace;

#define HR_PLACE(f, i, k, p, m) (&(HrPlace){ (f), (i), (k), (p), (m) })

/* (transfer full) */
char *hr_place_name (const HrPlace *place);

/* "PLACE …"; always FALSE */
gboolean hr_place_fail (GError **error, HrDataError code, const HrPlace *place, const char *format,
                        ...) G_GNUC_PRINTF (4, 5);
/* BAD_RECORD: "PLACE is a number, not a string" */
gboolean hr_record_fail_type (const HrJson *json, guint value, const HrPlace *place,
                              const char *wanted, GError **error);
/* refuses what is no string, and \u0000 in one */
gboolean hr_record_check_text (const HrJson *json, guint value, const HrPlace *place,
                               GError **error);

/* ---- record-media.c ---- */

/* an image's link as it stands in the record: indices of strings, 0 if none */
typedef struct {
  guint link;
  guint bytes; /* base64; a link beside it is only its name */
} HrMediaRef;

/* @value: a string, {"path": string}, {"url": string} or {"bytes": base64 | null, "path": string |
 * null} */
gboolean hr_media_ref_read (const HrJson *json, guint value, const HrPlace *place, HrMediaRef *ref,
                            GError **error);
/* the image becomes the record's next */
void hr_media_ref_append (const HrJson *json, const HrMediaRef *ref, HrRecord *record);
/* appends the record's "image" or "images" to @pool, an array of HrMediaRef */
gboolean hr_media_pool_read (const HrJson *json, guint root, GArray *pool, GError **error);
/* the name of the field that holds a video, %NULL if there is none */
gboolean hr_media_find_video (const HrJson *json, guint root, const char **field, GError **error);

/* ---- record-text.c ---- */

typedef enum { HR_PIECE_TEXT, HR_PIECE_IMAGE, HR_PIECE_VIDEO } HrPiece;

/**
 * hr_text_next_piece:
 * @rest: (inout): what is left of the text
 * @length: (inout): its bytes
 * @piece: (out): the text found, for %HR_PIECE_TEXT; may be empty
 * @piece_length: (out): its bytes
 *
 * Cuts a text at its placeholders. Returns: %FALSE behind the last piece
 */
gboolean hr_text_next_piece (const char **rest, gsize *length, HrPiece *kind, const char **piece,
                             gsize *piece_length);
/* white space at both ends as Python's str.strip() knows it */
void hr_text_strip (const char **text, gsize *length);

/* ---- record-turns.c ---- */

typedef enum { HR_ROLE_SYSTEM, HR_ROLE_USER, HR_ROLE_ASSISTANT } HrRole;

/**
 * HrReader: a record while it is read
 * @root: the record in @json
 * @system: the record's own system text, 0 if none: the first turn, unless the turns have one
 * @pool: (element-type HrMediaRef): what placeholders draw on, from left to right
 * @placeholders: for images, and parts without a link of their own
 */
typedef struct {
  const HrJson *json;
  guint root;
  const HrRecordRules *rules;
  HrRecord *record;
  GError **error;
  JsonArray *turns;
  JsonArray *spare; /* the parts of turns that are dropped */
  JsonObject *first_user;
  guint system;
  GArray *pool;
  guint placeholders;
  guint video_placeholders;
  gboolean has_answer;
  gboolean system_has_image;
} HrReader;

/* opens a turn; puts the record's own system text in front of the first one. Returns: (transfer
 * none): its parts, NULL with the error if there may be no such turn here (never for users and
 * assistants). What the parts of a turn that is dropped hold is checked all the same */
JsonArray *hr_reader_begin_turn (HrReader *reader, HrRole role, gboolean train,
                                 const HrPlace *place);
/* an empty text adds nothing */
void hr_reader_add_text (JsonArray *parts, const char *text, gsize length);
/* an image with a link of its own */
void hr_reader_add_image (HrReader *reader, JsonArray *parts, const HrMediaRef *ref);
/* the pool's next image; that there are enough is checked when both counts are known */
void hr_reader_add_pool_image (HrReader *reader, JsonArray *parts);
/* a text in which placeholders stand for images */
void hr_reader_add_placeholders (HrReader *reader, JsonArray *parts, HrRole role, const char *text);
/* the string @value: with placeholders, unless an assistant says it */
gboolean hr_reader_add_string (HrReader *reader, JsonArray *parts, HrRole role, guint value,
                               const HrPlace *place);
/* a turn of one string */
gboolean hr_reader_add_turn (HrReader *reader, HrRole role, gboolean train, guint value,
                             const HrPlace *place);
/* the record has a video: TRUE with left_out set, or FALSE with the error */
gboolean hr_reader_found_video (HrReader *reader, const HrPlace *place);

/* ---- record-forms.c ---- */

/* all turns, in the first form that the record has */
gboolean hr_reader_read_forms (HrReader *reader);

G_END_DECLS
