/* the stand-in for CUDA's runtime library: it does what is asked for, and every misuse is found */
#include <pthread.h>
#include <string.h>
#include "standin-test.h"

#define SIZE 1000

/* ---- a device with a stream or two ---- */

typedef struct {
  HrCudaStream one, two;
  HrCudaEvent event;
  guint8 *host, *back; /* pinned */
  guint8 *device;
} Bench;

static void
bench_init (Bench *bench)
{
  g_assert_cmpint (cudaStreamCreateWithFlags (&bench->one, HR_CUDA_STREAM_NON_BLOCKING), ==, 0);
  g_assert_cmpint (cudaStreamCreateWithFlags (&bench->two, HR_CUDA_STREAM_NON_BLOCKING), ==, 0);
  g_assert_cmpint (cudaEventCreateWithFlags (&bench->event, HR_CUDA_EVENT_DEFAULT), ==, 0);
  g_assert_cmpint (cudaHostAlloc ((void **)&bench->host, SIZE, HR_CUDA_HOST_PORTABLE), ==, 0);
  g_assert_cmpint (cudaHostAlloc ((void **)&bench->back, SIZE, HR_CUDA_HOST_PORTABLE), ==, 0);
  g_assert_cmpint (cudaMalloc ((void **)&bench->device, SIZE), ==, 0);
  memset (bench->host, 1, SIZE);
}

static void
bench_clear (Bench *bench)
{
  cudaStreamSynchronize (bench->one);
  cudaStreamSynchronize (bench->two);
  g_assert_cmpint (cudaFree (bench->device), ==, 0);
  g_assert_cmpint (cudaFreeHost (bench->host), ==, 0);
  g_assert_cmpint (cudaFreeHost (bench->back), ==, 0);
  g_assert_cmpint (cudaEventDestroy (bench->event), ==, 0);
  g_assert_cmpint (cudaStreamDestroy (bench->one), ==, 0);
  g_assert_cmpint (cudaStreamDestroy (bench->two), ==, 0);
}

static void
give (Bench *bench, HrCudaStream stream)
{
  g_assert_cmpint (
      cudaMemcpyAsync (bench->device, bench->host, SIZE, HR_CUDA_HOST_TO_DEVICE, stream), ==, 0);
}

static void
take (Bench *bench, HrCudaStream stream)
{
  g_assert_cmpint (
      cudaMemcpyAsync (bench->back, bench->device, SIZE, HR_CUDA_DEVICE_TO_HOST, stream), ==, 0);
}

static gboolean
is_filled (const guint8 *bytes, guint8 with)
{
  for (guint i = 0; i < SIZE; i++)
    if (bytes[i] != with)
      return FALSE;
  return TRUE;
}

/* ---- what is right ---- */

/* copies are late, and nothing is done that nobody waits for */
static void
test_late (void)
{
  Bench bench;
  g_auto (GStrv) left = NULL;

  bench_init (&bench);
  g_assert_true (is_filled (bench.back, STANDIN_PATTERN));
  give (&bench, bench.one);
  take (&bench, bench.one);
  g_assert_true (is_filled (bench.back, STANDIN_PATTERN));
  left = standin_list_left ();
  g_assert_true (g_strv_contains ((const char *const *)left,
                                  "2 pieces of work on stream 0 that nobody waited for"));
  cudaStreamSynchronize (bench.two);
  g_assert_true (is_filled (bench.back, STANDIN_PATTERN));
  cudaStreamSynchronize (bench.one);
  g_assert_true (is_filled (bench.back, 1));
  take (&bench, bench.one); /* nobody shall take the old for the new */
  g_assert_true (is_filled (bench.back, STANDIN_PATTERN));
  bench_clear (&bench);
  standin_test_misuses ("");
  g_strfreev (left);
  left = standin_list_left ();
  g_assert_cmpuint (g_strv_length (left), ==, 0);
}

