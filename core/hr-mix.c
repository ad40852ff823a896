/* hr-mix.c: shares are dealt out by halving the members: a node's places are split between its
 * halves in the ratio of their shares, as evenly as whole numbers allow (Bresenham 1965), and each
 * half splits its own again. So any count of samples before a place, and any place of a sample, is
 * a walk of log2 (members) steps, whatever the shares. */
#include "hr-mix.h"
#include "hr-error.h"
#include "hr-permute.h"
#include <math.h>

/* shares that are no whole numbers are rounded to parts of this */
#define PARTS 65536
/* decimal places that a weight may have to be exact */
#define MAX_DECIMALS 6
#define MAX_LENGTH (G_GUINT64_CONSTANT (1) << 62)
#define MAX_DEPTH 64

/* a product of two counts */
__extension__ typedef unsigned __int128 Wide;

/* from one member's end to the next: the members that are left repeat their pattern */
typedef struct {
  guint64 start; /* place */
  guint n;
  guint *members;  /* which */
  guint64 *sums;   /* n + 1: shares of those before each */
  guint64 *before; /* n: samples that each has given before this stage */
} Stage;

struct _HrMix {
  HrMixRules rules;
  HrMixMember *members;
  guint64 *shares;
  guint64 *totals; /* samples of each in an epoch */
  guint n;
  guint64 length;
  GArray *stages; /* Stage */
};

/* ---- shares ---- */

static gdouble
get_share (const HrMixRules *rules, const HrMixMember *member)
{
  if (rules->weights == HR_MIX_PASSES)
    return member->weight * (gdouble)member->length;
  if (rules->weights == HR_MIX_TEMPERATURE)
    return member->weight * pow ((gdouble)member->length, 1 / rules->temperature);
  return member->weight;
}

static gboolean
is_whole (gdouble value)
{
  return value >= 1 && value < 9007199254740992.0 && fabs (value - round (value)) <= 1e-9 * value;
}

/* weights of few decimal places are exact: 0.1 and 0.3 are 1 and 3 */
static gdouble
find_scale (const gdouble *shares, guint n)
{
  gdouble scale = 1;

  for (guint decimals = 0; decimals <= MAX_DECIMALS; decimals++, scale *= 10) {
    guint whole = 0;

    while (whole < n && is_whole (shares[whole] * scale))
      whole++;
    if (whole == n)
      return scale;
  }
  return 0;
}

static void
set_shares (HrMix *mix)
{
  g_autofree gdouble *shares = g_new (gdouble, mix->n);
  gdouble sum = 0, scale;

  for (guint i = 0; i < mix->n; i++) {
    shares[i] = get_share (&mix->rules, &mix->members[i]);
    sum += shares[i];
  }
  if (mix->rules.weights == HR_MIX_RATIO)
    scale = find_scale (shares, mix->n);
  else
    scale = mix->rules.weights == HR_MIX_PASSES ? 1 : 0;
  if (scale == 0)
    scale = PARTS / sum;
  for (guint i = 0; i < mix->n; i++)
    mix->shares[i] = (guint64)MAX (floor (shares[i] * scale + 0.5), 1);
}

/* ---- a pattern: one period, and as many as are wanted ---- */

static guint64
period (const Stage *stage)
{
  return stage->sums[stage->n];
}

/* of the first @u of a node's @n places, those of the half that has @share of them */
static guint64
deal (guint64 u, guint64 share, guint64 n)
{
  return (guint64)(((Wide)u * share + n / 2) / n);
}

/* samples that member @index of the stage gives at its first @places */
static guint64
count (const Stage *stage, guint index, guint64 places)
{
  guint64 whole = places / period (stage), u = places % period (stage);
  guint low = 0, high = stage->n;

  while (high - low > 1) {
    guint middle = low + (high - low) / 2;
    guint64 first =
        deal (u, stage->sums[middle] - stage->sums[low], stage->sums[high] - stage->sums[low]);

    if (index < middle) {
      u = first;
      high = middle;
    } else {
      u -= first;
      low = middle;
    }
  }
  return whole * (stage->sums[index + 1] - stage->sums[index]) + u;
}

/* who gives place @place of the stage, and the how many-th it is of his */
static guint
locate (const Stage *stage, guint64 place, guint64 *nth)
{
  guint64 whole = place / period (stage), u = place % period (stage);
  guint low = 0, high = stage->n;

  while (high - low > 1) {
    guint middle = low + (high - low) / 2;
    guint64 share = stage->sums[middle] - stage->sums[low];
    guint64 n = stage->sums[high] - stage->sums[low];
    guint64 first = deal (u, share, n);

    if (deal (u + 1, share, n) > first) {
      u = first;
      high = middle;
    } else {
      u -= first;
      low = middle;
    }
  }
  *nth = whole * (stage->sums[low + 1] - stage->sums[low]) + u;
  return low;
}

