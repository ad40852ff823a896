/* cudart.c: the functions of CUDA's runtime library that we call, found while the program runs */
#include "cudart.h"
#include <dlfcn.h>
#include <string.h>
#include "hr-error.h"
#include "hr-sync.h"

#define OLDEST 12000
#define DRIVER_LIBRARY "libcuda.so.1"

static const char *const names[] = { "libcudart.so.13", "libcudart.so.12", NULL };

static HrMutex lock = PTHREAD_MUTEX_INITIALIZER;
static HrCudart *loaded; /* for ever, once it is there */

static gboolean
has_name_of_ours (const char *file)
{
  g_autofree char *base = g_path_get_basename (file);

  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (base, names[i]))
      return TRUE;
  return FALSE;
}

/* What the process has under a path that the loader does not search: the lines of
 * /proc/self/maps end with the file's name. (transfer full) (nullable) */
static char *
find_mapped (void)
{
  g_autofree char *maps = NULL;
  g_auto (GStrv) lines = NULL;

  if (!g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL))
    return NULL;
  lines = g_strsplit (maps, "\n", -1);
  for (char **line = lines; *line != NULL; line++) {
    const char *file = strchr (*line, '/');

    if (file != NULL && has_name_of_ours (file))
      return g_strdup (file);
  }
  return NULL;
}

/* two runtimes in one process work, but the one that is there already is the one its driver suits
 */
static void *
open_library (char **path, GError **error)
{
  const char *wanted = g_getenv ("HR_CUDART");
  g_autofree char *mapped = NULL;
  void *library;

  if (wanted != NULL && *wanted != '\0') {
    library = dlopen (wanted, RTLD_NOW | RTLD_LOCAL);
    *path = g_strdup (wanted);
    if (library == NULL)
      g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                   "HR_CUDART names a library that cannot be loaded: %s", dlerror ());
    return library;
  }
  for (guint i = 0; names[i] != NULL; i++)
    if ((library = dlopen (names[i], RTLD_NOW | RTLD_NOLOAD)) != NULL) {
      *path = g_strdup (names[i]);
      return library;
    }
  mapped = find_mapped ();
  if (mapped != NULL && (library = dlopen (mapped, RTLD_NOW | RTLD_LOCAL)) != NULL) {
    *path = g_steal_pointer (&mapped);
    return library;
  }
  for (guint i = 0; names[i] != NULL; i++)
    if ((library = dlopen (names[i], RTLD_NOW | RTLD_LOCAL)) != NULL) {
      *path = g_strdup (names[i]);
      return library;
    }
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
               "CUDA's runtime library is not there: neither %s nor %s is loaded or where the "
               "loader looks; import torch before, install the CUDA runtime, or name the file in "
               "HR_CUDART; without a GPU use patchify and appsink",
               names[0], names[1]);
  return NULL;
}

static gboolean
find_symbol (void *library, const char *prefix, const char *name, const char *path, void **into,
             GError **error)
{
  g_autofree char *symbol = g_strconcat (prefix, name, NULL);

  *into = dlsym (library, symbol);
  if (*into != NULL)
    return TRUE;
  g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
               "%s has no function %s: it is not the runtime of CUDA 12 or 13", path, symbol);
  return FALSE;
}

/* kernels by the driver, for a runtime before 12.8; the library may have them itself */
static gboolean
find_driver (void *library, HrCudart *cudart, GError **error)
{
  const char *path = cudart->path;
  void *driver = library;

  if (dlsym (library, "cuLibraryLoadData") == NULL) {
    driver = dlopen (DRIVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    path = DRIVER_LIBRARY;
  }
  if (driver == NULL) {
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NOT_FOUND,
                 "%s is older than 12.8 and needs the driver's %s: install the NVIDIA driver",
                 cudart->path, DRIVER_LIBRARY);
    return FALSE;
  }
#define X(name, arguments)                                                                         \
  if (!find_symbol (driver, "cu", #name, path, (void **)(void *)&cudart->name, error))             \
    return FALSE;
  HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X
  return find_symbol (driver, "cu", "LaunchKernel", path,
                      (void **)(void *)&cudart->launch_by_driver, error);
}

static gboolean
find_functions (void *library, HrCudart *cudart, GError **error)
{
#define X(name, arguments)                                                                         \
  if (!find_symbol (library, "cuda", #name, cudart->path, (void **)(void *)&cudart->name, error))  \
    return FALSE;
  HR_CUDA_FUNCTIONS (X, X)
  if (dlsym (library, "cudaLibraryLoadData") == NULL)
    return find_driver (library, cudart, error);
  HR_CUDA_LIBRARY_FUNCTIONS (X)
#undef X
  return TRUE;
}

static HrCudart *
load (GError **error)
{
  HrCudart *cudart = g_new0 (HrCudart, 1);
  void *library = open_library (&cudart->path, error);

  if (library != NULL && find_functions (library, cudart, error)
      && hr_cudart_check (cudart, cudart->RuntimeGetVersion (&cudart->version), "its version",
                          error)) {
    if (cudart->version >= OLDEST)
      return cudart;
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_FAILED,
                 "%s is of CUDA %d.%d; 12 or 13 is needed", cudart->path, cudart->version / 1000,
                 cudart->version % 1000 / 10);
  }
  /* the library stays: whoever loaded it, or has begun to use it, may be another thread */
  g_free (cudart->path);
  g_free (cudart);
  return NULL;
}

const HrCudart *
hr_cudart_get (GError **error)
{
  hr_mutex_lock (&lock);
  if (loaded == NULL)
    loaded = load (error);
  hr_mutex_unlock (&lock);
  return loaded;
}

/* ---- errors ---- */

static void
add_driver (const HrCudart *cudart, GString *text)
{
  int version = 0;

  if (cudart->DriverGetVersion (&version) == HR_CUDA_SUCCESS && version > 0)
    g_string_append_printf (text,
                            "the NVIDIA driver is for CUDA %d.%d, the runtime %s for %d.%d: "
                            "install a newer driver, or an older CUDA",
                            version / 1000, version % 1000 / 10, cudart->path,
                            cudart->version / 1000, cudart->version % 1000 / 10);
  else
    g_string_append (text, "there is no NVIDIA driver: install one; without a GPU use patchify and "
                           "appsink");
}

gboolean
hr_cudart_check (const HrCudart *cudart, int code, const char *doing, GError **error)
{
  GString *text;

  if (code == HR_CUDA_SUCCESS)
    return TRUE;
  cudart->GetLastError (); /* else torch finds our error after its next call */
  text = g_string_new (NULL);
  switch (code) {
  case HR_CUDA_INSUFFICIENT_DRIVER:
    add_driver (cudart, text);
    break;
  case HR_CUDA_NO_DEVICE:
    g_string_append (text, "there is no CUDA device: see nvidia-smi and CUDA_VISIBLE_DEVICES; "
                           "without a GPU use patchify and appsink");
    break;
  default:
    g_string_append_printf (text, "%s: %s (%s)", doing, cudart->GetErrorString (code),
                            cudart->GetErrorName (code));
  }
  g_set_error_literal (error, HR_RESOURCE_ERROR,
                       code == HR_CUDA_NO_MEMORY ? HR_RESOURCE_ERROR_NO_MEMORY
                                                 : HR_RESOURCE_ERROR_FAILED,
                       text->str);
  g_string_free (text, TRUE);
  return FALSE;
}
