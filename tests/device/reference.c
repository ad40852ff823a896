/* reference.c: patchify's own code for make-expected.py */
#include "patch.h"

void device_reference_write (guint type, guint spelling, const double *mean, const double *std,
                             double scale, guint size, guint merge, guint temporal,
                             const guint8 *rgb, gsize height, gsize width, guint8 *into);

void
device_reference_write (guint type, guint spelling, const double *mean, const double *std,
                        double scale, guint size, guint merge, guint temporal, const guint8 *rgb,
                        gsize height, gsize width, guint8 *into)
{
  const HrPatchShape shape = { size, merge, temporal };
  HrPatchTable table;

  hr_patch_table_init (&table, (HrPatchType)type, (HrPatchSpelling)spelling, mean, std, scale);
  hr_patch_write (&shape, &table, rgb, height, width, into);
}
