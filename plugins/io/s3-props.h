/* s3-props.h: the properties of all elements that talk to S3 */
#pragma once
#include "hr-prop.h"
#include "http.h"
#include "s3-config.h"

/* in the element's struct */
#define HR_S3_FIELDS                                                                               \
  char *endpoint;                                                                                  \
  char *region;                                                                                    \
  char *profile;                                                                                   \
  gboolean no_sign_request;                                                                        \
  gboolean requester_pays;                                                                         \
  gint addressing;                                                                                 \
  guint64 tries;                                                                                   \
  gint64 connect_timeout;                                                                          \
  gint64 first_byte_timeout;                                                                       \
  gint64 progress_timeout;                                                                         \
  gboolean hedge;                                                                                  \
  gint verify;

/* of HrS3Addressing, in its order */
#define HR_S3_ADDRESSINGS ((const char *const[]){ "auto", "path", "virtual", NULL })

/* of HrVerify, in its order */
#define HR_S3_VERIFIES ((const char *const[]){ "auto", "none", "md5", NULL })

/* in its table */
#define HR_S3_PROPS(T)                                                                             \
  HR_PROP_STRING (T, endpoint, NULL,                                                               \
                  "URL of the S3 server; if unset AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the "     \
                  "profile's, or AWS"),                                                            \
      HR_PROP_STRING (                                                                             \
          T, region, NULL,                                                                         \
          "Region to sign for; if unset AWS_REGION, AWS_DEFAULT_REGION, the profile's, "           \
          "or us-east-1"),                                                                         \
      HR_PROP_STRING (                                                                             \
          T, profile, NULL,                                                                        \
          "Profile of ~/.aws/credentials and ~/.aws/config; if unset the environment's "           \
          "keys, AWS_PROFILE, or default"),                                                        \
      HR_PROP_BOOL (T, no_sign_request, FALSE, "Ask without credentials, for public data"),        \
      HR_PROP_BOOL (T, requester_pays, FALSE,                                                      \
                    "The bucket's owner does not pay for requests: agree to pay for them"),        \
      HR_PROP_ENUM (                                                                               \
          T, addressing, HR_S3_ADDRESSINGS, HR_S3_ADDRESSING_AUTO,                                 \
          "Where the bucket's name stands in the URL: path, virtual (in the host name), or "       \
          "auto: path for IP addresses, hosts without a dot and names that are no host's"),        \
      HR_PROP_UINT (T, tries, 1, 100, 8,                                                           \
                    "Times a request is sent, before it fails for a fault that may pass",          \
                    .unit = "tries"),                                                              \
      HR_PROP_DURATION (T, connect_timeout, HR_MSEC, 3600 * HR_SECOND, 10 * HR_SECOND,             \
                        "Longest time for a connection to be made"),                               \
      HR_PROP_DURATION (T, first_byte_timeout, HR_MSEC, 3600 * HR_SECOND, 30 * HR_SECOND,          \
                        "Longest time until an answer begins"),                                    \
      HR_PROP_DURATION (T, progress_timeout, HR_MSEC, 3600 * HR_SECOND, 30 * HR_SECOND,            \
                        "Longest time without a byte while an answer comes"),                      \
      HR_PROP_BOOL (T, hedge, TRUE,                                                                \
                    "Send a request a second time when its answer is later than 95 of 100 are; "   \
                    "at most one in twenty, and none while the server asks for less"),             \
      HR_PROP_ENUM (                                                                               \
          T, verify, HR_S3_VERIFIES, HR_VERIFY_AUTO,                                               \
          "Check objects that are fetched whole: auto: by the checksum that the server gives "     \
          "(CRC64NVME, CRC32C, CRC32, SHA1, SHA256); md5: if it gives none, by the MD5 that the "  \
          "ETag of an object is which was neither uploaded in parts nor encrypted with a key of "  \
          "the owner's; none: not at all")

/* of elements that fetch much */
#define HR_S3_PROP_IO_THREADS(T)                                                                   \
  HR_PROP_UINT (T, io_threads, 1, 64, 1,                                                           \
                "Threads that transfers are dealt to, for links faster than one processor; what "  \
                "is delivered, and in which order, does not change",                               \
                .unit = "threads")

#define HR_S3_SETTINGS(self)                                                                       \
  ((HrS3Settings){ (self)->endpoint, (self)->region, (self)->profile, (self)->no_sign_request,     \
                   (self)->requester_pays, (HrS3Addressing)(self)->addressing })

#define HR_S3_HTTP_OPTIONS(self, transfers)                                                        \
  ((HrHttpOptions){ .max_transfers = (transfers),                                                  \
                    .connect_timeout = (self)->connect_timeout,                                    \
                    .first_byte_timeout = (self)->first_byte_timeout,                              \
                    .progress_timeout = (self)->progress_timeout,                                  \
                    .max_tries = (self)->tries,                                                    \
                    .retry = HR_RETRY_TIMES,                                                       \
                    .hedge = (self)->hedge,                                                        \
                    .verify = (HrVerify)(self)->verify,                                            \
                    .io_threads = 1 })
