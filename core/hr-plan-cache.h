/* hr-plan-cache.h: what was found out about objects, kept on disk; private to the core and to
 * plugins/io */
#pragma once
#include "hr-plan.h"

G_BEGIN_DECLS

/**
 * HrPlanCache:
 *
 * Blobs by (object, name, key), a file each in one folder: where an object's lines begin is the
 * blob "lines". An object is what its URI, size and identity say; one without an identity is never
 * kept.
 *
 * Nothing in it is needed, and nothing is believed: a file that was cut, spoilt, written by another
 * version or for something else is as good as none, and replaced by the next store. What cannot be
 * written is told in the log once and then left. Least recently used files go first when there are
 * too many. Any number of threads and processes may use one folder at once.
 */
typedef struct _HrPlanCache HrPlanCache;

#define HR_PLAN_CACHE_BYTES (G_GUINT64_CONSTANT (1) << 30)

/**
 * hr_plan_cache_new:
 * @folder: (nullable): is made when something is stored; %NULL: nothing is kept
 * @max_bytes: of all files in it
 */
HrPlanCache *hr_plan_cache_new (const char *folder, guint64 max_bytes);
/* the folder and size the environment names: HR_PLAN_CACHE (if empty nothing is kept; if unset
 * XDG_CACHE_HOME/headrace/plan), HR_PLAN_CACHE_SIZE (HR_PLAN_CACHE_BYTES) */
HrPlanCache *hr_plan_cache_new_default (void);
void hr_plan_cache_free (HrPlanCache *cache);

/**
 * hr_plan_cache_load:
 * @name: what the blob is: lower case letters, digits, "-"
 * @key: (nullable): what else it depends on, as a text
 *
 * Returns: (transfer full) (nullable): exactly what was stored; its data is aligned for any type
 */
GBytes *hr_plan_cache_load (HrPlanCache *cache, const HrObject *object, const char *name,
                            const char *key);
/* Returns: whether it is there now; one need not care */
gboolean hr_plan_cache_store (HrPlanCache *cache, const HrObject *object, const char *name,
                              const char *key, GBytes *blob);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrPlanCache, hr_plan_cache_free)

G_END_DECLS
