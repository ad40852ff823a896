/* s3-credentials.c: keys that are fetched once for the whole process, and renewed in time */
#include "s3-credentials.h"
#include "hr-error.h"
#include "hr-sync.h"
#include <sys/eventfd.h>
#include <unistd.h>

/* milliseconds, as all times here */
#define ADVISORY (15 * 60 * 1000)
#define MANDATORY (10 * 60 * 1000)
/* between tries to renew */
#define PAUSE (10 * 1000)

struct _HrS3Credentials {
  HrS3Source *source;
  int wake_fd;

  HrMutex lock; /* for what follows */
  guint users;
  guint state;
  GThread *thread;   /* the last fetch's */
  gboolean fetching; /* it is not done */
  gboolean refused;  /* the keys, by a server */
  HrS3Keys keys;     /* once there are any */
  gint64 fetched;    /* when, since 1970 */
  gint64 tried;      /* the same of the last try, good or bad */
  GError *error;     /* why the last fetch failed */
};

/* all there are, by digest; they stay for the life of the process */
static HrMutex table_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *table;

static gint64
get_now (void)
{
  return g_get_real_time () / 1000;
}

static void
take_result (HrS3Credentials *credentials, HrS3Keys *keys, GError *error)
{
  hr_mutex_lock (&credentials->lock);
  credentials->fetching = FALSE;
  credentials->tried = get_now ();
  g_clear_error (&credentials->error);
  /* that somebody left in the meantime is nobody's error */
  if (error && !g_error_matches (error, HR_CORE_ERROR, HR_CORE_ERROR_STOPPED))
    credentials->error = g_error_copy (error);
  if (!error) {
    hr_s3_keys_clear (&credentials->keys);
    credentials->keys = *keys;
    credentials->fetched = credentials->tried;
    credentials->refused = FALSE;
    credentials->state++;
  }
  hr_mutex_unlock (&credentials->lock);
}

static gpointer
run_fetch (gpointer data)
{
  HrS3Credentials *credentials = data;
  g_autoptr (GError) error = NULL;
  HrS3Keys keys = { 0 };

  (void)hr_s3_source_fetch (credentials->source, credentials->wake_fd, &keys, &error);
  take_result (credentials, &keys, error);
  return NULL;
}

/* the lock is held */
static void
start_fetch (HrS3Credentials *credentials)
{
  if (credentials->fetching)
    return;
  if (credentials->thread) /* it is done, but for its last lines */
    g_thread_join (credentials->thread);
  credentials->fetching = TRUE;
  credentials->thread = g_thread_new ("credentials", run_fetch, credentials);
}

static gboolean
is_ready_made (const HrS3Credentials *credentials)
{
  return credentials->source->kind == HR_S3_SOURCE_KEYS;
}

/* takes @source and @digest; the table's lock is held */
static HrS3Credentials *
add_credentials (HrS3Source *source, char *digest)
{
  HrS3Credentials *credentials = g_new0 (HrS3Credentials, 1);

  credentials->source = source;
  credentials->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  hr_mutex_init (&credentials->lock);
  if (is_ready_made (credentials))
    hr_s3_keys_copy (&source->keys, &credentials->keys);
  g_hash_table_insert (table, digest, credentials);
  return credentials;
}

HrS3Credentials *
hr_s3_credentials_use (HrS3Source *source)
{
  g_autofree char *digest = hr_s3_source_digest (source);
  HrS3Credentials *credentials;

  hr_mutex_lock (&table_lock);
  if (!table)
    table = g_hash_table_new (g_str_hash, g_str_equal);
  credentials = g_hash_table_lookup (table, digest);
  if (credentials)
    hr_s3_source_free (source);
  else
    credentials = add_credentials (source, g_steal_pointer (&digest));
  hr_mutex_lock (&credentials->lock);
  credentials->users++;
  if (!credentials->keys.access_key)
    start_fetch (credentials);
  hr_mutex_unlock (&credentials->lock);
  hr_mutex_unlock (&table_lock);
  return credentials;
}

