/* s3-objects.h: what a location in S3 names */
#pragma once
#include "hr-plan.h"
#include "http.h"
#include "s3-config.h"

G_BEGIN_DECLS

/**
 * hr_s3_objects_list:
 * @location: "s3://bucket/key", "s3://bucket/prefix/": every *.jsonl under it; or a pattern,
 *   hr_glob_match()
 * @plan: where to list them; not yet hr_plan_listed()
 * @root: (out) (transfer full): the prefix, or the key's or pattern's "folder": the tree that links
 *   may not leave
 * @page_keys: keys a page, 0: as many as the server gives
 * @wake_fd: when this becomes readable, it ends with #HR_CORE_ERROR_STOPPED
 * @error: #HR_RESOURCE_ERROR
 *
 * A location without a "/" at its end is a key if there is one, and else a prefix.
 */
gboolean hr_s3_objects_list (HrHttp *http, HrS3Config *config, const char *location, HrPlan *plan,
                             char **root, guint page_keys, int wake_fd, GError **error);

G_END_DECLS