/* the least u with deal (u + 1, share, n) > k; @rest: of the half that gets what is left */
static guint64
undeal (guint64 k, guint64 share, guint64 n, gboolean rest)
{
  guint64 round = rest ? n - 1 - n / 2 : n / 2;

  return (guint64)((((Wide)k + 1) * n - round + share - 1) / share - 1);
}

/* the place at which member @index of the stage gives its sample @nth; G_MAXUINT64: too far */
static guint64
find (const Stage *stage, guint index, guint64 nth)
{
  guint64 share = stage->sums[index + 1] - stage->sums[index];
  guint64 whole = nth / share, u = nth % share;
  guint lows[MAX_DEPTH], highs[MAX_DEPTH], depth = 0, low = 0, high = stage->n;
  Wide place;

  while (high - low > 1) {
    guint middle = low + (high - low) / 2;

    lows[depth] = low;
    highs[depth++] = high;
    if (index < middle)
      high = middle;
    else
      low = middle;
  }
  while (depth-- > 0) {
    guint middle = lows[depth] + (highs[depth] - lows[depth]) / 2;
    guint64 n = stage->sums[highs[depth]] - stage->sums[lows[depth]];
    guint64 first = stage->sums[middle] - stage->sums[lows[depth]];
    gboolean rest = index >= middle;

    u = undeal (u, rest ? n - first : first, n, rest);
  }
  place = (Wide)whole * period (stage) + u;
  return place < MAX_LENGTH ? (guint64)place : G_MAXUINT64;
}

/* ---- stages ---- */

static void
stage_clear (gpointer data)
{
  Stage *stage = data;

  g_free (stage->members);
  g_free (stage->sums);
  g_free (stage->before);
}

/* with those of @last that have not ended, which is at @places behind its beginning */
static void
add_stage (HrMix *mix, const Stage *last, guint64 places)
{
  Stage stage = { .members = g_new (guint, mix->n),
                  .sums = g_new0 (guint64, mix->n + 1),
                  .before = g_new0 (guint64, mix->n) };

  stage.start = last != NULL ? last->start + places : 0;
  for (guint i = 0; i < (last != NULL ? last->n : mix->n); i++) {
    guint which = last != NULL ? last->members[i] : i;
    const HrMixMember *member = &mix->members[which];
    guint64 given = last != NULL ? last->before[i] + count (last, i, places) : 0;

    if (!member->repeat && given >= member->length)
      continue;
    stage.members[stage.n] = which;
    stage.before[stage.n] = given;
    stage.sums[stage.n + 1] = stage.sums[stage.n] + mix->shares[which];
    stage.n++;
  }
  g_array_append_val (mix->stages, stage);
}

static const Stage *
get_stage (const HrMix *mix, guint index)
{
  return &g_array_index (mix->stages, Stage, index);
}

/* FALSE: the epoch would be too long */
static gboolean
add_stages (HrMix *mix)
{
  Stage stage = { 0 };

  for (;;) {
    guint64 first = G_MAXUINT64, last = 0, ends = G_MAXUINT64;

    add_stage (mix, mix->stages->len > 0 ? &stage : NULL, mix->length);
    stage = *get_stage (mix, mix->stages->len - 1);
    if (mix->rules.weights == HR_MIX_PASSES) {
      mix->length = period (&stage);
      return TRUE;
    }
    for (guint i = 0; i < stage.n; i++) {
      const HrMixMember *member = &mix->members[stage.members[i]];
      guint64 end;

      if (stage.before[i] >= member->length)
        continue;
      end = find (&stage, i, member->length - 1 - stage.before[i]);
      if (end == G_MAXUINT64)
        return FALSE;
      first = MIN (first, end + 1);
      last = MAX (last, end + 1);
      if (!member->repeat)
        ends = MIN (ends, end + 1);
    }
    mix->length = mix->rules.end == HR_MIX_SHORTEST ? first : MIN (last, ends);
    if (mix->rules.end == HR_MIX_SHORTEST || last <= ends) {
      mix->length += stage.start;
      return mix->length < MAX_LENGTH;
    }
  }
}

static void
set_totals (HrMix *mix)
{
  for (guint s = 0; s < mix->stages->len; s++) {
    const Stage *stage = get_stage (mix, s);
    guint64 end = s + 1 < mix->stages->len ? get_stage (mix, s + 1)->start : mix->length;

    for (guint i = 0; i < stage->n; i++)
      mix->totals[stage->members[i]] = stage->before[i] + count (stage, i, end - stage->start);
  }
}

