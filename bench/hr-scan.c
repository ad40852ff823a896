/* hr-scan.c: finds the lines of files as sources do, once; prints how many, and what their tables
 * hold: "LINES BYTES" */
#include "hr-plan-private.h"
#include "file.h"
#include "scan-objects.h"
#include <stdio.h>
#include <unistd.h>

typedef struct {
  guint64 n_lines;
  gsize n_bytes;
} Found;

static gpointer
open_file (gpointer data G_GNUC_UNUSED, const HrObject *object, gint64 start G_GNUC_UNUSED,
           gint64 end G_GNUC_UNUSED, GError **error)
{
  int fd = hr_file_open (object->uri, NULL, error);

  return fd >= 0 ? GINT_TO_POINTER (fd + 1) : NULL;
}

static gssize
read_file (gpointer data G_GNUC_UNUSED, gpointer part, gint64 offset, guint8 *into, gsize size,
           GError **error)
{
  return hr_file_read (GPOINTER_TO_INT (part) - 1, "the file", offset, into, size, -1, error);
}

static void
close_file (gpointer data G_GNUC_UNUSED, gpointer part)
{
  close (GPOINTER_TO_INT (part) - 1);
}

static gboolean
count (gpointer data, guint index G_GNUC_UNUSED, HrLineTable *taken, GError **error G_GNUC_UNUSED)
{
  g_autoptr (HrLineTable) table = taken;
  Found *found = data;

  found->n_lines += hr_line_table_get_length (table);
  found->n_bytes += hr_line_table_get_n_bytes (table);
  return TRUE;
}

int
main (int argc, char **argv)
{
  static const HrLineSourceFuncs funcs = { open_file, read_file, close_file };
  HrScanOptions options = { .part_bytes = G_MAXINT64, .ahead = 0, .wake_fd = -1 };
  g_autoptr (HrPlan) plan = hr_plan_new (NULL);
  g_autoptr (GPtrArray) objects = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  Found found = { 0, 0 };

  for (int i = 1; i < argc; i++) {
    g_autofree char *root = NULL;

    if (!hr_file_list (argv[i], plan, &root, &error))
      g_error ("%s", error->message);
  }
  hr_plan_listed (plan);
  for (guint i = 0; i < hr_plan_get_n_objects (plan); i++)
    g_ptr_array_add (objects, (gpointer)hr_plan_get_object (plan, i));
  if (!hr_scan_objects (&funcs, NULL, (const HrObject *const *)objects->pdata, objects->len,
                        &options, count, &found, &error))
    g_error ("%s", error->message);
  printf ("%" G_GUINT64_FORMAT " %" G_GSIZE_FORMAT "\n", found.n_lines, found.n_bytes);
  return 0;
}
