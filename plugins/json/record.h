/* record.h: records of every common form, turned into one: turns of text and images */
#pragma once
#include "json-value.h"

G_BEGIN_DECLS

typedef enum {
  HR_STRIP_QWEN, /* white space around the texts between placeholders goes, in user turns */
  HR_STRIP_NONE
} HrStrip;

typedef enum {
  HR_MISSING_ERROR,
  HR_MISSING_PREPEND /* the record's only image goes in front of the first user turn */
} HrMissingPlaceholder;

typedef enum {
  HR_VIDEO_ERROR,
  HR_VIDEO_SKIP /* such records are left out */
} HrVideo;

typedef enum {
  HR_LATE_SYSTEM_ERROR,
  HR_LATE_SYSTEM_DROP, /* as the template would */
  HR_LATE_SYSTEM_KEEP
} HrLateSystem;

typedef struct {
  HrStrip strip;
  HrMissingPlaceholder missing_placeholder;
  HrVideo video;
  HrLateSystem late_system;
  guint64 max_images; /* 0: any number */
} HrRecordRules;

/**
 * HrRecord:
 * @conversation: {"turns": [{"role": "system"|"user"|"assistant", "train": bool, "parts":
 *   [{"text": string} | {"image": k}]}]}, k counting the images in the order of their places
 * @links: (element-type utf8): link of image k as written; long "data:" links are cut, they are for
 *   people
 * @targets: (element-type utf8): what to resolve: the link, or a "data:" link where the record
 *   holds the bytes
 * @left_out: the record has a video and the rules leave it out; the rest is not filled
 */
typedef struct {
  JsonNode *conversation;
  GPtrArray *links;
  GPtrArray *targets;
  gboolean left_out;
} HrRecord;

/**
 * hr_record_read:
 * @json: a checked line
 * @root: the record in it: 0, or an item of a line that is a list
 * @rules: how to read what is not the same everywhere
 * @record: (out caller-allocates): the result; clear it with hr_record_clear(), also after errors
 * @error: #HR_DATA_ERROR: BAD_RECORD, NO_ASSISTANT_TURN, PLACEHOLDER_MISMATCH or UNSUPPORTED; the
 *   message names the field
 */
gboolean hr_record_read (const HrJson *json, guint root, const HrRecordRules *rules,
                         HrRecord *record, GError **error);
void hr_record_clear (HrRecord *record);

/* (transfer full) (nullable): the record's "id", as written, whatever its type; %NULL for none, and
 * for one that holds \u0000, which hr_record_read() refuses */
char *hr_record_dup_id (const HrJson *json, guint root);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HrRecord, hr_record_clear)

G_END_DECLS
