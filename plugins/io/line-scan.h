/* line-scan.h: finds where the lines of an object begin, from its bytes in pieces */
#pragma once
#include "hr-line-table.h"

G_BEGIN_DECLS

/**
 * HrLineScan:
 *
 * Which lines count says hr_line_head_step(). Only the first bytes of a line are looked at one by
 * one; its end is found at the speed of memchr().
 */
typedef struct _HrLineScan HrLineScan;

HrLineScan *hr_line_scan_new (void);
/* also without hr_line_scan_end() */
void hr_line_scan_free (HrLineScan *scan);

/* the next bytes of the object, cut anywhere */
void hr_line_scan_feed (HrLineScan *scan, const guint8 *bytes, gsize size);
/* the object has no more. Returns: (transfer full): its lines, frozen; once */
HrLineTable *hr_line_scan_end (HrLineScan *scan);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrLineScan, hr_line_scan_free)

G_END_DECLS
