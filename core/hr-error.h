/* hr-error.h: what can go wrong, in four domains */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define HR_PARSE_ERROR (hr_parse_error_quark ())
#define HR_CORE_ERROR (hr_core_error_quark ())
#define HR_RESOURCE_ERROR (hr_resource_error_quark ())
#define HR_DATA_ERROR (hr_data_error_quark ())

/**
 * HrParseError:
 * @HR_PARSE_ERROR_SYNTAX: the grammar is broken
 * @HR_PARSE_ERROR_UNKNOWN_ELEMENT: no element, or its plugin does not load
 * @HR_PARSE_ERROR_UNKNOWN_PROPERTY: the element or pipeline has no such property
 * @HR_PARSE_ERROR_BAD_VALUE: a value that does not convert
 * @HR_PARSE_ERROR_OUT_OF_RANGE: a value outside its range
 * @HR_PARSE_ERROR_DUPLICATE: a name or a property given twice
 * @HR_PARSE_ERROR_UNKNOWN_NAME: a reference to no element
 * @HR_PARSE_ERROR_LINK: pads: too many, too few, missing, a cycle
 * @HR_PARSE_ERROR_TYPE: a field that is needed is not given
 * @HR_PARSE_ERROR_VARIABLE: ${NAME} without a value
 * @HR_PARSE_ERROR_CONFLICT: settings that exclude each other
 * @HR_PARSE_ERROR_REQUIRED: a property that has no default is not set
 *
 * The pipeline text is wrong. Always found before anything runs.
 */
typedef enum {
  HR_PARSE_ERROR_SYNTAX,
  HR_PARSE_ERROR_UNKNOWN_ELEMENT,
  HR_PARSE_ERROR_UNKNOWN_PROPERTY,
  HR_PARSE_ERROR_BAD_VALUE,
  HR_PARSE_ERROR_OUT_OF_RANGE,
  HR_PARSE_ERROR_DUPLICATE,
  HR_PARSE_ERROR_UNKNOWN_NAME,
  HR_PARSE_ERROR_LINK,
  HR_PARSE_ERROR_TYPE,
  HR_PARSE_ERROR_VARIABLE,
  HR_PARSE_ERROR_CONFLICT,
  HR_PARSE_ERROR_REQUIRED
} HrParseError;

/**
 * HrCoreError:
 * @HR_CORE_ERROR_FAILED: something that has no better code
 * @HR_CORE_ERROR_STOPPED: the pipeline is being stopped: leave, it is not reported
 * @HR_CORE_ERROR_STATE: a call that this state does not allow
 * @HR_CORE_ERROR_FORKED: used in another process than the one that started it
 * @HR_CORE_ERROR_DEADLOCK: the elements wait for each other; the message names the circle
 * @HR_CORE_ERROR_STALLED: nothing has moved for stall-timeout; the message says who waits for what
 * @HR_CORE_ERROR_PLUGIN: a plugin file cannot be used
 * @HR_CORE_ERROR_NO_STEP: nothing has been delivered yet
 *
 * The framework was used wrongly, or a run cannot go on.
 */
typedef enum {
  HR_CORE_ERROR_FAILED,
  HR_CORE_ERROR_STOPPED,
  HR_CORE_ERROR_STATE,
  HR_CORE_ERROR_FORKED,
  HR_CORE_ERROR_DEADLOCK,
  HR_CORE_ERROR_STALLED,
  HR_CORE_ERROR_PLUGIN,
  HR_CORE_ERROR_NO_STEP
} HrCoreError;

/**
 * HrResourceError:
 * @HR_RESOURCE_ERROR_FAILED: something that has no better code
 * @HR_RESOURCE_ERROR_NOT_FOUND: there is no such thing
 * @HR_RESOURCE_ERROR_FORBIDDEN: we may not
 * @HR_RESOURCE_ERROR_READ: reading failed
 * @HR_RESOURCE_ERROR_WRITE: writing failed
 * @HR_RESOURCE_ERROR_CONNECT: nobody could be reached
 * @HR_RESOURCE_ERROR_TIMEOUT: it took too long
 * @HR_RESOURCE_ERROR_NO_MEMORY: there is no memory of that kind left
 * @HR_RESOURCE_ERROR_CHANGED: an object was replaced while it was read
 *
 * A file, socket or service failed; the message holds errno's or HTTP's words.
 */
typedef enum {
  HR_RESOURCE_ERROR_FAILED,
  HR_RESOURCE_ERROR_NOT_FOUND,
  HR_RESOURCE_ERROR_FORBIDDEN,
  HR_RESOURCE_ERROR_READ,
  HR_RESOURCE_ERROR_WRITE,
  HR_RESOURCE_ERROR_CONNECT,
  HR_RESOURCE_ERROR_TIMEOUT,
  HR_RESOURCE_ERROR_NO_MEMORY,
  HR_RESOURCE_ERROR_CHANGED
} HrResourceError;

