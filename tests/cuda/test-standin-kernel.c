/* the kernel on the stand-in: what it reads and writes is checked, and done by its own body */
#include <string.h>
#include "kernel-batch.h"
#include "standin-test.h"

/* a header, and an entry that says "PTX for 8.0" */
static const guint32 code_ptx[] = { 0xBA55ED50, 0x00100001, 64, 0, 0x01010001, 64, 0, 0, 0, 0,
                                    0,          80,         0,  0, 0,          0,  0, 0, 0, 0 };
/* and one that says "machine code for 7.5" */
static const guint32 code_75[] = { 0xBA55ED50, 0x00100001, 64, 0, 0x01010002, 64, 0, 0, 0, 0,
                                   0,          75,         0,  0, 0,          0,  0, 0, 0, 0 };

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
  standin_test_misuses (misuses);
  launch_clear (&launch);
  standin_test_misuses ("");
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
  standin_test_misuses ("bad-address");
  launch.params = launch.batch.params; /* the host's pointers */
  launch.params.out = launch.out;
  launch_run (&launch, launch.one);
  standin_test_misuses ("bad-address bad-address");
  launch_clear (&launch);

  launch_init (&launch, code_ptx);
  ((HrPatchImage *)(gpointer)launch.host)[1].width += 16; /* half a token */
  launch_give (&launch);
  launch_run (&launch, launch.one);
  standin_test_misuses ("bad-launch");
  launch_clear (&launch);

  launch_init (&launch, code_ptx);
  launch_give (&launch);
  launch.params.n_rows -= 1;
  launch_run (&launch, launch.one);
  standin_test_misuses ("bad-launch");
  launch.params.n_rows += 1;
  launch.params.out = launch.out + 64;
  launch_run (&launch, launch.one);
  standin_test_misuses ("bad-launch");
  g_assert_cmpint (launch_run (&launch, launch.one), ==, 0);
  standin_test_misuses ("bad-launch");
  launch_clear (&launch);
  standin_test_misuses ("");
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
  standin_test_misuses ("");
}

static void
test_code_eager (void)
{
  HrCudaLibrary library;

  if (g_test_subprocess ())
    g_assert_cmpint (cudaLibraryLoadData (&library, code_75, NULL, NULL, 0, NULL, NULL, 0), ==,
                     HR_CUDA_NO_KERNEL_IMAGE);
  else
    standin_test_in_process ("HR_STANDIN_LAZY", "0");
}

/* the same in all orders */
static void
test_orders (gconstpointer order)
{
  if (!g_test_subprocess ()) {
    standin_test_in_process ("HR_STANDIN_ORDER", order);
    return;
  }
  for (guint i = 0; i < 20; i++) {
    check_run (same_stream, "");
    check_run (other_stream, "");
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
  g_test_add_func ("/cuda/standin/kernel/right", test_kernel);
  g_test_add_func ("/cuda/standin/kernel/unordered", test_kernel_unordered);
  g_test_add_func ("/cuda/standin/kernel/arguments", test_kernel_arguments);
  g_test_add_func ("/cuda/standin/kernel/code", test_code);
  g_test_add_func ("/cuda/standin/kernel/code-eager", test_code_eager);
  g_test_add_data_func ("/cuda/standin/kernel/orders/now", "now", test_orders);
  g_test_add_data_func ("/cuda/standin/kernel/orders/random", "random:1", test_orders);
  g_test_add_data_func ("/cuda/standin/kernel/orders/thread", "thread:1", test_orders);
#ifdef HR_FATBIN
  g_test_add_func ("/cuda/standin/kernel/real-code", test_real_code);
#endif
  return g_test_run ();
}
