/* pace.h: how many requests a server gets at once */
#pragma once
#include "hr-sync.h"

G_BEGIN_DECLS

/**
 * HrPace:
 *
 * For one server and all clients of the process. Without a limit of its own until the server asks
 * for less (503, SlowDown, 429): then it is half of what is under way, and each answer lets it grow
 * by a part of one, so that it is one more when as many as the limit have been answered. When it
 * reaches what the clients want, it is none any more.
 */
typedef struct {
  HrMutex lock;
  gdouble limit; /* 0: none */
  guint running;
  gint64 halved; /* when, nanoseconds */
} HrPace;

void hr_pace_init (HrPace *pace);
void hr_pace_clear (HrPace *pace);
/* a request may begin. @anyway: even above the limit: the first of a client, so that none waits for
 * what others do */
gboolean hr_pace_enter (HrPace *pace, gboolean anyway);
/* … and is over, or stands still */
void hr_pace_leave (HrPace *pace);
/* an answer; @most: how many at once its client wants */
void hr_pace_grow (HrPace *pace, guint most);
/* the server asked for less, of a request that began at @started: what was under way when the limit
 * was halved tells nothing new. TRUE: it is halved */
gboolean hr_pace_halve (HrPace *pace, gint64 started, gint64 now);
/* 0: none */
guint hr_pace_get_limit (HrPace *pace);

G_END_DECLS
