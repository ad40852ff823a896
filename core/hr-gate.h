/* hr-gate.h: an ordered, weighted semaphore: the byte budget and the CPU permits */
#pragma once
#include "hr-bell.h"
#include "hr-sync.h"

typedef struct _HrGate HrGate;
typedef struct _HrGateWaiter HrGateWaiter;

/* A request; it lives with who waits. Woken through one of @cond and @bell when it is granted. */
struct _HrGateWaiter {
  gint64 number; /* of the sample; the lowest waiter is served first */
  guint segment; /* see hr-steps.h; later ones are served first */
  /* permits, where costs are known: the lowest step, in it the costliest, then the number counts */
  gint64 step;
  guint64 cost;
  guint64 amount;
  HrCond *cond;
  HrBell *bell;
  gboolean granted; /* under the gate's lock; for bell waiters read with hr_gate_is_granted() */
  HrGateWaiter *previous, *next;
};

/* TRUE: the request belongs to the step in hand, it is granted even over the capacity.
 * Called with the gate's lock held; must not lock anything */
typedef gboolean (*HrGateForced) (gpointer data, gint64 number, guint segment);

/* refcounted: what was granted may outlive the pipeline. @forced may be NULL */
HrGate *hr_gate_new (guint64 capacity, HrGateForced forced, gpointer data);
HrGate *hr_gate_ref (HrGate *gate);
void hr_gate_unref (HrGate *gate);
/* the owner of @forced's data goes away: nothing is forced any more */
void hr_gate_detach (HrGate *gate);

/* FALSE: it waits in the list now, until granted or cancelled */
gboolean hr_gate_request (HrGate *gate, HrGateWaiter *waiter);
/* gives up the wait. TRUE: it had been granted meanwhile, and the caller has it */
gboolean hr_gate_cancel (HrGate *gate, HrGateWaiter *waiter);
gboolean hr_gate_is_granted (HrGate *gate, HrGateWaiter *waiter);
/* after hr_gate_request() said FALSE: sleeps until granted or *closed; TRUE if granted */
gboolean hr_gate_wait (HrGate *gate, HrGateWaiter *waiter, const gint *closed,
                       const gint *stopping);
void hr_gate_give (HrGate *gate, guint64 amount);
/* without asking: counted, over the capacity if need be */
void hr_gate_take (HrGate *gate, guint64 amount);
/* if it fits and nobody waits */
gboolean hr_gate_try_take (HrGate *gate, guint64 amount);
/* how much is not taken */
guint64 hr_gate_get_room (HrGate *gate);
/* what is forced may have changed; cheap when nobody waits */
void hr_gate_pump (HrGate *gate);
void hr_gate_set_capacity (HrGate *gate, guint64 capacity);
guint64 hr_gate_get_capacity (HrGate *gate);
/* those in hr_gate_wait() look at *closed again */
void hr_gate_wake (HrGate *gate);

typedef struct {
  guint64 used, max_used, max_over;
  guint64 n_forced;
  guint n_waiting;
} HrGateStats;
void hr_gate_get_stats (HrGate *gate, HrGateStats *stats);
