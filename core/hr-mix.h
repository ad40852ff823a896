/* hr-mix.h: which member of a mix gives the sample at a place, and which of its samples that is.
 * docs/order.md */
#pragma once
#include "hr-plan.h"

/* rules->random permutes the places of so many at a time */
#define HR_MIX_WINDOW 4096

/**
 * HrMixMember:
 * @weight: above 0
 * @repeat: goes on with another pass when it is used up; else it ends for this epoch of the mix
 * @length: its samples; not 0
 */
typedef struct {
  gdouble weight;
  gboolean repeat;
  guint64 length;
} HrMixMember;

/* @index: in the order that the member has in its @pass */
typedef struct {
  guint member;
  guint64 pass;
  guint64 index;
} HrMixed;

/* Pure and constant: any thread. */
typedef struct _HrMix HrMix;

/* HR_PARSE_ERROR_CONFLICT if there is no such epoch */
HrMix *hr_mix_new (const HrMixRules *rules, const HrMixMember *members, guint n, GError **error);
void hr_mix_free (HrMix *mix);
/* the seed of a member that has none of its own, of 63 bits */
gint64 hr_mix_member_seed (guint64 seed, guint member);
/* places of an epoch; all have as many */
guint64 hr_mix_get_length (const HrMix *mix);
/* what the member's share is counted in; the shares of all make a period */
guint64 hr_mix_get_share (const HrMix *mix, guint member);
/* @place: below the length */
void hr_mix_locate (const HrMix *mix, guint64 epoch, guint64 place, HrMixed *at);
/* the first place from @place on that the member gives, the length if there is none */
guint64 hr_mix_find (const HrMix *mix, guint64 epoch, guint member, guint64 place);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrMix, hr_mix_free)