/* an event has what is before it done, in its own stream and in those that it waited for */
static void
test_events (void)
{
  Bench bench;
  float milliseconds = -1;
  HrCudaEvent begin;

  bench_init (&bench);
  cudaEventCreateWithFlags (&begin, HR_CUDA_EVENT_DEFAULT);
  cudaEventRecord (begin, bench.one);
  give (&bench, bench.one);
  cudaEventRecord (bench.event, bench.one);
  g_assert_cmpint (cudaEventElapsedTime (&milliseconds, begin, bench.event), ==, HR_CUDA_NOT_READY);
  cudaStreamWaitEvent (bench.two, bench.event, 0);
  take (&bench, bench.two);
  cudaEventRecord (bench.event, bench.two); /* the wait is for the record before */
  g_assert_cmpint (cudaEventQuery (bench.event), ==, HR_CUDA_NOT_READY);
  g_assert_true (is_filled (bench.back, STANDIN_PATTERN));
  cudaEventSynchronize (bench.event);
  g_assert_true (is_filled (bench.back, 1));
  g_assert_cmpint (cudaEventQuery (bench.event), ==, 0);
  g_assert_cmpint (cudaEventElapsedTime (&milliseconds, begin, bench.event), ==, 0);
  g_assert_cmpfloat (milliseconds, >, 0);
  cudaEventRecord (bench.event, bench.two); /* who asks often enough gets it done */
  g_assert_cmpint (cudaEventQuery (bench.event), ==, HR_CUDA_NOT_READY);
  g_assert_cmpint (cudaEventQuery (bench.event), ==, HR_CUDA_NOT_READY);
  g_assert_cmpint (cudaEventQuery (bench.event), ==, 0);
  cudaEventDestroy (begin);
  bench_clear (&bench);
  standin_test_misuses ("");
}

/* from one place of a device to another */
static void
test_within (void)
{
  Bench bench;
  guint8 *other;

  bench_init (&bench);
  cudaMalloc ((void **)&other, SIZE);
  give (&bench, bench.one);
  g_assert_cmpint (cudaMemcpyAsync (other, bench.device, SIZE, 3, bench.one), ==, 0);
  cudaMemcpyAsync (bench.back, other, SIZE, HR_CUDA_DEVICE_TO_HOST, bench.one);
  cudaStreamSynchronize (bench.one);
  g_assert_true (is_filled (bench.back, 1));
  g_assert_cmpint (cudaMemcpyAsync (other, bench.host, SIZE, 3, bench.one), !=, 0);
  standin_test_misuses ("bad-address");
  cudaFree (other);
  bench_clear (&bench);
}

/* ---- what is wrong: one after the other ---- */

static void
test_unordered_read (void)
{
  Bench bench;

  bench_init (&bench);
  give (&bench, bench.one);
  take (&bench, bench.two);
  standin_test_misuses ("unordered");
  bench_clear (&bench);
}

static void *
wait_for (void *stream)
{
  cudaStreamSynchronize (stream);
  return NULL;
}

