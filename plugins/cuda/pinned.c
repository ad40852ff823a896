/* pinned.c: CPU memory that a device copies from while we do something else */
#include "pinned.h"
#include <unistd.h>
#include "hr-sync.h"
#include "room.h"

typedef struct _Idle Idle;

/* lies at the start of an idle block */
struct _Idle {
  Idle *next; /* freed before it */
  gsize capacity;
};

typedef struct {
  HrAllocator parent;
  const HrCudart *cudart;
  pid_t pid;
  HrMutex lock;
  Idle *idle;
  gsize max_idle, n_idle_bytes;
} Pinned;

/* the smallest that is not more than twice what is needed; with the lock */
static Idle *
take_idle (Pinned *pinned, gsize capacity)
{
  Idle **best = NULL, *idle;

  for (Idle **at = &pinned->idle; *at != NULL; at = &(*at)->next)
    if ((*at)->capacity >= capacity && (*at)->capacity / 2 <= capacity
        && (best == NULL || (*at)->capacity < (*best)->capacity))
      best = at;
  if (best == NULL)
    return NULL;
  idle = *best;
  *best = idle->next;
  pinned->n_idle_bytes -= idle->capacity;
  return idle;
}

static void
free_all (const Pinned *pinned, Idle *idle)
{
  for (Idle *next; idle != NULL; idle = next) {
    next = idle->next;
    pinned->cudart->FreeHost (idle);
  }
}

static Idle *
take_all (Pinned *pinned)
{
  Idle *all;

  hr_mutex_lock (&pinned->lock);
  all = g_steal_pointer (&pinned->idle);
  pinned->n_idle_bytes = 0;
  hr_mutex_unlock (&pinned->lock);
  return all;
}

static gboolean
pinned_alloc (HrAllocator *allocator, HrMemory *memory, gsize size, GError **error)
{
  Pinned *pinned = (Pinned *)allocator;
  const HrCudart *cudart = pinned->cudart;
  gsize capacity = hr_room_for (size);
  Idle *idle;
  void *bytes = NULL;
  int code;

  hr_mutex_lock (&pinned->lock);
  idle = take_idle (pinned, capacity);
  hr_mutex_unlock (&pinned->lock);
  if (idle != NULL) {
    memory->data = (guint8 *)idle;
    memory->capacity = idle->capacity;
    return TRUE;
  }
  code = cudart->HostAlloc (&bytes, capacity, HR_CUDA_HOST_PORTABLE);
  if (code == HR_CUDA_NO_MEMORY) { /* of other sizes there may be some */
    cudart->GetLastError ();
    free_all (pinned, take_all (pinned));
    code = cudart->HostAlloc (&bytes, capacity, HR_CUDA_HOST_PORTABLE);
  }
  if (code == HR_CUDA_NO_MEMORY) {
    cudart->GetLastError ();
    g_set_error (error, HR_RESOURCE_ERROR, HR_RESOURCE_ERROR_NO_MEMORY,
                 "no page-locked memory for %" G_GSIZE_FORMAT
                 " bytes: lower memory= of the pipeline, or raise the limit of the container",
                 capacity);
    return FALSE;
  }
  if (!hr_cudart_check (cudart, code, "page-locked memory", error))
    return FALSE;
  memory->data = bytes;
  memory->capacity = capacity;
  return TRUE;
}

static void
pinned_free (HrAllocator *allocator, HrMemory *memory)
{
  Pinned *pinned = (Pinned *)allocator;
  Idle *idle = (Idle *)memory->data;
  gboolean keep;

  if (getpid () != pinned->pid) /* a child of fork(): CUDA does not work there */
    return;
  hr_mutex_lock (&pinned->lock);
  keep = pinned->n_idle_bytes + memory->capacity <= pinned->max_idle;
  if (keep) {
    *idle = (Idle){ pinned->idle, memory->capacity };
    pinned->idle = idle;
    pinned->n_idle_bytes += memory->capacity;
  }
  hr_mutex_unlock (&pinned->lock);
  if (!keep)
    pinned->cudart->FreeHost (idle);
}

static void
pinned_finalize (HrAllocator *allocator)
{
  Pinned *pinned = (Pinned *)allocator;

  if (getpid () == pinned->pid)
    free_all (pinned, pinned->idle);
  hr_mutex_clear (&pinned->lock);
  g_free (pinned);
}

HrAllocator *
hr_pinned_new (const HrCudart *cudart, gsize max_idle)
{
  Pinned *pinned = g_new0 (Pinned, 1);

  hr_allocator_init (&pinned->parent, "pinned");
  pinned->parent.alloc = pinned_alloc;
  pinned->parent.free = pinned_free;
  pinned->parent.finalize = pinned_finalize;
  pinned->cudart = cudart;
  pinned->pid = getpid ();
  pinned->max_idle = max_idle;
  hr_mutex_init (&pinned->lock);
  return &pinned->parent;
}
