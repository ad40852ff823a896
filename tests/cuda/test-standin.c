/* the stand-in for CUDA's runtime library: it does what is asked for, and every misuse is found */
#include <pthread.h>
#include <string.h>
#include "kernel-batch.h"
#include "standin/standin.h"

#define X(name, arguments) int cuda##name arguments;
#define T(name, arguments) const char *cuda##name arguments;
HR_CUDA_FUNCTIONS (X, T)
HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X
#undef T

#define SIZE 1000

/* a header, and an entry that says "PTX for 8.0" */
static const guint32 code_ptx[] = { 0xBA55ED50, 0x00100001, 64, 0, 0x01010001, 64, 0, 0, 0, 0,
                                    0,          80,         0,  0, 0,          0,  0, 0, 0, 0 };
/* and one that says "machine code for 7.5" */
static const guint32 code_75[] = { 0xBA55ED50, 0x00100001, 64, 0, 0x01010002, 64, 0, 0, 0, 0,
                                   0,          75,         0,  0, 0,          0,  0, 0, 0, 0 };

/* ---- what was misused ---- */

/* @kinds: with spaces, in their order; "" for none */
static void
assert_misuses (const char *kinds)
{
  g_auto (GStrv) taken = standin_take_misuses ();
  g_autoptr (GString) got = g_string_new ("");

  for (guint i = 0; taken[i] != NULL; i++)
    g_string_append_printf (got, "%s%.*s", i > 0 ? " " : "", (int)strcspn (taken[i], ":"),
                            taken[i]);
  if (strcmp (got->str, kinds) != 0) {
    g_autofree char *all = g_strjoinv ("\n", taken);

    g_error ("expected \"%s\", not:\n%s", kinds, all);
  }
}

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
  bench_clear (&bench);
  assert_misuses ("");
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
  assert_misuses ("");
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
  assert_misuses ("bad-address");
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
  assert_misuses ("unordered");
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
  assert_misuses ("");
  take (&bench, bench.two);
  assert_misuses ("unordered");
  cudaStreamSynchronize (bench.one);
  take (&bench, bench.two);
  assert_misuses ("");
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
  assert_misuses ("");
  give (&bench, bench.one);
  assert_misuses ("unordered");
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
  assert_misuses ("early-free");
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
  assert_misuses ("early-free");
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
  assert_misuses ("changed-in-flight");
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
  assert_misuses ("pageable");
  memset (pageable, 4, SIZE); /* it was copied aside */
  take (&bench, bench.one);
  cudaMemcpyAsync (pageable, bench.device, SIZE, HR_CUDA_DEVICE_TO_HOST, bench.one);
  assert_misuses ("pageable");
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
  assert_misuses ("unwritten");
  cudaMemcpyAsync (bench.device + SIZE - 1, bench.host, 1, HR_CUDA_HOST_TO_DEVICE, bench.one);
  take (&bench, bench.one);
  assert_misuses ("");
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
  assert_misuses ("bad-free bad-free bad-free");
  cudaFree (device);
  cudaFreeHost (host);
  assert_misuses ("");
  g_assert_cmpint (cudaFree (device), ==, HR_CUDA_INVALID_VALUE);
  g_assert_cmpint (cudaFreeHost (host), ==, HR_CUDA_INVALID_VALUE);
  assert_misuses ("double-free double-free");
  cudaMemcpyAsync (device, bench.host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  assert_misuses ("use-after-free");
  cudaMemcpyAsync (bench.device, host, SIZE, HR_CUDA_HOST_TO_DEVICE, bench.one);
  assert_misuses ("use-after-free");
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
  assert_misuses ("bad-address bad-address bad-address bad-address");
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
  assert_misuses ("bad-stream bad-event bad-event bad-library");
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
  assert_misuses ("never-recorded never-recorded never-recorded");
  bench_clear (&bench);
}

/* ---- several devices: of a process that was told so ---- */

static void
in_process (const char *variable, const char *value)
{
  g_setenv (variable, value, TRUE);
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
  g_unsetenv (variable);
  g_test_trap_assert_passed ();
}

