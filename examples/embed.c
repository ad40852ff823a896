/* embed.c: a pipeline in a program of yours.
 *
 *   cc embed.c -o embed $(pkg-config --cflags --libs headrace-1.0)
 *   ./embed s3://my-bucket/train/ */
#include <headrace.h>

/* without what was skipped, or fills the last step up */
static guint
count_samples (HrBuffer *batch)
{
  guint n = 0;

  for (guint i = 0; i < hr_buffer_get_n_members (batch); i++)
    n += !(hr_buffer_get_member (batch, i)->flags & HR_BUFFER_HOLE);
  return n;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *stats = NULL;
  g_autoptr (HrPipeline) pipeline =
      hr_parse_launch ("s3src name=in location=s3://placeholder/ ! jsonlparse ! imagefetch"
                       " ! imagedecode workers=2 ! resize ! batch size=4 ! prefetchqueue ! appsink",
                       &error);
  HrBuffer *batch;

  if (pipeline && argc > 1
      && hr_element_set_from_string (hr_pipeline_get_element (pipeline, "in"), "location", argv[1],
                                     &error)
      && hr_pipeline_start (pipeline, &error)) {
    while ((batch = hr_pipeline_pull (pipeline, &error))) {
      g_print ("step %" G_GINT64_FORMAT ": %u samples\n", batch->number, count_samples (batch));
      hr_buffer_unref (batch);
    }
    hr_pipeline_stop (pipeline); /* for loops that end earlier */
    stats = hr_pipeline_get_stats (pipeline);
    g_print ("%s\n", stats);
  }
  if (error)
    g_printerr ("%s\n", error->message);
  else if (argc < 2)
    g_printerr ("usage: %s s3://BUCKET/PREFIX/\n", argv[0]);
  return error || argc < 2;
}
