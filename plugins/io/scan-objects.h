/* scan-objects.h: reads many objects once, to find where their lines begin */
#pragma once
#include "hr-line-table.h"
#include "line-source.h"

G_BEGIN_DECLS

/**
 * HrScanOptions:
 * @part_bytes: asked for by one open(); %G_MAXINT64: each object at once
 * @ahead: parts that are opened before they are read, of the object in hand and of those behind it:
 *   so many small objects are under way at once …
 * @ahead_bytes: … but no further one as soon as the open parts have so many bytes together: so few
 *   large ones are
 * @wake_fd: when this becomes readable, it ends with #HR_CORE_ERROR_STOPPED; -1: none
 */
typedef struct {
  gint64 part_bytes;
  guint ahead;
  gint64 ahead_bytes;
  int wake_fd;
} HrScanOptions;

/**
 * HrScanFunc:
 * @index: of the object whose lines are known now; they come in their order
 * @table: (transfer full): frozen
 *
 * Returns: %FALSE with an error to read no further
 */
typedef gboolean (*HrScanFunc) (gpointer data, guint index, HrLineTable *table, GError **error);

/**
 * hr_scan_objects:
 * @funcs: how to read them; @funcs_data is for them
 * @objects: (array length=n): the objects whose lines are wanted
 * @found: called for each of them
 *
 * Reads all bytes of all @objects in the calling thread. Holds one buffer of 256 KiB beside the
 * parts, which have less than ahead-bytes + part-bytes where open() fetches. Of an object without a
 * size (a pipe) nothing is left afterwards.
 *
 * Returns: %FALSE with what open(), read() or @found said, with #HR_CORE_ERROR_STOPPED, or with
 *   #HR_RESOURCE_ERROR_CHANGED when an object ends before its size. What was found before is good.
 */
gboolean hr_scan_objects (const HrLineSourceFuncs *funcs, gpointer funcs_data,
                          const HrObject *const *objects, guint n, const HrScanOptions *options,
                          HrScanFunc found, gpointer found_data, GError **error);

G_END_DECLS
