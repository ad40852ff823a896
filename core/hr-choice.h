/* hr-choice.h: which of all that waits in front of a pool a worker starts
 *
 * In the order of the tickets, unless the element tells costs: then the costliest of a step first,
 * be it a sample in the queue or a member of one that has been popped. docs/scheduling.md has the
 * reasons. All but hr_link_offer_split() and hr_link_split_done() are called with the link's lock.
 */
#pragma once
#include "hr-each.h"

/* the samples of one step have the same */
gint64 hr_link_get_step (HrLink *link, const HrBuffer *buffer, gint64 ticket);
/* step and cost of an item that has just been accepted */
void hr_link_weigh (HrLink *link, HrLinkItem *item);
/* those before it keep their order */
void hr_link_bring_to_front (HrLink *link, guint index);

/* of a link that weighs: the sample whose member comes next, or NULL: the item at *@index does, if
 * @may_pop */
HrSplit *hr_link_choose (HrLink *link, guint64 window, gboolean may_pop, guint *index);
/* its costliest that nobody has, or the first */
HrMember hr_link_take_member (HrLink *link, HrSplit *split);

/* Offers its members to the other workers, but for one, which the caller gets. */
HrMember hr_link_offer_split (HrLink *link, HrSplit *split);
/* one member is done; TRUE: it was the last */
gboolean hr_link_split_done (HrLink *link, HrSplit *split);