/**
 * HrDataError:
 * @HR_DATA_ERROR_BAD_JSON: the line is no JSON, or none that may come
 * @HR_DATA_ERROR_BAD_ENCODING: text that is no UTF-8
 * @HR_DATA_ERROR_BAD_RECORD: JSON, but no record of a form that is known
 * @HR_DATA_ERROR_LINE_TOO_LONG: more bytes than the source's limit
 * @HR_DATA_ERROR_NO_ASSISTANT_TURN: a conversation without an answer
 * @HR_DATA_ERROR_PLACEHOLDER_MISMATCH: the text has other images than the list of links
 * @HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT: a text that holds one of the tokenizer's tokens for media
 * @HR_DATA_ERROR_UNSUPPORTED: well formed, and not supported: video, say
 * @HR_DATA_ERROR_MEDIA_NOT_FOUND: a link leads to nothing
 * @HR_DATA_ERROR_MEDIA_FORBIDDEN: the service does not let us read it
 * @HR_DATA_ERROR_MEDIA_UNDECODABLE: no image, or a broken one
 * @HR_DATA_ERROR_MEDIA_TRUNCATED: an image that ends too early
 * @HR_DATA_ERROR_IMAGE_TOO_LARGE: more pixels or bytes than the limit
 * @HR_DATA_ERROR_ASPECT_RATIO: longer than 200 times its width, or the other way round
 * @HR_DATA_ERROR_OVERLONG: more tokens than fit
 * @HR_DATA_ERROR_LINK_REFUSED: a link that may not be followed
 * @HR_DATA_ERROR_NO_LABEL: nothing in it to learn: dropped, never an error
 * @HR_DATA_ERROR_OTHER: for elements whose samples are none of the above
 *
 * A sample is bad. Only these obey `on-error` and `max-errors`. hr_data_error_kind() gives the
 * names that users count and filter by.
 */
typedef enum {
  HR_DATA_ERROR_BAD_JSON,
  HR_DATA_ERROR_BAD_ENCODING,
  HR_DATA_ERROR_BAD_RECORD,
  HR_DATA_ERROR_LINE_TOO_LONG,
  HR_DATA_ERROR_NO_ASSISTANT_TURN,
  HR_DATA_ERROR_PLACEHOLDER_MISMATCH,
  HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT,
  HR_DATA_ERROR_UNSUPPORTED,
  HR_DATA_ERROR_MEDIA_NOT_FOUND,
  HR_DATA_ERROR_MEDIA_FORBIDDEN,
  HR_DATA_ERROR_MEDIA_UNDECODABLE,
  HR_DATA_ERROR_MEDIA_TRUNCATED,
  HR_DATA_ERROR_IMAGE_TOO_LARGE,
  HR_DATA_ERROR_ASPECT_RATIO,
  HR_DATA_ERROR_OVERLONG,
  HR_DATA_ERROR_LINK_REFUSED,
  HR_DATA_ERROR_NO_LABEL,
  HR_DATA_ERROR_OTHER
} HrDataError;

/**
 * HR_N_DATA_ERRORS:
 *
 * How many kinds of bad samples there are.
 */
#define HR_N_DATA_ERRORS (HR_DATA_ERROR_OTHER + 1)

/**
 * hr_parse_error_quark:
 *
 * The domain #HR_PARSE_ERROR.
 *
 * Returns: #HrParseError's domain
 */
GQuark hr_parse_error_quark (void);

/**
 * hr_core_error_quark:
 *
 * The domain #HR_CORE_ERROR.
 *
 * Returns: #HrCoreError's domain
 */
GQuark hr_core_error_quark (void);

/**
 * hr_resource_error_quark:
 *
 * The domain #HR_RESOURCE_ERROR.
 *
 * Returns: #HrResourceError's domain
 */
GQuark hr_resource_error_quark (void);

/**
 * hr_data_error_quark:
 *
 * The domain #HR_DATA_ERROR.
 *
 * Returns: #HrDataError's domain
 */
GQuark hr_data_error_quark (void);

/**
 * hr_data_error_kind:
 * @code: an #HrDataError
 *
 * Names a kind of bad sample.
 *
 * Returns: (transfer none): the kind's name, as in counters and dead letters: "bad-json", …
 */
const char *hr_data_error_kind (int code);

/**
 * hr_set_data_error:
 * @error: (out) (optional): where to put it
 * @code: the kind
 * @format: what is wrong with the sample: the numbers, what was expected, what to do.
 *   Not who and where: the core puts element, file, line and member in front.
 * @...: what the format asks for
 *
 * Sets an error that says what is wrong with a sample.
 */
void hr_set_data_error (GError **error, HrDataError code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

/**
 * hr_data_error_from:
 * @error: (transfer full): of any domain, whose cause is the sample
 * @code: the kind
 *
 * Never set `domain` of an error yourself: one of a bad sample has more in it.
 *
 * Returns: (transfer full): a data error with the same message
 */
GError *hr_data_error_from (GError *error, HrDataError code);

/**
 * hr_data_error_set_member:
 * @error: an #HR_DATA_ERROR
 * @name: (nullable): the link of the image that is bad, as the record has it
 * @index: which of the sample's images, from 0
 *
 * For elements that work on all members of a sample at once: a dead letter tells which was bad. Of
 * elements with `each` the core knows.
 */
void hr_data_error_set_member (GError *error, const char *name, guint index);

G_END_DECLS
