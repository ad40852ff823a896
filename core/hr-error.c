/* hr-error.c: the four domains, and the names of the kinds of bad samples */
#include "hr-error.h"
#include "hr-letter.h"
#include <pthread.h>
#include <stdarg.h>

/* G_DEFINE_QUARK() races with itself, which ThreadSanitizer reports; and its name is no string, so
 * that a formatter puts blanks into it */
#define DEFINE_QUARK(function, name)                                                               \
  GQuark function (void)                                                                           \
  {                                                                                                \
    static GQuark quark;                                                                           \
    GQuark value = __atomic_load_n (&quark, __ATOMIC_RELAXED);                                     \
                                                                                                   \
    if (value == 0) {                                                                              \
      value = g_quark_from_static_string (name);                                                   \
      __atomic_store_n (&quark, value, __ATOMIC_RELAXED);                                          \
    }                                                                                              \
    return value;                                                                                  \
  }

DEFINE_QUARK (hr_parse_error_quark, "hr-parse-error-quark")
DEFINE_QUARK (hr_core_error_quark, "hr-core-error-quark")
DEFINE_QUARK (hr_resource_error_quark, "hr-resource-error-quark")

/* ---- data errors carry what there is to tell of their sample ---- */

typedef struct {
  HrLetter *letter;
} Private;

static GQuark data_quark;
static pthread_once_t data_once = PTHREAD_ONCE_INIT;

/* where GLib keeps what a domain adds to an error: in front of it, as G_DEFINE_EXTENDED_ERROR has
 * it
 */
static HrLetter **
letter_of (const GError *error)
{
  const gsize alignment = 2 * sizeof (gsize);
  const gsize size = (sizeof (Private) + alignment - 1) / alignment * alignment;

  return &((Private *)(gpointer)((guint8 *)error - size))->letter;
}

static void
data_error_init (GError *error)
{
  *letter_of (error) = NULL;
}

static void
data_error_copy (const GError *from, GError *to)
{
  if (*letter_of (from) != NULL)
    *letter_of (to) = hr_letter_ref (*letter_of (from));
}

static void
data_error_clear (GError *error)
{
  hr_letter_unref (*letter_of (error));
}

static void
register_data_error (void)
{
  data_quark = g_error_domain_register_static ("hr-data-error-quark", sizeof (Private),
                                               data_error_init, data_error_copy, data_error_clear);
}

GQuark
hr_data_error_quark (void)
{
  pthread_once (&data_once, register_data_error);
  return data_quark;
}

HrLetter *
hr_letter_of (const GError *error)
{
  return error->domain == HR_DATA_ERROR ? *letter_of (error) : NULL;
}

void
hr_letter_attach (GError *error, HrLetter *letter)
{
  *letter_of (error) = letter;
}

void
hr_data_error_set_member (GError *error, const char *name, guint index)
{
  HrLetter **letter;

  g_return_if_fail (error->domain == HR_DATA_ERROR);
  letter = letter_of (error);
  if (*letter == NULL)
    *letter = hr_letter_new ();
  g_free ((*letter)->image);
  (*letter)->image = g_strdup (name);
  (*letter)->index = (gint)MIN (index, G_MAXINT);
}

static const char *const kinds[HR_N_DATA_ERRORS] = {
  [HR_DATA_ERROR_BAD_JSON] = "bad-json",
  [HR_DATA_ERROR_BAD_ENCODING] = "bad-encoding",
  [HR_DATA_ERROR_BAD_RECORD] = "bad-record",
  [HR_DATA_ERROR_LINE_TOO_LONG] = "line-too-long",
  [HR_DATA_ERROR_NO_ASSISTANT_TURN] = "no-assistant-turn",
  [HR_DATA_ERROR_PLACEHOLDER_MISMATCH] = "placeholder-mismatch",
  [HR_DATA_ERROR_MEDIA_TOKEN_IN_TEXT] = "media-token-in-text",
  [HR_DATA_ERROR_UNSUPPORTED] = "unsupported",
  [HR_DATA_ERROR_MEDIA_NOT_FOUND] = "media-not-found",
  [HR_DATA_ERROR_MEDIA_FORBIDDEN] = "media-forbidden",
  [HR_DATA_ERROR_MEDIA_UNDECODABLE] = "media-undecodable",
  [HR_DATA_ERROR_MEDIA_TRUNCATED] = "media-truncated",
  [HR_DATA_ERROR_IMAGE_TOO_LARGE] = "image-too-large",
  [HR_DATA_ERROR_ASPECT_RATIO] = "aspect-ratio",
  [HR_DATA_ERROR_OVERLONG] = "overlong",
  [HR_DATA_ERROR_LINK_REFUSED] = "link-refused",
  [HR_DATA_ERROR_NO_LABEL] = "no-label",
  [HR_DATA_ERROR_OTHER] = "other",
};

const char *
hr_data_error_kind (int code)
{
  return code >= 0 && code < HR_N_DATA_ERRORS ? kinds[code] : "other";
}

void
hr_set_data_error (GError **error, HrDataError code, const char *format, ...)
{
  va_list args;

  if (error == NULL)
    return;
  va_start (args, format);
  g_warn_if_fail (*error == NULL);
  *error = g_error_new_valist (HR_DATA_ERROR, code, format, args);
  va_end (args);
}

GError *
hr_data_error_from (GError *error, HrDataError code)
{
  GError *own = g_error_new_literal (HR_DATA_ERROR, (int)code, error->message);

  g_error_free (error);
  return own;
}
