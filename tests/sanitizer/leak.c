/* leak.c: a reference that nobody gives back */
#include "headrace.h"

/* in a function of its own, so that no register or stack slot still points there at exit */
static void __attribute__ ((noinline)) lose (void)
{
  HrBuffer *buffer = hr_buffer_new ();

  hr_buffer_set_string (buffer, "text", "lost");
  hr_buffer_ref (buffer);
  hr_buffer_unref (buffer);
}

int
main (void)
{
  for (int i = 0; i < 10; i++)
    lose ();
  return 0;
}
