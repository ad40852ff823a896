/* hr-link.h: a bounded queue between two elements, with the order of its consumer's workers
 *
 * An item has a ticket, its place in the order; what comes of it is deposited under that ticket and
 * leaves in the order of the tickets. Popped are only tickets of the `window` that begins with the
 * lowest that has not left. A status (ended by the producer, closed
 * by the consumer) is seen after the queued items. */
#pragma once
#include "hr-bell.h"
#include "hr-buffer.h"
#include "hr-element-private.h"
#include "hr-sync.h"

/* what happens to the numbers of the buffers a link accepts */
typedef enum {
  HR_STAMP_KEEP,    /* they have been numbered upstream */
  HR_STAMP_SAMPLES, /* these are samples: number them, when their step is released */
  HR_STAMP_COUNT,   /* blocks of text, batches: a number of their own, the sample's stays */
  HR_STAMP_JOINED,  /* behind a join of several streams of samples: number them anew */
  HR_STAMP_AGAIN    /* behind an unordered element */
} HrStamp;

typedef struct {
  HrBuffer *buffer;
  gsize bytes;
  gint64 ticket; /* its place in the order */
  /* only where the link weighs */
  gint64 step;  /* the same for samples that come into hand together; grows with the order */
  guint64 cost; /* how long the consumer will take; 0: not known */
} HrLinkItem;

/* what a ticket (or a run of n tickets) has become */
typedef struct {
  HrBuffer **buffers;
  guint n_buffers;
  guint n_tickets; /* 0: not deposited yet */
  gsize bytes;
} HrLinkSlot;

typedef struct _HrSplit HrSplit; /* a sample whose members several workers share: hr-each.c */

typedef struct {
  HrSplit *split;
  guint index;
} HrMember;

struct _HrLink {
  HrElement *from, *to;
  guint from_pad, to_pad;

  HrMutex lock;
  HrCond not_empty, not_full, parked;
  guint n_popping, n_pushing;  /* how many wait for not_empty and not_full */
  gboolean from_bell, to_bell; /* the producer's, the consumer's bell wants to ring */
  HrLinkItem *ring;
  guint ring_size, head, count;
  gsize bytes;
  guint64 max_items, max_bytes;
  guint min_fill;     /* items wanted before the first is popped */
  gsize wanted_bytes; /* of the buffer that hr_link_push_some() had no room for */
  gboolean ended, closed;

  HrStamp stamp;
  gint64 next_number;  /* written with the lock, read without too */
  gboolean raw;        /* blocks, not samples yet */
  gboolean planned;    /* a plan says how many samples come */
  gboolean is_bounded; /* … or the run's steps, how many buffers: */
  gint64 last_number;
  guint64 n_samples; /* where they get their numbers; of batches from elsewhere: all members */
  guint group;       /* samples in each buffer */
  guint segment;     /* HR_STAMP_AGAIN: the one that ends here */

  gboolean weighs; /* workers of the consumer start the costliest of a step first: hr-choice.c */
  gint64 accepted; /* tickets given to items */
  gint64 popped;   /* the highest ticket that was popped, and one */
  gint64 emitted;
  gboolean emitting;
  HrLinkSlot *slots;
  guint n_slots;
  gsize slot_bytes;
  GQueue splits; /* HrSplit with members that nobody has taken */

  guint max_count;
  guint64 count_sum, count_n; /* for the mean, one observation a push */
  guint64 n_full, n_starved;  /* times that there was no room, or nothing there */
  gsize peak_bytes;
};

HrLink *hr_link_new (HrElement *from, guint from_pad, HrElement *to, guint to_pad);
/* drops what is left in it */
void hr_link_free (HrLink *link);
/* what is left in it, after all threads have been joined */
void hr_link_drain (HrLink *link);

