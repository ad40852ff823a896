/* test-mix.c: which member gives a place, beside a count of one place after the other */
#include "hr-mix.h"
#include "hr-permute.h"
#include <math.h>
#include <string.h>

#define MAX_MEMBERS 70

typedef struct {
  HrMixRules rules;
  HrMixMember members[MAX_MEMBERS];
  guint n;
} Setting;

/* of the members that are left, who has place @u of a period; as docs/order.md says it */
static guint
whose_turn (const guint64 *shares, const guint *left, guint n, guint64 u)
{
  while (n > 1) {
    guint64 first = 0, all = 0, before, behind;

    for (guint i = 0; i < n; i++) {
      all += shares[left[i]];
      first += i < n / 2 ? shares[left[i]] : 0;
    }
    before = (u * first + all / 2) / all;
    behind = ((u + 1) * first + all / 2) / all;
    if (behind > before) {
      n /= 2;
      u = before;
    } else {
      left += n / 2;
      n -= n / 2;
      u -= before;
    }
  }
  return left[0];
}

/* the members of an epoch's places without permutation; (element-type guint) */
static GArray *
count_out (const Setting *setting, const HrMix *mix)
{
  const HrMixRules *rules = &setting->rules;
  GArray *places = g_array_new (FALSE, FALSE, sizeof (guint));
  guint64 shares[MAX_MEMBERS], given[MAX_MEMBERS] = { 0 }, period = 0, all = 0, u = 0;
  guint left[MAX_MEMBERS], n_left = setting->n, n_whole = 0;

  for (guint i = 0; i < setting->n; i++) {
    shares[i] = hr_mix_get_share (mix, i);
    all += shares[i];
    left[i] = i;
  }
  period = all;
  for (;;) {
    guint who = whose_turn (shares, left, n_left, u++ % period);

    g_array_append_val (places, who);
    n_whole += ++given[who] == setting->members[who].length;
    if (rules->weights == HR_MIX_PASSES) {
      if (places->len == all)
        return places;
      continue;
    }
    if (n_whole == (rules->end == HR_MIX_SHORTEST ? 1 : setting->n))
      return places;
    if (given[who] == setting->members[who].length && !setting->members[who].repeat) {
      guint at = 0;

      while (left[at] != who)
        at++;
      memmove (left + at, left + at + 1, (n_left - at - 1) * sizeof *left);
      n_left--;
      period -= shares[who];
      u = 0;
    }
  }
}

static void
check_epoch (const Setting *setting, const HrMix *mix, guint64 epoch, const GArray *even)
{
  guint64 n = even->len, given[MAX_MEMBERS] = { 0 }, next[MAX_MEMBERS], step;
  g_autofree guint64 *nth = g_new (guint64, n);
  g_autofree guint *who = g_new (guint, n);

  for (guint64 p = 0; p < n; p++)
    nth[p] = given[g_array_index (even, guint, p)]++;
  for (guint64 p = 0; p < n; p++) {
    guint64 start = p - p % HR_MIX_WINDOW, q = p;
    const HrMixMember *member;
    HrMixed at;

    if (setting->rules.random)
      q = start
          + hr_permute (hr_permute_key (setting->rules.seed, epoch, 5, start / HR_MIX_WINDOW),
                        MIN (HR_MIX_WINDOW, n - start), p - start);
    hr_mix_locate (mix, epoch, p, &at);
    g_assert_cmpuint (at.member, ==, g_array_index (even, guint, q));
    who[p] = at.member;
    member = &setting->members[at.member];
    if (member->repeat) {
      guint64 total = epoch * given[at.member] + nth[q];

      g_assert_cmpuint (at.pass, ==, total / member->length);
      g_assert_cmpuint (at.index, ==, total % member->length);
    } else {
      g_assert_cmpuint (at.pass, ==, epoch);
      g_assert_cmpuint (at.index, ==, nth[q]);
      g_assert_cmpuint (at.index, <, member->length);
    }
  }
  step = setting->rules.random ? n / 20 + 1 : n / 1000 + 1; /* at random places it is a search */
  for (guint i = 0; i < setting->n; i++)
    next[i] = n;
  for (guint64 p = n; p-- > 0;) {
    next[who[p]] = p;
    if (p % step != 0)
      continue;
    for (guint i = 0; i < setting->n; i++)
      g_assert_cmpuint (hr_mix_find (mix, epoch, i, p), ==, next[i]);
  }
  for (guint i = 0; i < setting->n; i++)
    g_assert_cmpuint (hr_mix_find (mix, epoch, i, n), ==, n);
}

