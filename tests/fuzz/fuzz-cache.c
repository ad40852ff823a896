/* fuzz-cache.c: any bytes as a file of the plan's cache, and as the table of lines in one */
#include "hr-line-table.h"
#include "hr-plan-cache.h"
#include <glib/gstdio.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static const HrObject object = { .uri = "/d/a.jsonl", .key = "a.jsonl", .size = 1000, .etag = "1" };
static HrPlanCache *cache;
static char *file; /* that the cache has written */

static void
begin (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hr-fuzz-cache-XXXXXX", NULL);
  g_autoptr (GBytes) blob = g_bytes_new_static ("blob", 4);
  g_autoptr (GDir) dir = NULL;
  const char *name;

  cache = hr_plan_cache_new (folder, HR_PLAN_CACHE_BYTES);
  g_assert_true (hr_plan_cache_store (cache, &object, "lines", NULL, blob));
  dir = g_dir_open (folder, 0, NULL);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".lines"))
      file = g_build_filename (folder, name, NULL);
  g_assert_nonnull (file);
}

static void
read_table (GBytes *bytes)
{
  g_autoptr (HrLineTable) table = hr_line_table_from_bytes (bytes, object.size);
  guint64 n = table ? hr_line_table_get_length (table) : 0;

  for (guint64 i = 0; i < n; i++) {
    gint64 byte = hr_line_table_get_byte (table, i), line = hr_line_table_get_line (table, i);

    g_assert_true (byte >= 0 && byte < object.size && line >= 1);
    if (i > 0)
      g_assert_true (byte > hr_line_table_get_byte (table, i - 1)
                     && line > hr_line_table_get_line (table, i - 1));
    g_assert_cmpuint (hr_line_table_find (table, byte), ==, i);
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size), blob = NULL;
  FILE *into;

  if (!cache)
    begin ();
  read_table (bytes);
  /* in place: the cache counts what is in its folder */
  into = g_fopen (file, "w");
  g_assert_cmpuint (fwrite (data, 1, size, into), ==, size);
  fclose (into);
  blob = hr_plan_cache_load (cache, &object, "lines", NULL);
  /* a checksum of 64 bits stands in front of it: what passes is a blob */
  if (blob)
    g_assert_cmpuint (g_bytes_get_size (blob), <, size);
  return 0;
}