static void
test_devices (void)
{
  Bench bench;
  guint8 *other;
  HrCudaEvent event;
  int n;

  if (!g_test_subprocess ()) {
    in_process ("HR_STANDIN_DEVICES", "2");
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
  assert_misuses ("wrong-device wrong-device");
  give (&bench, bench.one); /* that is allowed */
  assert_misuses ("");
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
    in_process ("HR_STANDIN_DEVICES", "0");
}

static void
test_no_driver (void)
{
  if (g_test_subprocess ())
    check_count (HR_CUDA_INSUFFICIENT_DRIVER);
  else
    in_process ("HR_STANDIN_DRIVER", "0");
}

static void
test_memory (void)
{
  void *memory, *more;
  size_t available, total;

  if (!g_test_subprocess ()) {
    in_process ("HR_STANDIN_MEMORY", "10000");
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
    in_process ("HR_STANDIN_FAIL", "HostAlloc:2=2,MemGetInfo=999");
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

/* ---- the kernel ---- */

typedef struct {
  KernelBatch batch;
  HrCudaStream one, two;
  HrCudaEvent event;
  HrCudaLibrary library;
  HrCudaKernel kernel;
  guint8 *host, *device; /* images, table, pixels */
  gsize n_bytes, table_at, pixels_at;
  guint8 *out, *back;
  HrPatchParams params;
} Launch;

static void
launch_init (Launch *launch, gconstpointer code)
{
  static const double half[] = { 0.5, 0.5, 0.5 };
  const HrPatchShape shape = { 16, 2, 2 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_test_rand_int ());
  HrPatchTable table;
  gsize table_size = 768 * 2;

  hr_patch_table_init (&table, HR_PATCH_BFLOAT16, HR_PATCH_TORCHVISION, half, half, 1.0 / 255);
  kernel_batch_init (&launch->batch, &shape, &table, 3, 0, rand);
  launch->params = launch->batch.params;
  launch->table_at = 256;
  launch->pixels_at = 2048;
  launch->n_bytes = launch->pixels_at + launch->batch.n_pixel_bytes;
  cudaStreamCreateWithFlags (&launch->one, HR_CUDA_STREAM_NON_BLOCKING);
  cudaStreamCreateWithFlags (&launch->two, HR_CUDA_STREAM_NON_BLOCKING);
  cudaEventCreateWithFlags (&launch->event, HR_CUDA_EVENT_DISABLE_TIMING);
  g_assert_cmpint (cudaLibraryLoadData (&launch->library, code, NULL, NULL, 0, NULL, NULL, 0), ==,
                   0);
  g_assert_cmpint (cudaLibraryGetKernel (&launch->kernel, launch->library, "other"), ==,
                   HR_CUDA_NOT_FOUND);
  g_assert_cmpint (cudaLibraryGetKernel (&launch->kernel, launch->library, HR_PATCH_KERNEL), ==, 0);
  cudaHostAlloc ((void **)&launch->host, launch->n_bytes, 0);
  cudaHostAlloc ((void **)&launch->back, launch->batch.n_bytes, 0);
  cudaMalloc ((void **)&launch->device, launch->n_bytes);
  cudaMalloc ((void **)&launch->out, launch->batch.n_bytes);
  memcpy (launch->host, launch->batch.images, 3 * sizeof (HrPatchImage));
  memcpy (launch->host + launch->table_at, launch->batch.params.table, table_size);
  memcpy (launch->host + launch->pixels_at, launch->batch.pixels, launch->batch.n_pixel_bytes);
  launch->params.images = (const HrPatchImage *)(gpointer)launch->device;
  launch->params.table = launch->device + launch->table_at;
  launch->params.pixels = launch->device + launch->pixels_at;
  launch->params.out = launch->out;
}

static void
launch_clear (Launch *launch)
{
  cudaStreamSynchronize (launch->one);
  cudaStreamSynchronize (launch->two);
  cudaFree (launch->device);
  cudaFree (launch->out);
  cudaFreeHost (launch->host);
  cudaFreeHost (launch->back);
  cudaLibraryUnload (launch->library);
  cudaEventDestroy (launch->event);
  cudaStreamDestroy (launch->one);
  cudaStreamDestroy (launch->two);
  kernel_batch_clear (&launch->batch);
}

static void
launch_give (Launch *launch)
{
  cudaMemcpyAsync (launch->device, launch->host, launch->n_bytes, HR_CUDA_HOST_TO_DEVICE,
                   launch->one);
}

static int
launch_run (Launch *launch, HrCudaStream stream)
{
  void *arguments[] = { &launch->params };

  return cudaLaunchKernel (launch->kernel, (HrCudaSize){ hr_patch_blocks (&launch->params), 1, 1 },
                           (HrCudaSize){ HR_PATCH_THREADS, 1, 1 }, arguments, 0, stream);
}

static void
launch_take (Launch *launch, HrCudaStream stream)
{
  cudaMemcpyAsync (launch->back, launch->out, launch->batch.n_bytes, HR_CUDA_DEVICE_TO_HOST,
                   stream);
}

static void
check_run (HrCudaStream (*choose) (Launch *), const char *misuses)
{
  Launch launch;
  HrCudaStream stream;

  launch_init (&launch, code_ptx);
  stream = choose (&launch);
  launch_give (&launch);
  if (stream != launch.one && *misuses == '\0') {
    cudaEventRecord (launch.event, launch.one);
    cudaStreamWaitEvent (stream, launch.event, 0);
  }
  g_assert_cmpint (launch_run (&launch, stream), ==, 0);
  launch_take (&launch, stream);
  cudaStreamSynchronize (stream);
  if (*misuses == '\0')
    g_assert_cmpmem (launch.back, launch.batch.n_bytes, launch.batch.expected,
                     launch.batch.n_bytes);
  assert_misuses (misuses);
  launch_clear (&launch);
  assert_misuses ("");
}

static HrCudaStream
same_stream (Launch *launch)
{
  return launch->one;
}

static HrCudaStream
other_stream (Launch *launch)
{
  return launch->two;
}

static void
test_kernel (void)
{
  check_run (same_stream, "");
  check_run (other_stream, "");
}

/* list, table and three images are read though their copy is on a stream that nobody waited for;
 * what the kernel then had was not its list */
static void
test_kernel_unordered (void)
{
  check_run (other_stream, "unordered unordered unordered unordered unordered unwritten");
}

/* what it reads is not there, or its places are none */
static void
test_kernel_arguments (void)
{
  Launch launch;

  launch_init (&launch, code_ptx);
  launch_give (&launch);
  launch.params.pixels += 16;
  launch_run (&launch, launch.one);
  assert_misuses ("bad-address");
  launch.params = launch.batch.params; /* the host's pointers */
  launch.params.out = launch.out;
  launch_run (&launch, launch.one);
  assert_misuses ("bad-address bad-address");
  launch_clear (&launch);

  launch_init (&launch, code_ptx);
  launch_give (&launch);
  launch.params.n_rows -= 1;
  launch_run (&launch, launch.one);
  assert_misuses ("bad-launch");
  launch.params.n_rows += 1;
  launch.params.out = launch.out + 64;
  launch_run (&launch, launch.one);
  assert_misuses ("bad-launch");
  g_assert_cmpint (launch_run (&launch, launch.one), ==, 0);
  assert_misuses ("bad-launch");
  launch_clear (&launch);
  assert_misuses ("");
}

/* code for other devices is found out by loading it, or not before it runs */
static void
test_code (void)
{
  static const guint32 other[] = { 0x464C457F, 0, 0, 0 };
  HrCudaLibrary library;
  Launch launch;

  g_assert_cmpint (cudaLibraryLoadData (&library, other, NULL, NULL, 0, NULL, NULL, 0), ==,
                   HR_CUDA_INVALID_IMAGE);
  launch_init (&launch, code_75);
  launch_give (&launch);
  g_assert_cmpint (launch_run (&launch, launch.one), ==, HR_CUDA_NO_KERNEL_IMAGE);
  launch_clear (&launch);
  assert_misuses ("");
}

static void
test_code_eager (void)
{
  HrCudaLibrary library;

  if (g_test_subprocess ())
    g_assert_cmpint (cudaLibraryLoadData (&library, code_75, NULL, NULL, 0, NULL, NULL, 0), ==,
                     HR_CUDA_NO_KERNEL_IMAGE);
  else
    in_process ("HR_STANDIN_LAZY", "0");
}

/* the same in all orders: misuse is found even when everything is done at once */
static void
test_orders (gconstpointer order)
{
  if (!g_test_subprocess ()) {
    in_process ("HR_STANDIN_ORDER", order);
    return;
  }
  for (guint i = 0; i < 20; i++) {
    Bench bench;

    check_run (same_stream, "");
    check_run (other_stream, "");
    test_unordered_write ();
    test_early_free ();
    test_early_free_host ();
    bench_init (&bench);
    give (&bench, bench.one);
    take (&bench, bench.two);
    assert_misuses ("unordered");
    bench_clear (&bench);
  }
}

#ifdef HR_FATBIN
/* what nvcc made is what the stand-in takes for code */
static void
test_real_code (void)
{
  g_autofree char *code = NULL;
  Launch launch;

  g_assert_true (g_file_get_contents (HR_FATBIN, &code, NULL, NULL));
  launch_init (&launch, code);
  launch_give (&launch);
  g_assert_cmpint (launch_run (&launch, launch.one), ==, 0);
  launch_clear (&launch);
}
#endif

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
  g_test_add_func ("/cuda/standin/kernel", test_kernel);
  g_test_add_func ("/cuda/standin/kernel-unordered", test_kernel_unordered);
  g_test_add_func ("/cuda/standin/kernel-arguments", test_kernel_arguments);
  g_test_add_func ("/cuda/standin/code", test_code);
  g_test_add_func ("/cuda/standin/code-eager", test_code_eager);
  g_test_add_data_func ("/cuda/standin/orders/now", "now", test_orders);
  g_test_add_data_func ("/cuda/standin/orders/random", "random:1", test_orders);
  g_test_add_data_func ("/cuda/standin/orders/thread", "thread:1", test_orders);
#ifdef HR_FATBIN
  g_test_add_func ("/cuda/standin/real-code", test_real_code);
#endif
  return g_test_run ();
}
