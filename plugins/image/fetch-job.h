/* fetch-job.h: a sample whose images are being fetched; imagefetch's own */
#pragma once
#include "headrace.h"
#include "http-metrics.h"
#include "object-cache.h"
#include "s3-props.h"
#include "s3-request.h"

/* bytes of an image of which nothing is known yet */
#define FETCH_FIRST_ESTIMATE (128 * 1024)
/* where only its header is wanted: so many bytes first, and this many times more as long as that is
 * not all of it */
#define FETCH_FIRST_PART (64 * 1024)
#define FETCH_MORE 8

typedef struct {
  guint64 concurrency;
  guint64 io_threads;
  guint64 max_bytes;
  char **allow_links;
  char **allow_addresses;
  guint64 redirects;
  char *media_root;
  gint64 cache_age;
  HR_CACHE_FIELDS
  HR_S3_FIELDS
} HrImagefetch;

/* for all workers */
typedef struct {
  HrHttpMetrics metrics;
  HrObjectCache cache;
  gboolean turned;       /* sizes are told after EXIF orientation */
  gboolean measured;     /* nothing but sizes is wanted */
  guint64 fetched_bytes; /* atomic */
} HrFetchShared;

typedef struct _HrFetchState HrFetchState;
typedef struct _HrFetchJob HrFetchJob;

typedef enum {
  ITEM_NEW,
  ITEM_FLYING, /* its request is the client's */
  ITEM_PAUSED, /* and waits for bytes of the budget */
  ITEM_DONE
} HrFetchStage;

/* one image of a sample */
typedef struct {
  HrFetchJob *job;
  guint index;
  HrFetchStage stage;
  HrHttpRequest *request;
  guint n_redirects;
  gsize wanted; /* bytes, once they are known */
  HrMemory *memory;
  gsize size;    /* bytes of it that are there … */
  guint64 whole; /* … and those that it has: more where they tell its size already */
  gsize part;    /* bytes to ask for; 0: all */

  /* with a cache: */
  GBytes *key;
  gboolean looked_up;
  gboolean at_hand; /* `memory` holds what was kept, and may be taken for the object … */
  char *known_etag; /* … or if the server says that this is still its ETag */
} HrFetchItem;

/* one sample */
struct _HrFetchJob {
  HrFetchState *state;
  HrTicket *ticket;
  HrBuffer *buffer;
  HrFetchItem *items;
  guint n_items;
  guint n_left;
  guint64 wanted; /* sum of the items' */
  guint64 reserved;
  gboolean parked; /* until resume() */
};

struct _HrFetchState {
  const HrImagefetch *self;
  guint concurrency; /* that http has been told */
  HrFetchShared *shared;
  HrHttp *http;
  HrAddressGuard *guard;
  HrS3Config *config; /* made by the first s3:// link */
  char *root_text;    /* what root was made from */
  char *root;
  gdouble mean_bytes;
  guint n_images;
  GHashTable *jobs; /* a set */
};

const char *hr_fetch_get_uri (const HrFetchItem *item);
/* as written in the record, where that is known */
const char *hr_fetch_get_link (const HrFetchItem *item);
/* TRUE: this many bytes of the item are within the reservation; FALSE: resume() will tell */
gboolean hr_fetch_reserve (HrFetchItem *item, gsize bytes);
/* TRUE: what is there of it is enough; FALSE: *part says how much to ask for */
gboolean hr_fetch_is_enough (HrFetchItem *item);
/* memory of @bytes that holds what the item has so far */
HrMemory *hr_fetch_grow (HrFetchItem *item, HrMemory *old, gsize used, gsize bytes, GError **error);
void hr_fetch_job_free (HrFetchJob *job);
/* takes @error; one failed image ends its sample */
void hr_fetch_finish (HrFetchJob *job, GError *error);
void hr_fetch_fail (HrFetchItem *item, GError *error);
void hr_fetch_item_done (HrFetchItem *item);

/* fetch-transfer.c: over a network; ends in hr_fetch_fail() or hr_fetch_item_done(), unless the
 * cache has it at hand. FALSE without an error: the budget has no room for that yet */
gboolean hr_fetch_start_transfer (HrFetchItem *item, GError **error);
/* fetch-web.c: http:// and https:// */
gboolean hr_fetch_is_web (const char *uri);
/* (transfer full): without what fetch-transfer.c sets of every request */
HrHttpRequest *hr_fetch_new_web (HrFetchItem *item);
/* fetch-local.c: what is at hand at once. FALSE without an error: the budget has no room for it yet
 */
gboolean hr_fetch_read_file (HrFetchItem *item, GError **error);
gboolean hr_fetch_decode_data (HrFetchItem *item, GError **error);

/* fetch-cache.c. FALSE without an error: the budget has no room yet for what was kept */
gboolean hr_fetch_look_up (HrFetchItem *item, const char *endpoint, GError **error);
/* what was kept is not the object any more */
void hr_fetch_forget_kept (HrFetchItem *item);
/* the item was fetched whole; @etag: (nullable): what the server calls it */
void hr_fetch_keep (HrFetchItem *item, const char *etag);