static gboolean
check_passes (const HrMix *mix, GError **error)
{
  for (guint i = 0; i < mix->n; i++)
    if (mix->rules.weights == HR_MIX_PASSES && !mix->members[i].repeat
        && mix->shares[i] > mix->members[i].length) {
      g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                   "the mix's member %u is to be given %g times in an epoch and has repeat=false "
                   "(the first is member 0): leave that out, or a weight of 1 at most",
                   i, mix->members[i].weight);
      return FALSE;
    }
  return TRUE;
}

HrMix *
hr_mix_new (const HrMixRules *rules, const HrMixMember *members, guint n, GError **error)
{
  g_autoptr (HrMix) mix = g_new0 (HrMix, 1);

  g_return_val_if_fail (n > 0, NULL);
  mix->rules = *rules;
  mix->n = n;
  mix->members = g_memdup2 (members, n * sizeof *members);
  mix->shares = g_new0 (guint64, n);
  mix->totals = g_new0 (guint64, n);
  mix->stages = g_array_new (FALSE, FALSE, sizeof (Stage));
  g_array_set_clear_func (mix->stages, stage_clear);
  set_shares (mix);
  if (!check_passes (mix, error))
    return NULL;
  if (!add_stages (mix)) {
    g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
                 "with these weights it takes more than 2^62 samples until every member has been "
                 "given: end=shortest, or weights that are nearer to each other");
    return NULL;
  }
  set_totals (mix);
  return g_steal_pointer (&mix);
}

void
hr_mix_free (HrMix *mix)
{
  g_array_unref (mix->stages);
  g_free (mix->members);
  g_free (mix->shares);
  g_free (mix->totals);
  g_free (mix);
}

gint64
hr_mix_member_seed (guint64 seed, guint member)
{
  return (gint64)(hr_permute_key (seed, 0, HR_KEY_MEMBER, member) >> 1);
}

guint64
hr_mix_get_length (const HrMix *mix)
{
  return mix->length;
}

guint64
hr_mix_get_share (const HrMix *mix, guint member)
{
  return mix->shares[member];
}

/* ---- places ---- */

static guint64
window_start (guint64 place)
{
  return place - place % HR_MIX_WINDOW;
}

/* the place of the even pattern that stands at @place */
static guint64
permute (const HrMix *mix, guint64 epoch, guint64 place)
{
  guint64 start = window_start (place), key;

  if (!mix->rules.random)
    return place;
  key = hr_permute_key (mix->rules.seed, epoch, HR_KEY_PATTERN, start / HR_MIX_WINDOW);
  return start + hr_permute (key, MIN (HR_MIX_WINDOW, mix->length - start), place - start);
}

/* the stage that holds a place */
static guint
find_stage (const HrMix *mix, guint64 place)
{
  guint low = 0, high = mix->stages->len;

  while (high - low > 1) {
    guint middle = low + (high - low) / 2;

    if (get_stage (mix, middle)->start <= place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void
hr_mix_locate (const HrMix *mix, guint64 epoch, guint64 place, HrMixed *at)
{
  const HrMixMember *member;
  const Stage *stage;
  guint64 given;
  guint index;

  g_return_if_fail (place < mix->length);
  place = permute (mix, epoch, place);
  stage = get_stage (mix, find_stage (mix, place));
  index = locate (stage, place - stage->start, &given);
  given += stage->before[index];
  at->member = stage->members[index];
  member = &mix->members[at->member];
  if (member->repeat)
    given += epoch * mix->totals[at->member];
  at->pass = member->repeat ? given / member->length : epoch;
  at->index = member->repeat ? given % member->length : given;
}

/* in the even pattern */
static guint64
find_even (const HrMix *mix, guint which, guint64 place)
{
  for (guint s = find_stage (mix, place); s < mix->stages->len; s++) {
    const Stage *stage = get_stage (mix, s);
    guint64 end = s + 1 < mix->stages->len ? get_stage (mix, s + 1)->start : mix->length;
    guint64 from = place > stage->start ? place - stage->start : 0, found;
    guint index = 0;

    while (index < stage->n && stage->members[index] != which)
      index++;
    if (index == stage->n) /* it has ended */
      break;
    found = find (stage, index, count (stage, index, from));
    if (found < end - stage->start)
      return stage->start + found;
  }
  return mix->length;
}

guint64
hr_mix_find (const HrMix *mix, guint64 epoch, guint which, guint64 place)
{
  if (!mix->rules.random)
    return place < mix->length ? find_even (mix, which, place) : mix->length;
  while (place < mix->length) {
    guint64 start = window_start (place), end = MIN (start + HR_MIX_WINDOW, mix->length);
    guint64 even = find_even (mix, which, start);
    HrMixed at;

    if (even >= end) { /* none in this window */
      place = even < mix->length ? window_start (even) : even;
      continue;
    }
    for (; place < end; place++) {
      hr_mix_locate (mix, epoch, place, &at);
      if (at.member == which)
        return place;
    }
  }
  return mix->length;
}
