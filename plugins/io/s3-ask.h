/* s3-ask.h: one request of those that fetch credentials, waited for */
#pragma once
#include "retry.h"
#include "s3-keys.h"
#include "server-clock.h"

G_BEGIN_DECLS

/* times in nanoseconds */
typedef struct {
  const char *name; /* for messages: "STS AssumeRole" */
  const char *url;
  const char *method;         /* NULL: GET */
  const char *form;           /* (nullable): what is sent */
  const char *const *headers; /* (nullable): "Name: value" */
  /* (nullable): before each try: adds headers that are of that time */
  gboolean (*sign) (gconstpointer data, gint64 time, GPtrArray *headers, GError **error);
  gconstpointer sign_data;
  HrServerClock *clock;    /* (nullable): what answers say; if it was wrong there is one more try */
  const HrS3Keys *secrets; /* (nullable): that no message may show */
  gboolean direct;         /* by no proxy: the service is this machine's own */
  const char *ca_bundle;   /* (nullable) */
  gint64 timeout;          /* of connecting, and until the first byte */
  guint tries;
  /* (nullable): says what an answer means that is no success: may add words, and change @retry */
  void (*explain) (const char *text, gsize size, GString *words, HrRetry *retry);
} HrS3Ask;

/**
 * hr_s3_ask:
 * @wake_fd: when this becomes readable, it ends with #HR_CORE_ERROR_STOPPED
 * @status: (out) (optional): HTTP's, 0 without an answer
 * @error: #HR_RESOURCE_ERROR; nothing of the request or of a good answer is in its message
 *
 * Returns: (transfer full): the body, at most 64 KiB
 */
GString *hr_s3_ask (const HrS3Ask *ask, int wake_fd, guint *status, GError **error);

G_END_DECLS