static Setting
random_setting (GRand *random)
{
  static const gdouble weights[] = { 1, 1, 2, 3, 7, 0.5, 0.1, 0.3, 1.25, 0.333333, 12.5, 40 };
  Setting setting = { 0 };

  setting.n = g_rand_int_range (random, 1, g_rand_int_range (random, 0, 8) == 0 ? MAX_MEMBERS : 8);
  setting.rules.weights = (HrMixWeights)g_rand_int_range (random, 0, 3);
  setting.rules.temperature = g_rand_double_range (random, 0.5, 5);
  setting.rules.end = (HrMixEnd)g_rand_int_range (random, 0, 2);
  setting.rules.random = g_rand_boolean (random);
  setting.rules.seed = g_rand_int (random);
  for (guint i = 0; i < setting.n; i++) {
    HrMixMember *member = &setting.members[i];

    member->weight = weights[g_rand_int_range (random, 0, G_N_ELEMENTS (weights))];
    member->repeat = g_rand_boolean (random);
    member->length = (guint64)g_rand_int_range (random, 1, g_rand_boolean (random) ? 5 : 60);
    if (setting.rules.weights == HR_MIX_PASSES && !member->repeat)
      member->weight = MIN (member->weight, 1);
  }
  return setting;
}

static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);

  for (guint round = 0; round < 600; round++) {
    Setting setting = random_setting (random);
    g_autoptr (GError) error = NULL;
    g_autoptr (HrMix) mix = hr_mix_new (&setting.rules, setting.members, setting.n, &error);
    g_autoptr (GArray) even = NULL;

    g_assert_no_error (error);
    if (hr_mix_get_length (mix) > 20000)
      continue;
    even = count_out (&setting, mix);
    g_assert_cmpuint (hr_mix_get_length (mix), ==, even->len);
    check_epoch (&setting, mix, 0, even);
    check_epoch (&setting, mix, (guint64)g_rand_int_range (random, 1, 1000), even);
  }
}

static HrMix *
new_mix (HrMixWeights weights, gdouble temperature, guint n, const HrMixMember *members)
{
  HrMixRules rules = { .weights = weights, .temperature = temperature };
  g_autoptr (GError) error = NULL;
  HrMix *mix = hr_mix_new (&rules, members, n, &error);

  g_assert_no_error (error);
  return mix;
}

static void
assert_shares (HrMix *mix, guint n, const guint64 *shares)
{
  for (guint i = 0; i < n; i++)
    g_assert_cmpuint (hr_mix_get_share (mix, i), ==, shares[i]);
  hr_mix_free (mix);
}

static void
test_shares (void)
{
  static const HrMixMember tenths[] = { { 0.1, TRUE, 9 }, { 0.3, TRUE, 9 }, { 2, TRUE, 9 } };
  static const HrMixMember odd[] = { { 1 / 3.0, TRUE, 9 }, { 2 / 3.0, TRUE, 9 } };
  static const HrMixMember far[] = { { 1e-6, TRUE, 9 }, { 1e6, TRUE, 9 } };
  static const HrMixMember sizes[] = { { 1, TRUE, 1000000 }, { 1, TRUE, 10000 }, { 2, TRUE, 100 } };
  guint64 cold[3];

  assert_shares (new_mix (HR_MIX_RATIO, 1, 3, tenths), 3, (guint64[]){ 1, 3, 20 });
  assert_shares (new_mix (HR_MIX_RATIO, 1, 2, odd), 2, (guint64[]){ 21845, 43691 });
  assert_shares (new_mix (HR_MIX_RATIO, 1, 2, far), 2, (guint64[]){ 1, 1000000000000 });
  assert_shares (new_mix (HR_MIX_PASSES, 1, 3, sizes), 3, (guint64[]){ 1000000, 10000, 200 });
  /* in proportion; and by square roots: 1000 : 100 : 20 */
  for (guint i = 0; i < 3; i++)
    cold[i] = (guint64)floor (65536.0 / 1010200 * (i == 0 ? 1e6 : i == 1 ? 1e4 : 200) + 0.5);
  assert_shares (new_mix (HR_MIX_TEMPERATURE, 1, 3, sizes), 3, cold);
  for (guint i = 0; i < 3; i++)
    cold[i] = (guint64)floor (65536.0 / 1120 * (i == 0 ? 1000 : i == 1 ? 100 : 20) + 0.5);
  assert_shares (new_mix (HR_MIX_TEMPERATURE, 2, 3, sizes), 3, cold);
}

