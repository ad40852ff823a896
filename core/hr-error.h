/* hr-error.h: what can go wrong, in four domains */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/*
 * HR_PARSE_ERROR: the pipeline text is wrong. Always found before anything runs.
 * HR_CORE_ERROR: the framework was used wrongly, or a run cannot go on.
 * HR_RESOURCE_ERROR: a file, socket or service failed; the message holds errno's or HTTP's words.
 * HR_DATA_ERROR: a sample is bad. Only these obey `on-error` and `max-errors`.
 */
#define HR_PARSE_ERROR (hr_parse_error_quark ())
#define HR_CORE_ERROR (hr_core_error_quark ())
#define HR_RESOURCE_ERROR (hr_resource_error_quark ())
#define HR_DATA_ERROR (hr_data_error_quark ())

typedef enum {
  HR_PARSE_ERROR_SYNTAX,           /* the grammar is broken */
  HR_PARSE_ERROR_UNKNOWN_ELEMENT,  /* no element, or its plugin does not load */
  HR_PARSE_ERROR_UNKNOWN_PROPERTY, /* the element or pipeline has no such property */
  HR_PARSE_ERROR_BAD_VALUE,        /* a value that does not convert */
  HR_PARSE_ERROR_OUT_OF_RANGE,     /* a value outside its range */
  HR_PARSE_ERROR_DUPLICATE,        /* a name or a property given twice */
  HR_PARSE_ERROR_UNKNOWN_NAME,     /* a reference to no element */
  HR_PARSE_ERROR_LINK,             /* pads: too many, too few, missing, a cycle */
  HR_PARSE_ERROR_TYPE,             /* a field that is needed is not given */
  HR_PARSE_ERROR_VARIABLE,         /* ${NAME} without a value */
  HR_PARSE_ERROR_CONFLICT,         /* settings that exclude each other */
  HR_PARSE_ERROR_REQUIRED          /* a property that has no default is not set */
} HrParseError;

typedef enum {
  HR_CORE_ERROR_FAILED,   /* something that has no better code */
  HR_CORE_ERROR_STOPPED,  /* the pipeline is being stopped: leave, it is not reported */
  HR_CORE_ERROR_STATE,    /* a call that this state does not allow */
  HR_CORE_ERROR_FORKED,   /* used in another process than the one that started it */
  HR_CORE_ERROR_DEADLOCK, /* the elements wait for each other; the message names the circle */
  HR_CORE_ERROR_STALLED, /* nothing has moved for stall-timeout; the message says who waits for what
                          */
  HR_CORE_ERROR_PLUGIN,  /* a plugin file cannot be used */
  HR_CORE_ERROR_NO_STEP  /* nothing has been delivered yet */
} HrCoreError;

typedef enum {
  HR_RESOURCE_ERROR_FAILED,
  HR_RESOURCE_ERROR_NOT_FOUND,
  HR_RESOURCE_ERROR_FORBIDDEN,
  HR_RESOURCE_ERROR_READ,
  HR_RESOURCE_ERROR_WRITE,
  HR_RESOURCE_ERROR_CONNECT,
  HR_RESOURCE_ERROR_TIMEOUT,
  HR_RESOURCE_ERROR_NO_MEMORY,
  HR_RESOURCE_ERROR_CHANGED /* an object was replaced while it was read */
} HrResourceError;

/* The kinds of a bad sample; hr_data_error_kind() gives the names users count and filter by. */
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
  HR_DATA_ERROR_NO_LABEL, /* nothing in it to learn: dropped, never an error */
  HR_DATA_ERROR_OTHER     /* for elements whose samples are none of the above */
} HrDataError;
#define HR_N_DATA_ERRORS (HR_DATA_ERROR_OTHER + 1)

GQuark hr_parse_error_quark (void);
GQuark hr_core_error_quark (void);
GQuark hr_resource_error_quark (void);
GQuark hr_data_error_quark (void);

/**
 * hr_data_error_kind:
 * @code: an #HrDataError
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
