/* hr-mix.h: which member of a mix gives the sample at a place, and which of its samples that is.
 * docs/order.md */
#pragma once
#include <glib.h>

/* a member's share of the places */
typedef enum {
  HR_MIX_RATIO,      /* its weight */
  HR_MIX_PASSES,     /* weight x length: passes over it in an epoch of the mix */
  HR_MIX_TEMPERATURE /* weight x length ^ (1 / temperature) */
} HrMixWeights;

/* an epoch of the mix ends when … */
typedef enum {
  HR_MIX_LONGEST, /* … every member has given as many samples as it has */
  HR_MIX_SHORTEST /* … the first of them has. Of HR_MIX_PASSES neither counts: it ends with them */
} HrMixEnd;

/**
 * HrMixRules:
 * @random: the places are permuted in windows of HR_MIX_WINDOW
 * @seed: of these permutations, and of members without one of their own
 */
typedef struct {
  HrMixWeights weights;
  gdouble temperature;
  HrMixEnd end;
  gboolean random;
  guint64 seed;
} HrMixRules;

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
/* places of an epoch; all have as many */
guint64 hr_mix_get_length (const HrMix *mix);
/* what the member's share is counted in; the shares of all make a period */
guint64 hr_mix_get_share (const HrMix *mix, guint member);
/* @place: below the length */
void hr_mix_locate (const HrMix *mix, guint64 epoch, guint64 place, HrMixed *at);
/* the first place from @place on that the member gives, the length if there is none */
guint64 hr_mix_find (const HrMix *mix, guint64 epoch, guint member, guint64 place);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrMix, hr_mix_free)
