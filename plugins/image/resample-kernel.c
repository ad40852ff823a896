/* resample-kernel.c: which of the inner loops this machine can run */
#include "resample-kernel.h"
#include <pthread.h>

static const HrKernel *kernels[5];

static void
find (void)
{
  static const HrKernel *const all[] = {
#ifdef HR_HAVE_X86
    &hr_kernel_avx512,
    &hr_kernel_avx2,
    &hr_kernel_sse2,
#endif
    &hr_kernel_plain,
  };
  /* HR_CPU=avx2 leaves out what is better than that, HR_CPU=baseline what not every x86-64 has: for
   * tests and comparisons */
  const char *wanted = g_getenv ("HR_CPU");
  guint n = 0, from = 0;
  for (guint i = 0; wanted != NULL && i < G_N_ELEMENTS (all); i++)
    if (g_str_equal (wanted, all[i]->name))
      from = i;
  for (guint i = from; i < G_N_ELEMENTS (all); i++)
    if (all[i]->supported ())
      kernels[n++] = all[i];
}

const HrKernel *const *
hr_kernels (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, find);
  return kernels;
}
