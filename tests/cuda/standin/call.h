/* call.h: what every function of the library begins and ends with */
#pragma once
#include "standin.h"

#define STANDIN_INVALID_HANDLE 400 /* cudaErrorInvalidResourceHandle */

#define X(name, arguments) int cuda##name arguments;
#define T(name, arguments) const char *cuda##name arguments;
HR_CUDA_FUNCTIONS (X, T)
#undef X
#undef T

/* the device of the calling thread */
extern __thread int standin_device;
/* ends a function: @code is the thread's last error, and what is returned */
int standin_leave (int code);
/* 0, or why there are no devices */
int standin_find_devices (void);
/* objects that are known for ever, by their addresses */
gpointer standin_remember (GPtrArray **list, gpointer object);
gboolean standin_knows (const GPtrArray *list, gconstpointer object);

/* begins a function: returns from it with the error that is asked for */
#define ENTER(name)                                                                                \
  do {                                                                                             \
    int failure_;                                                                                  \
                                                                                                   \
    standin_lock ();                                                                               \
    standin_work_go_on ();                                                                         \
    failure_ = standin_fail (name);                                                                \
    if (failure_ != 0)                                                                             \
      return standin_leave (failure_);                                                             \
  } while (0)

/* and one that needs a device */
#define ENTER_DEVICE(name)                                                                         \
  do {                                                                                             \
    ENTER (name);                                                                                  \
    if (standin_find_devices () != 0)                                                              \
      return standin_leave (standin_find_devices ());                                              \
  } while (0)
