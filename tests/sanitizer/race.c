/* race.c: two threads change a buffer that they share, which only its owner may */
#include "headrace.h"
#include <pthread.h>

static void *
change (void *data)
{
  HrBuffer *buffer = data;

  for (int i = 0; i < 1000; i++)
    buffer->epoch++;
  return NULL;
}

int
main (void)
{
  g_autoptr (HrBuffer) buffer = hr_buffer_new ();
  pthread_t threads[2];

  for (int i = 0; i < 2; i++)
    pthread_create (&threads[i], NULL, change, buffer);
  for (int i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  return 0;
}