/* in any stretch from the beginning, nobody is further from his share than half a sample a halving
 */
static void
test_even (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (8);

  for (guint round = 0; round < 200; round++) {
    HrMixMember members[16];
    guint n = g_rand_int_range (random, 2, 17);
    g_autoptr (HrMix) mix = NULL;
    gint64 given[16] = { 0 };
    gdouble all = 0;

    for (guint i = 0; i < n; i++) {
      members[i] = (HrMixMember){ g_rand_int_range (random, 1, 300), TRUE, 500 };
      all += members[i].weight;
    }
    mix = new_mix (HR_MIX_RATIO, 1, n, members);
    for (guint64 p = 0; p < MIN (hr_mix_get_length (mix), 5000); p++) {
      HrMixed at;

      hr_mix_locate (mix, 0, p, &at);
      given[at.member]++;
      for (guint i = 0; i < n; i++)
        g_assert_cmpfloat (fabs ((gdouble)given[i] - (gdouble)(p + 1) * members[i].weight / all),
                           <=, 0.5 * ceil (log2 (n)) + 1e-6);
    }
  }
}

/* a thousand million samples, and shares far apart: still a walk of a few steps, and exact */
static void
test_large (void)
{
  static const HrMixMember members[] = {
    { 1, TRUE, 1000000007 }, { 3, FALSE, 50 }, { 1e-3, TRUE, 999999937 }, { 999.999, TRUE, 3 }
  };
  g_autoptr (HrMix) mix = new_mix (HR_MIX_RATIO, 1, 4, members);
  g_autoptr (HrMix) passes = new_mix (HR_MIX_PASSES, 1, 1, members);
  guint64 n = hr_mix_get_length (mix);
  HrMixed at;

  g_assert_cmpuint (n, >, G_GUINT64_CONSTANT (900000000000000));
  hr_mix_locate (mix, 0, n - 1, &at);
  g_assert_cmpuint (at.member, ==, 2);
  g_assert_cmpuint (at.pass, ==, 0);
  g_assert_cmpuint (at.index, ==, 999999936);
  g_assert_cmpuint (hr_mix_find (mix, 0, 2, n - 1), ==, n - 1);
  g_assert_cmpuint (hr_mix_find (mix, 7, 1, n / 2), ==, n);
  for (guint64 p = n / 3, i = 0; i < 100000; i++) { /* to and fro */
    hr_mix_locate (mix, 3, p + i, &at);
    g_assert_cmpuint (hr_mix_find (mix, 3, at.member, p + i), ==, p + i);
  }
  g_assert_cmpuint (hr_mix_get_length (passes), ==, 1000000007);
}

static void
test_refused (void)
{
  static const HrMixMember twice[] = { { 2, FALSE, 10 } };
  static const HrMixMember far[] = { { 1e-6, TRUE, 10000000000 }, { 1e6, TRUE, 1 } };
  HrMixRules rules = { .weights = HR_MIX_PASSES };
  g_autoptr (GError) error = NULL;

  g_assert_null (hr_mix_new (&rules, twice, 1, &error));
  g_assert_nonnull (strstr (error->message, "member 0 is to be given 2 times"));
  g_clear_error (&error);
  rules.weights = HR_MIX_RATIO;
  g_assert_null (hr_mix_new (&rules, far, 2, &error));
  g_assert_nonnull (strstr (error->message, "more than 2^62 samples"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mix/random", test_random);
  g_test_add_func ("/mix/shares", test_shares);
  g_test_add_func ("/mix/even", test_even);
  g_test_add_func ("/mix/large", test_large);
  g_test_add_func ("/mix/refused", test_refused);
  return g_test_run ();
}