void
hr_s3_credentials_leave (HrS3Credentials *credentials)
{
  const guint64 one = 1;
  guint64 value;

  /* nobody else may come while a fetch is being ended */
  hr_mutex_lock (&table_lock);
  hr_mutex_lock (&credentials->lock);
  if (--credentials->users == 0 && credentials->thread) {
    (void)!write (credentials->wake_fd, &one, sizeof one);
    hr_mutex_unlock (&credentials->lock);
    g_thread_join (credentials->thread);
    hr_mutex_lock (&credentials->lock);
    credentials->thread = NULL;
    (void)!read (credentials->wake_fd, &value, sizeof value);
  }
  hr_mutex_unlock (&credentials->lock);
  hr_mutex_unlock (&table_lock);
}

/* ---- keys ---- */

/* how long the keys are still good for; the lock is held */
static gint64
get_left (const HrS3Credentials *credentials)
{
  return credentials->keys.expires == 0 ? G_MAXINT64
                                        : credentials->keys.expires * 1000 - get_now ();
}

static gboolean
is_within (const HrS3Credentials *credentials, gint64 window, gint64 part)
{
  gint64 life = credentials->keys.expires * 1000 - credentials->fetched;

  return get_left (credentials) < MIN (window, life / part);
}

/* may a renewal be tried (again)? */
static gboolean
may_try (const HrS3Credentials *credentials)
{
  return !credentials->error || get_now () >= credentials->tried + PAUSE;
}

static gboolean
give (const HrS3Credentials *credentials, HrS3Keys *keys)
{
  hr_s3_keys_copy (&credentials->keys, keys);
  return TRUE;
}

/* the lock is held */
static gboolean
get_keys (HrS3Credentials *credentials, HrS3Keys *keys, GError **error)
{
  gboolean good =
      credentials->keys.access_key && !credentials->refused && get_left (credentials) > 0;

  if (is_ready_made (credentials))
    return give (credentials, keys);
  if (good && !is_within (credentials, ADVISORY, 4))
    return give (credentials, keys);
  if (may_try (credentials))
    start_fetch (credentials);
  if (good && (!credentials->fetching || !is_within (credentials, MANDATORY, 6)))
    return give (credentials, keys);
  if (!credentials->fetching && credentials->error)
    g_propagate_error (error, g_error_copy (credentials->error));
  return FALSE;
}

gboolean
hr_s3_credentials_get (HrS3Credentials *credentials, HrS3Keys *keys, guint *state, GError **error)
{
  gboolean found;

  hr_mutex_lock (&credentials->lock);
  found = get_keys (credentials, keys, error);
  *state = credentials->state;
  hr_mutex_unlock (&credentials->lock);
  return found;
}

gboolean
hr_s3_credentials_renew (HrS3Credentials *credentials, guint used)
{
  gboolean possible;

  hr_mutex_lock (&credentials->lock);
  possible = credentials->state != used;
  if (!possible && !is_ready_made (credentials)) {
    possible = TRUE;
    credentials->refused = TRUE;
    start_fetch (credentials);
  }
  hr_mutex_unlock (&credentials->lock);
  return possible;
}

void
hr_s3_credentials_hide (HrS3Credentials *credentials, GString *text)
{
  hr_mutex_lock (&credentials->lock);
  hr_s3_keys_hide (&credentials->keys, text);
  hr_mutex_unlock (&credentials->lock);
}

gboolean
hr_s3_credentials_is_temporary (HrS3Credentials *credentials)
{
  gboolean temporary;

  hr_mutex_lock (&credentials->lock);
  temporary = credentials->keys.session_token != NULL;
  hr_mutex_unlock (&credentials->lock);
  return temporary;
}

guint
hr_s3_credentials_get_state (HrS3Credentials *credentials)
{
  guint state;

  hr_mutex_lock (&credentials->lock);
  state = credentials->state;
  hr_mutex_unlock (&credentials->lock);
  return state;
}