/* Takes the buffers. Waits for room and for the release of samples. FALSE: nobody wants them. */
gboolean hr_link_push (HrLink *link, HrBuffer **buffers, guint n);
/* hr_link_push() of one buffer until hr_now() is @until, for a thread that is not the element's
 * own. FALSE: there was no room by then, and @buffer is still yours; else *@wanted is what
 * hr_link_push() says */
gboolean hr_link_push_until (HrLink *link, HrBuffer *buffer, gint64 until, gboolean *wanted);
/* Takes references of as many as there is room for, without waiting, or of all when nobody wants
 * them; yours if @last says so, else new ones. Not for links that stamp samples. Returns how many
 */
guint hr_link_push_some (HrLink *link, HrBuffer **buffers, const gboolean *last, guint n);
/* until there may be room for another buffer, or nobody wants it */
void hr_link_wait_room (HrLink *link);
/* Never waits. FALSE: no room, the buffer stays yours and the producer's bell will ring */
gboolean hr_link_try_push (HrLink *link, HrBuffer *buffer);
/* no more will come */
void hr_link_end (HrLink *link);
/* the consumer wants no more: drops what is in it and, when that was its producer's last output,
 * closes the producer, and so on upstream */
void hr_link_close (HrLink *link);

/* Takes up to @max items (a worker of several: 1) once there are some and the window has room. The
 * tickets are *ticket and those after it. 0: ended, closed or stopped. HR_POP_MEMBER: a member of a
 * sample that has been popped comes first; it is in *@member, which may be NULL for consumers
 * without each(). */
#define HR_POP_MEMBER G_MAXUINT
guint hr_link_pop (HrLink *link, guint worker, guint max, HrBuffer **items, gint64 *ticket,
                   HrMember *member);
/* for a consumer that pops with one thread: until hr_link_pop() need not wait. FALSE: hr_now() is
 * @until */
gboolean hr_link_wait_item (HrLink *link, gint64 until);
/* never waits, takes no ticket; %NULL: nothing there, and the consumer's bell will ring */
HrBuffer *hr_link_try_pop (HrLink *link, gboolean *ended);
/* what @n_tickets from @ticket on have become leaves when it is their turn. Takes the buffers. */
void hr_link_deposit (HrLink *link, gint64 ticket, guint n_tickets, HrBuffer **buffers, guint n);

/* tickets of a consumer that keeps the order itself: they are done */
void hr_link_settle (HrLink *link, guint n_tickets);

/* the budget is full: what is there must do */
void hr_link_end_warm_up (HrLink *link);

/* everybody who waits looks again: bounds, workers or status have changed */
void hr_link_wake (HrLink *link);
/* live bounds; 0 is not allowed here */
void hr_link_set_bounds (HrLink *link, guint64 max_items, guint64 max_bytes);

/* with the lock: the item at a place of the queue */
static inline HrLinkItem *
hr_link_get_item (const HrLink *link, guint index)
{
  return &link->ring[(link->head + index) & (link->ring_size - 1)];
}

/* with the lock: may it be popped, by its place in the order? The head is never held up. */
static inline gboolean
hr_link_window_has (const HrLink *link, const HrLinkItem *item, guint64 window)
{
  gint64 ahead = item->ticket - link->emitted;

  return ahead <= 0 || ((guint64)ahead < window && link->slot_bytes <= link->max_bytes);
}

/* samples get their numbers there, and no plan says how many come */
static inline gboolean
hr_link_counts (const HrLink *link)
{
  return link->stamp == HR_STAMP_JOINED || (link->stamp == HR_STAMP_SAMPLES && !link->planned);
}

/* for the deadlock finder: would a producer, a consumer have to sleep? */
gboolean hr_link_is_full (HrLink *link);
gboolean hr_link_is_empty (HrLink *link);
/* there are items, and they are kept back until there are more */
gboolean hr_link_is_filling (HrLink *link);
/* there are items, and the window has no room for them */
gboolean hr_link_is_shut (HrLink *link);