/* that another thread has waited for it orders nothing, but frees what was used */
static void
test_other_thread (void)
{
  Bench bench;
  guint8 *other;
  pthread_t thread;

  bench_init (&bench);
  cudaMalloc ((void **)&other, SIZE);
  cudaMemcpyAsync (other, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  give (&bench, bench.one);
  pthread_create (&thread, NULL, wait_for, bench.one);
  pthread_join (thread, NULL);
  cudaFree (other);
  standin_test_misuses ("");
  take (&bench, bench.two);
  standin_test_misuses ("unordered");
  cudaStreamSynchronize (bench.one);
  take (&bench, bench.two);
  standin_test_misuses ("");
  bench_clear (&bench);
}

/* bytes that are still read are written again; another stream's event does not help */
static void
test_unordered_write (void)
{
  Bench bench;

  bench_init (&bench);
  give (&bench, bench.one);
  cudaEventRecord (bench.event, bench.one);
  cudaStreamWaitEvent (bench.two, bench.event, 0);
  take (&bench, bench.two);
  standin_test_misuses ("");
  give (&bench, bench.one);
  standin_test_misuses ("unordered");
  bench_clear (&bench);
}

/* even if by luck it was done in time */
static void
test_early_free (void)
{
  Bench bench;
  guint8 *device;

  bench_init (&bench);
  cudaMalloc ((void **)&device, SIZE);
  cudaMemcpyAsync (device, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  g_assert_cmpint (cudaFree (device), ==, 0);
  standin_test_misuses ("early-free");
  bench_clear (&bench);
}

static void
test_early_free_host (void)
{
  Bench bench;
  guint8 *host;

  bench_init (&bench);
  cudaHostAlloc ((void **)&host, SIZE, 0);
  cudaMemcpyAsync (bench.device, host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  g_assert_cmpint (cudaFreeHost (host), ==, 0);
  standin_test_misuses ("early-free");
  bench_clear (&bench);
}

/* pinned memory that goes back to a pool, and is used again, before it was read */
static void
test_changed (void)
{
  Bench bench;

  bench_init (&bench);
  give (&bench, bench.one);
  bench.host[SIZE - 1] = 2;
  cudaStreamSynchronize (bench.one);
  standin_test_misuses ("changed-in-flight");
  bench_clear (&bench);
}

static void
test_pageable (void)
{
  Bench bench;
  guint8 pageable[SIZE];

  bench_init (&bench);
  memset (pageable, 3, SIZE);
  cudaMemcpyAsync (bench.device, pageable, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  standin_test_misuses ("pageable");
  memset (pageable, 4, SIZE); /* it was copied aside */
  take (&bench, bench.one);
  cudaMemcpyAsync (pageable, bench.device, SIZE, HR_CUDA_DEVICE_TO_HOST, bench.one);
  standin_test_misuses ("pageable");
  g_assert_true (is_filled (pageable, 3));
  g_assert_true (is_filled (bench.back, 3)); /* all before it was done too */
  bench_clear (&bench);
}

static void
test_unwritten (void)
{
  Bench bench;

  bench_init (&bench);
  cudaMemcpyAsync (bench.device, bench.host, SIZE - 1, HR_CUDA_HOST_TO_DEVICE, bench.one);
  take (&bench, bench.one);
  standin_test_misuses ("unwritten");
  cudaMemcpyAsync (bench.device + SIZE - 1, bench.host, 1, HR_CUDA_HOST_TO_DEVICE, bench.one);
  take (&bench, bench.one);
  standin_test_misuses ("");
  bench_clear (&bench);
}

static void
test_frees (void)
{
  Bench bench;
  guint8 *device, *host;

  bench_init (&bench);
  cudaMalloc ((void **)&device, SIZE);
  cudaHostAlloc ((void **)&host, SIZE, 0);
  g_assert_cmpint (cudaFree (device + 1), ==, HR_CUDA_INVALID_VALUE);
  g_assert_cmpint (cudaFree (host), ==, HR_CUDA_INVALID_VALUE);
  g_assert_cmpint (cudaFreeHost (device), ==, HR_CUDA_INVALID_VALUE);
  standin_test_misuses ("bad-free bad-free bad-free");
  cudaFree (device);
  cudaFreeHost (host);
  standin_test_misuses ("");
  g_assert_cmpint (cudaFree (device), ==, HR_CUDA_INVALID_VALUE);
  g_assert_cmpint (cudaFreeHost (host), ==, HR_CUDA_INVALID_VALUE);
  standin_test_misuses ("double-free double-free");
  cudaMemcpyAsync (device, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  standin_test_misuses ("use-after-free");
  cudaMemcpyAsync (bench.device, host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  standin_test_misuses ("use-after-free");
  bench_clear (&bench);
}

static void
test_addresses (void)
{
  Bench bench;

  bench_init (&bench);
  cudaMemcpyAsync (bench.device + 1, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  cudaMemcpyAsync (bench.device, bench.host + 1, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  cudaMemcpyAsync (bench.host, bench.device, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  cudaMemcpyAsync (bench.back, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  standin_test_misuses ("bad-address bad-address bad-address bad-address");
  bench_clear (&bench);
}

static void
test_handles (void)
{
  Bench bench;
  HrCudaStream gone;
  HrCudaEvent past;

  bench_init (&bench);
  cudaStreamCreateWithFlags (&gone, HR_CUDA_STREAM_NON_BLOCKING);
  cudaEventCreateWithFlags (&past, HR_CUDA_EVENT_DEFAULT);
  cudaStreamDestroy (gone);
  cudaEventDestroy (past);
  give (&bench, bench.one);
  g_assert_cmpint (cudaStreamSynchronize (gone), !=, 0);
  g_assert_cmpint (cudaEventRecord (past, bench.one), !=, 0);
  g_assert_cmpint (cudaEventSynchronize ((HrCudaEvent)(gpointer)bench.one), !=, 0);
  g_assert_cmpint (cudaLibraryUnload ((HrCudaLibrary)(gpointer)bench.one), !=, 0);
  standin_test_misuses ("bad-stream bad-event bad-event bad-library");
  bench_clear (&bench);
}

static void
test_never_recorded (void)
{
  Bench bench;

  bench_init (&bench);
  g_assert_cmpint (cudaStreamWaitEvent (bench.one, bench.event, 0), ==, 0);
  g_assert_cmpint (cudaEventSynchronize (bench.event), ==, 0);
  g_assert_cmpint (cudaEventQuery (bench.event), ==, 0);
  standin_test_misuses ("never-recorded never-recorded never-recorded");
  bench_clear (&bench);
}

/* ---- several devices: of a process that was told so ---- */

static void
test_devices (void)
{
  Bench bench;
  guint8 *other;
  HrCudaEvent event;
  int n;

  if (!g_test_subprocess ()) {
    standin_test_in_process ("HR_STANDIN_DEVICES", "2");
    return;
  }
  cudaGetDeviceCount (&n);
  g_assert_cmpint (n, ==, 2);
  bench_init (&bench);
  g_assert_cmpint (cudaSetDevice (2), ==, HR_CUDA_INVALID_DEVICE);
  g_assert_cmpint (cudaSetDevice (1), ==, 0);
  cudaMalloc ((void **)&other, SIZE);
  cudaEventCreateWithFlags (&event, HR_CUDA_EVENT_DEFAULT);
  cudaMemcpyAsync (other, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  g_assert_cmpint (cudaEventRecord (event, bench.one), !=, 0);
  standin_test_misuses ("wrong-device wrong-device");
  give (&bench, bench.one); /* that is allowed */
  standin_test_misuses ("");
  cudaFree (other);
  cudaEventDestroy (event);
  cudaSetDevice (0);
  bench_clear (&bench);
}

/* ---- no device, too little memory, what fails ---- */

static void
check_count (int expected)
{
  int n = -1;
  void *memory;

  g_assert_cmpint (cudaGetDeviceCount (&n), ==, expected);
  g_assert_cmpint (n, ==, 0);
  g_assert_cmpint (cudaMalloc (&memory, 1), ==, expected);
  g_assert_cmpint (cudaGetLastError (), ==, expected);
  g_assert_cmpint (cudaGetLastError (), ==, 0);
}

static void
test_no_device (void)
{
  if (g_test_subprocess ())
    check_count (HR_CUDA_NO_DEVICE);
  else
    standin_test_in_process ("HR_STANDIN_DEVICES", "0");
}

static void
test_no_driver (void)
{
  if (g_test_subprocess ())
    check_count (HR_CUDA_INSUFFICIENT_DRIVER);
  else
    standin_test_in_process ("HR_STANDIN_DRIVER", "0");
}

static void
test_memory (void)
{
  void *memory, *more;
  size_t available, total;

  if (!g_test_subprocess ()) {
    standin_test_in_process ("HR_STANDIN_MEMORY", "10000");
    return;
  }
  for (guint i = 0; i < 100; i++) { /* far more than there are addresses */
    g_assert_cmpint (cudaMalloc (&memory, 9000), ==, 0);
    cudaMemGetInfo (&available, &total);
    g_assert_cmpuint (available, ==, 1000);
    g_assert_cmpuint (total, ==, 10000);
    g_assert_cmpint (cudaMalloc (&more, 1001), ==, HR_CUDA_NO_MEMORY);
    cudaFree (memory);
  }
}

static void
test_fail (void)
{
  void *memory;

  if (!g_test_subprocess ()) {
    standin_test_in_process ("HR_STANDIN_FAIL", "HostAlloc:2=2,MemGetInfo=999");
    return;
  }
  g_assert_cmpint (cudaMemGetInfo (NULL, NULL), ==, 999);
  g_assert_cmpint (cudaMemGetInfo (NULL, NULL), ==, 999);
  g_assert_cmpint (cudaHostAlloc (&memory, 1, 0), ==, 0);
  cudaFreeHost (memory);
  g_assert_cmpint (cudaHostAlloc (&memory, 1, 0), ==, 2);
  g_assert_cmpint (cudaHostAlloc (&memory, 1, 0), ==, 0);
  cudaFreeHost (memory);
}

/* ---- the CPU cannot touch what it must not ---- */

static void
test_faults (gconstpointer data)
{
  Bench bench;

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, 0);
    g_test_trap_assert_failed ();
    g_test_trap_assert_stderr_unmatched ("*came back*");
    return;
  }
  bench_init (&bench);
  if (strcmp (data, "device") == 0)
    *(volatile guint8 *)bench.device = 1;
  else if (strcmp (data, "freed") == 0) {
    cudaFreeHost (bench.host);
    *(volatile guint8 *)bench.host = 1;
  } else
    ((volatile guint8 *)bench.host)[4096] = 1;
  g_printerr ("came back\n");
}

/* ---- the end of a process ---- */

static void
test_exit (gconstpointer data)
{
  void *memory;

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, 0);
    if (strcmp (data, "clean") == 0)
      g_test_trap_assert_passed ();
    else
      g_test_trap_assert_failed ();
    if (strcmp (data, "leak") == 0)
      g_test_trap_assert_stderr ("*left at exit: memory of device 0: 1234 bytes*");
    else if (strcmp (data, "misuse") == 0)
      g_test_trap_assert_stderr ("*cuda stand-in: double-free*");
    return;
  }
  cudaMalloc (&memory, 1234);
  if (strcmp (data, "leak") != 0)
    cudaFree (memory);
  if (strcmp (data, "misuse") == 0)
    cudaFree (memory);
}

/* the same in all orders: misuse is found even when everything is done at once */
static void
test_orders (gconstpointer order)
{
  if (!g_test_subprocess ()) {
    standin_test_in_process ("HR_STANDIN_ORDER", order);
    return;
  }
  for (guint i = 0; i < 20; i++) {
    Bench bench;

    test_unordered_write ();
    test_early_free ();
    test_early_free_host ();
    bench_init (&bench);
    give (&bench, bench.one);
    take (&bench, bench.two);
    standin_test_misuses ("unordered");
    bench_clear (&bench);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda/standin/late", test_late);
  g_test_add_func ("/cuda/standin/events", test_events);
  g_test_add_func ("/cuda/standin/within", test_within);
  g_test_add_func ("/cuda/standin/unordered-read", test_unordered_read);
  g_test_add_func ("/cuda/standin/other-thread", test_other_thread);
  g_test_add_func ("/cuda/standin/unordered-write", test_unordered_write);
  g_test_add_func ("/cuda/standin/early-free", test_early_free);
  g_test_add_func ("/cuda/standin/early-free-host", test_early_free_host);
  g_test_add_func ("/cuda/standin/changed", test_changed);
  g_test_add_func ("/cuda/standin/pageable", test_pageable);
  g_test_add_func ("/cuda/standin/unwritten", test_unwritten);
  g_test_add_func ("/cuda/standin/frees", test_frees);
  g_test_add_func ("/cuda/standin/addresses", test_addresses);
  g_test_add_func ("/cuda/standin/handles", test_handles);
  g_test_add_func ("/cuda/standin/never-recorded", test_never_recorded);
  g_test_add_func ("/cuda/standin/devices", test_devices);
  g_test_add_func ("/cuda/standin/no-device", test_no_device);
  g_test_add_func ("/cuda/standin/no-driver", test_no_driver);
  g_test_add_func ("/cuda/standin/memory", test_memory);
  g_test_add_func ("/cuda/standin/fail", test_fail);
  g_test_add_data_func ("/cuda/standin/faults/device", "device", test_faults);
  g_test_add_data_func ("/cuda/standin/faults/freed", "freed", test_faults);
  g_test_add_data_func ("/cuda/standin/faults/behind", "behind", test_faults);
  g_test_add_data_func ("/cuda/standin/exit/clean", "clean", test_exit);
  g_test_add_data_func ("/cuda/standin/exit/leak", "leak", test_exit);
  g_test_add_data_func ("/cuda/standin/exit/misuse", "misuse", test_exit);
  g_test_add_data_func ("/cuda/standin/orders/now", "now", test_orders);
  g_test_add_data_func ("/cuda/standin/orders/random", "random:1", test_orders);
  g_test_add_data_func ("/cuda/standin/orders/thread", "thread:1", test_orders);
  return g_test_run ();
}
