/* hr-requests.h: parts of the order that a program asks for, one by one; private to the core.
 * docs/order.md, "Request mode" */
#pragma once
#include "hr-cursor.h"
#include "hr-sync.h"

typedef struct _HrRequests HrRequests;

HrRequests *hr_requests_new (void);
void hr_requests_free (HrRequests *requests);
/* behind those asked for so far */
void hr_requests_add (HrRequests *requests, guint64 epoch, guint64 slice);
/* no more will be asked for */
void hr_requests_end (HrRequests *requests);
/* who waits looks whether it should go on waiting */
void hr_requests_wake (HrRequests *requests);

/* what one source reads next; each gets all of them. An HrUnitFunc, @reader is an HrRequestReader
 */
typedef struct {
  HrRequests *requests;
  guint64 n_read;
} HrRequestReader;
HrCursorNext hr_requests_next (gpointer reader, guint64 *epoch, guint64 *slice);
/* until there is one for it, or the end, or *closed or *stopping */
void hr_requests_wait (HrRequestReader *reader, const gint *closed, const gint *stopping);
