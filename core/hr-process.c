/* hr-process.c: things of which a process has one, whichever plugins use them */
#include "hr-process.h"
#include "hr-sync.h"

static HrMutex lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *things;

gpointer
hr_process_get (const char *name, gpointer (*create) (void))
{
  gpointer thing;

  hr_mutex_lock (&lock);
  if (things == NULL)
    things = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  thing = g_hash_table_lookup (things, name);
  if (thing == NULL) {
    thing = create ();
    g_hash_table_insert (things, g_strdup (name), thing);
  }
  hr_mutex_unlock (&lock);
  return thing;
}
