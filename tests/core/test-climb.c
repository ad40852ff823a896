/* test-climb.c: settings found by trial, on loads that are formulas: near the best of all, within
 * bounds, and without going back and forth */
#include <glib.h>
#include <math.h>
#include <string.h>
#include "hr-climb.h"

#define MAX_PARTS 4
#define MAX_KNOBS 8
#define TICK 0.025

typedef struct {
  gdouble busy;      /* seconds an item */
  gdouble cpu;       /* … of these on a processor */
  gdouble items;     /* a step */
  gdouble bytes;     /* an item */
  gdouble bandwidth; /* bytes a second of all together; 0: no limit */
  guint crowd;       /* more at once make each slower; 0: never */
  guint fixed;       /* width, where no knob has it */
  gdouble opening;   /* seconds from the start that it is at work all the time */
  gboolean ahead;    /* who comes next never waits for it */
} Part;

typedef struct {
  Part parts[MAX_PARTS];
  guint n_parts;
  gdouble train; /* seconds a step */
  guint cpus;
  gdouble memory;
  gboolean gated;
  guint64 ahead;  /* where no knob has it */
  gdouble uneven; /* of train: what a step takes longer, with nothing ahead */
  gdouble noise;
} Load;

typedef struct {
  Load load;
  HrKnob knobs[MAX_KNOBS];
  guint n_knobs;
} Case;

/* what has happened so far */
typedef struct {
  Case *c;
  HrClimb *climb;
  HrClimbPart parts[MAX_PARTS];
  HrClimbCounts counts;
  gdouble progress;
  GRand *rand;
  gdouble returned[MAX_KNOBS];
  guint64 before[MAX_KNOBS];
  guint n_turned;
} Sim;

static guint64
find (const Case *c, const HrKnob *knobs, HrKnobKind kind, guint part, guint64 otherwise)
{
  for (guint i = 0; i < c->n_knobs; i++)
    if (knobs[i].kind == kind && (kind == HR_KNOB_AHEAD || knobs[i].part == part))
      return knobs[i].value;
  return otherwise;
}

static guint64
ahead_of (const Case *c, const HrKnob *knobs)
{
  return find (c, knobs, HR_KNOB_AHEAD, 0, c->load.ahead);
}

static guint64
width_of (const Case *c, const HrKnob *knobs, guint part)
{
  guint64 width = find (c, knobs, HR_KNOB_WORKERS, part, MAX (c->load.parts[part].fixed, 1));

  return find (c, knobs, HR_KNOB_CONCURRENCY, part, width);
}

static gdouble
item_time (const Case *c, const HrKnob *knobs, guint part)
{
  const Part *own = &c->load.parts[part];
  gdouble over = own->crowd > 0 ? (gdouble)width_of (c, knobs, part) / own->crowd : 0;

  return over > 1 ? own->busy * over * over : own->busy;
}

/* seconds a step */
static gdouble
period_of (const Case *c, const HrKnob *knobs)
{
  const Load *load = &c->load;
  guint64 ahead = ahead_of (c, knobs);
  gdouble most = load->train * (1 + load->uneven / (gdouble)(ahead + 1)), cpu = 0;

  for (guint i = 0; i < load->n_parts; i++) {
    const Part *part = &load->parts[i];
    gdouble width = (gdouble)width_of (c, knobs, i);

    if (load->gated)
      width = MIN (width, (gdouble)(ahead + 1) * part->items);
    most = MAX (most, item_time (c, knobs, i) * part->items / width);
    if (part->bandwidth > 0)
      most = MAX (most, part->bytes * part->items / part->bandwidth);
    cpu += part->cpu * part->items;
  }
  return MAX (most, cpu / load->cpus);
}

static void
sim_init (Sim *sim, Case *c, guint32 seed)
{
  *sim = (Sim){ .c = c, .rand = g_rand_new_with_seed (seed) };
  sim->climb = hr_climb_new (c->knobs, c->n_knobs, c->load.n_parts);
  for (guint i = 0; i < c->n_knobs; i++) {
    sim->returned[i] = -1e9;
    sim->before[i] = c->knobs[i].value;
  }
}

static void
sim_clear (Sim *sim)
{
  hr_climb_free (sim->climb);
  g_rand_free (sim->rand);
}

/* no setting is above its bounds, and none comes back twice in a minute once all have settled */
static void
check_knobs (Sim *sim, gboolean had_settled)
{
  const Case *c = sim->c;
  gdouble queued = 0;

  for (guint i = 0; i < c->n_knobs; i++) {
    const HrKnob *knob = hr_climb_get_knob (sim->climb, i);
    const Part *part = &c->load.parts[knob->part];

    g_assert_cmpuint (knob->value, >=, knob->least);
    g_assert_cmpuint (knob->value, <=, knob->most);
    if (knob->kind == HR_KNOB_WORKERS && knob->computes)
      g_assert_cmpuint (knob->value, <=, c->load.cpus);
    if (knob->kind == HR_KNOB_AHEAD && knob->value > knob->least)
      /* bytes a step are measured, to a step or so in the window */
      g_assert_cmpfloat ((gdouble)knob->value * part->items * part->bytes, <=,
                         1.1 * c->load.memory);
    if (knob->kind == HR_KNOB_QUEUE_BYTES)
      queued += (gdouble)knob->value;
    if (knob->n_returns > c->knobs[i].n_returns && had_settled) {
      g_assert_cmpfloat (sim->counts.now - sim->returned[i], >=, 60);
      sim->returned[i] = sim->counts.now;
    }
    sim->n_turned += knob->value != c->knobs[i].value;
  }
  g_assert_cmpfloat (queued, <=, c->load.memory);
}

static void
sim_tick (Sim *sim)
{
  Case *c = sim->c;
  gboolean had_settled = hr_climb_get_settled (sim->climb) >= 0;
  gdouble period = period_of (c, c->knobs), steps, rate, train = c->load.train / period;

  rate = 1 / period * MAX (0.05, 1 + c->load.noise * g_rand_double_range (sim->rand, -1, 1));
  steps = TICK * rate;
  sim->progress += steps;
  sim->counts = (HrClimbCounts){ .now = sim->counts.now + TICK,
                                 .steps = (guint64)sim->progress,
                                 .train = sim->counts.train + TICK * train,
                                 .wait = sim->counts.wait + TICK * (1 - train),
                                 .cpus = c->load.cpus,
                                 .memory = (guint64)c->load.memory,
                                 .ahead = ahead_of (c, c->knobs),
                                 .gated = c->load.gated,
                                 .parts = sim->parts };
  for (guint i = 0; i < c->load.n_parts; i++) {
    const Part *part = &c->load.parts[i];
    gdouble time = item_time (c, c->knobs, i);
    guint64 width = width_of (c, c->knobs, i);

    /* who shares a line that is full is in flight for longer */
    if (part->bandwidth > 0 && part->bytes * part->items / part->bandwidth >= period)
      time = period * (gdouble)width / part->items;
    sim->parts[i].busy += sim->counts.now < part->opening ? TICK : time * part->items * steps;
    sim->parts[i].n_awaited += !part->ahead;
    sim->parts[i].cpu += part->cpu * part->items * steps;
    sim->parts[i].items = (guint64)(sim->progress * part->items);
    sim->parts[i].bytes = (guint64)(sim->progress * part->items * part->bytes);
    sim->parts[i].width = (guint)width;
  }
  hr_climb_look (sim->climb, &sim->counts);
  check_knobs (sim, had_settled);
  for (guint i = 0; i < c->n_knobs; i++)
    c->knobs[i] = *hr_climb_get_knob (sim->climb, i);
}

static void
sim_run (Sim *sim, gdouble seconds)
{
  for (guint i = 0; i < (guint)(seconds / TICK); i++)
    sim_tick (sim);
}

/* ---- the best of all ---- */

static gdouble
sweep (const Case *c, HrKnob *knobs, guint from)
{
  gdouble best = G_MAXDOUBLE;

  if (from == c->n_knobs)
    return period_of (c, knobs);
  for (guint64 value = knobs[from].least; value <= knobs[from].most;
       value = value < 16 ? value + 1 : value * 5 / 4) {
    guint64 was = knobs[from].value;
    gdouble period;

    /* what the bounds forbid is no choice */
    if (knobs[from].kind == HR_KNOB_WORKERS && knobs[from].computes && value > c->load.cpus)
      break;
    knobs[from].value = value;
    period = sweep (c, knobs, from + 1);
    best = MIN (best, period);
    knobs[from].value = was;
  }
  return best;
}

static gdouble
best_of (const Case *c)
{
  HrKnob knobs[MAX_KNOBS];

  memcpy (knobs, c->knobs, sizeof knobs);
  return sweep (c, knobs, 0);
}

static void
assert_near_best (const Case *c, gdouble within)
{
  g_assert_cmpfloat (period_of (c, c->knobs), <=, best_of (c) * (1 + within));
}

static HrKnob
knob (HrKnobKind kind, guint part, guint64 value, guint64 most)
{
  return (HrKnob){ .kind = kind,
                   .part = part,
                   .value = value,
                   .least = 1,
                   .most = most,
                   .computes = TRUE,
                   .active = TRUE };
}

/* ---- loads ---- */

static Case
decode_bound (void)
{
  return (Case){ .load = { .parts = { { .busy = 1e-4, .cpu = 1e-4, .items = 8, .fixed = 1 },
                                      { .busy = 0.04, .cpu = 0.04, .items = 8, .bytes = 1e6 },
                                      { .busy = 0.012, .cpu = 0.012, .items = 8, .bytes = 1e6 } },
                           .n_parts = 3,
                           .train = 0.01,
                           .cpus = 8,
                           .memory = 2e9,
                           .gated = TRUE,
                           .ahead = 4 },
                 .knobs = { knob (HR_KNOB_WORKERS, 1, 1, 256), knob (HR_KNOB_WORKERS, 2, 1, 256),
                            knob (HR_KNOB_AHEAD, 2, 4, 64) },
                 .n_knobs = 3 };
}

static Case
latency_bound (void)
{
  return (Case){ .load = { .parts = { { .busy = 0.2, .cpu = 1e-4, .items = 8, .bytes = 1e5 },
                                      { .busy = 0.004, .cpu = 0.004, .items = 8, .bytes = 1e6 } },
                           .n_parts = 2,
                           .train = 0.01,
                           .cpus = 8,
                           .memory = 2e9,
                           .gated = TRUE },
                 .knobs = { knob (HR_KNOB_CONCURRENCY, 0, 8, 1024),
                            knob (HR_KNOB_WORKERS, 1, 1, 256), knob (HR_KNOB_AHEAD, 1, 4, 256) },
                 .n_knobs = 3 };
}

static Case
bandwidth_bound (void)
{
  Case c = latency_bound ();

  c.load.parts[0].bandwidth = 4e7; /* 0.02 s a step, whatever is done */
  c.load.train = 0.005;
  return c;
}

static Case
trainer_bound (void)
{
  Case c = decode_bound ();

  c.load.train = 0.5;
  return c;
}

static Case
crowded (void)
{
  Case c = latency_bound ();

  c.load.parts[0].crowd = 24;
  c.load.train = 0.001;
  return c;
}

static Case
waiting_workers (void)
{
  Case c = decode_bound ();

  c.load.parts[1].cpu = 0; /* they wait for a disk */
  c.knobs[0].computes = FALSE;
  c.load.train = 0.005;
  c.load.cpus = 2;
  return c;
}

/* two that are nearly as slow: to make only one of them wider gains next to nothing */
static Case
twins (void)
{
  Case c = decode_bound ();

  c.load.parts[1].busy = c.load.parts[1].cpu = 0.02;
  c.load.parts[2].busy = c.load.parts[2].cpu = 0.0193;
  return c;
}

/* other programs have the processors as well: work takes longer than it computes */
static Case
crowded_machine (void)
{
  Case c = decode_bound ();

  c.load.parts[1].cpu = 0.005;
  return c;
}

typedef Case (*MakeCase) (void);
static const struct {
  const char *name;
  MakeCase make;
} cases[] = {
  { "decode", decode_bound },   { "latency", latency_bound },   { "bandwidth", bandwidth_bound },
  { "trainer", trainer_bound }, { "crowded", crowded },         { "waiting", waiting_workers },
  { "twins", twins },           { "machine", crowded_machine },
};

static void
test_near_best (gconstpointer data)
{
  MakeCase make = cases[GPOINTER_TO_UINT (data)].make;
  const gdouble noises[] = { 0, 0.1, 0.3 };

  for (guint n = 0; n < G_N_ELEMENTS (noises); n++)
    for (guint32 seed = 0; seed < 20; seed++) {
      Case c = make ();
      Sim sim;
      guint returns = 0;

      c.load.noise = noises[n];
      sim_init (&sim, &c, seed);
      sim_run (&sim, 120);
      g_assert_cmpfloat (hr_climb_get_settled (sim.climb), >=, 0);
      for (guint i = 0; i < c.n_knobs; i++)
        returns += c.knobs[i].n_returns;
      g_test_message ("noise %.1f, seed %u: period %.4f, best %.4f, returns %u, settled at %.1f s",
                      noises[n], seed, period_of (&c, c.knobs), best_of (&c), returns,
                      hr_climb_get_settled (sim.climb));
      assert_near_best (&c, 0.1);
      g_assert_cmpuint (returns, <=, 3 * c.n_knobs);
      sim_clear (&sim);
    }
}

/* who is fed needs nothing */
static void
test_fed (void)
{
  Case c = trainer_bound ();
  Sim sim;

  sim_init (&sim, &c, 1);
  sim_run (&sim, 300);
  g_assert_true (hr_climb_is_settled (sim.climb));
  g_assert_cmpuint (c.knobs[0].n_changes + c.knobs[1].n_changes + c.knobs[2].n_changes, ==, 0);
  sim_clear (&sim);
}

/* a source that is being opened hides what binds later, and one that fills a queue ahead, which is
 * never empty, does not bind at all: neither may end the search */
static void
test_opening (void)
{
  const struct {
    gdouble opening;
    gboolean ahead;
  } sources[] = { { 6, FALSE }, { 30, TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (sources); i++)
    for (guint32 seed = 0; seed < 20; seed++) {
      Case c = decode_bound ();
      Sim sim;

      c.load.noise = 0.1;
      c.load.parts[0].opening = sources[i].opening;
      c.load.parts[0].ahead = sources[i].ahead;
      sim_init (&sim, &c, seed);
      sim_run (&sim, 30);
      assert_near_best (&c, 0.1);
      sim_clear (&sim);
    }
}

/* half an hour on one load: what does not help is tried ever less often */
static void
test_stays (gconstpointer data)
{
  for (guint32 seed = 0; seed < 10; seed++) {
    Case c = cases[GPOINTER_TO_UINT (data)].make ();
    Sim sim;
    guint late = 0;

    c.load.noise = 0.3;
    sim_init (&sim, &c, seed);
    sim_run (&sim, 1800);
    assert_near_best (&c, 0.1);
    /* 1800 s are 1 + 2 + 4 + 8 + 16 minutes, and each of these may try and come back */
    for (guint i = 0; i < c.n_knobs; i++) {
      late = MAX (late, c.knobs[i].n_late);
      g_assert_cmpuint (c.knobs[i].n_late, <=, 16);
    }
    g_test_message ("seed %u: %u late changes of a setting at most", seed, late);
    sim_clear (&sim);
  }
}

static void
test_faster_trainer (void)
{
  for (guint32 seed = 0; seed < 20; seed++) {
    Case c = decode_bound ();
    Sim sim;

    c.load.noise = 0.1;
    c.load.train = 0.3;
    sim_init (&sim, &c, seed);
    sim_run (&sim, 60);
    g_assert_cmpfloat (period_of (&c, c.knobs), <=, 0.3 * 1.1);
    c.load.train = 0.01;
    sim_run (&sim, 60);
    assert_near_best (&c, 0.1);
    sim_clear (&sim);
  }
}

static void
test_slower_network (void)
{
  for (guint32 seed = 0; seed < 20; seed++) {
    Case c = latency_bound ();
    Sim sim;

    c.load.noise = 0.1;
    sim_init (&sim, &c, seed);
    sim_run (&sim, 60);
    assert_near_best (&c, 0.1);
    c.load.parts[0].busy = 0.8;
    sim_run (&sim, 180);
    assert_near_best (&c, 0.1);
    sim_clear (&sim);
  }
}

/* the load is another one every few seconds: what was of no use rests all the same */
static void
test_restless (void)
{
  for (guint32 seed = 0; seed < 20; seed++) {
    Case c = decode_bound ();
    Sim sim;

    c.load.noise = 0.3;
    sim_init (&sim, &c, seed);
    for (guint i = 0; i < 200; i++) {
      c.load.train = g_rand_double_range (sim.rand, 0.001, 0.2);
      c.load.parts[1].busy = c.load.parts[1].cpu = g_rand_double_range (sim.rand, 0.001, 0.1);
      sim_run (&sim, g_rand_double_range (sim.rand, 1, 15)); /* check_knobs() looks */
    }
    sim_clear (&sim);
  }
}

static void
test_fewer_cpus (void)
{
  Case c = decode_bound ();
  Sim sim;

  sim_init (&sim, &c, 1);
  sim_run (&sim, 30);
  g_assert_cmpuint (c.knobs[0].value, >, 2);
  c.load.cpus = 2;
  /* at once, and for as long as it is so */
  sim_run (&sim, 60);
  g_assert_cmpuint (c.knobs[0].value, ==, 2);
  c.load.cpus = 16;
  sim_run (&sim, 120);
  assert_near_best (&c, 0.1);
  sim_clear (&sim);
}

/* a deeper queue helps here, but not beyond what memory holds: 12 MB a step */
static void
test_memory (void)
{
  Case c = decode_bound ();
  Sim sim;

  c.load.train = 0.2;
  c.load.uneven = 8;
  c.load.parts[1].bytes = c.load.parts[2].bytes = 1.5e6;
  c.load.memory = 9 * 12e6 + 1;
  sim_init (&sim, &c, 1);
  sim_run (&sim, 120);
  /* what a step holds is measured, to one step in the window */
  g_assert_cmpuint (c.knobs[2].value, >=, 8);
  g_assert_cmpuint (c.knobs[2].value, <=, 9);
  sim_clear (&sim);
  c.load.memory = 2e9;
  sim_init (&sim, &c, 1);
  sim_run (&sim, 240);
  g_assert_cmpuint (c.knobs[2].value, >, 9);
  sim_clear (&sim);
}

/* what somebody has set is left alone */
static void
test_held (void)
{
  Case c = decode_bound ();
  Sim sim;

  c.knobs[0].active = FALSE;
  c.knobs[0].value = 3;
  sim_init (&sim, &c, 1);
  sim_run (&sim, 60);
  g_assert_cmpuint (c.knobs[0].value, ==, 3);
  g_assert_cmpuint (c.knobs[0].n_changes, ==, 0);
  hr_climb_set_knob (sim.climb, 0, TRUE, 3);
  g_assert_false (hr_climb_is_settled (sim.climb));
  sim_run (&sim, 60);
  assert_near_best (&c, 0.1);
  sim_clear (&sim);
}

/* the queue in front of part 1 is @full, and @starved, now and then */
static Case
run_queues (gboolean full, gboolean starved)
{
  Case c = decode_bound ();
  Sim sim;

  c.knobs[0] = knob (HR_KNOB_QUEUE_ITEMS, 1, 4, 1 << 20);
  c.knobs[1] = knob (HR_KNOB_QUEUE_BYTES, 1, 1 << 20, 1 << 30);
  c.knobs[2] = knob (HR_KNOB_QUEUE_BYTES, 2, 1 << 20, 1 << 30);
  c.load.parts[1].busy = c.load.parts[2].busy = 1e-4;
  c.load.parts[1].cpu = c.load.parts[2].cpu = 1e-4; /* none of these explains what a step takes */
  c.load.uneven = 20;
  c.load.memory = 3 << 20;
  sim_init (&sim, &c, 1);
  for (guint i = 0; i < 90 / TICK; i++) {
    sim.parts[1].n_full += full && i % 2;
    sim.parts[1].n_starved += starved && i % 2;
    sim_tick (&sim);
  }
  sim_clear (&sim);
  return c;
}

/* a queue that is now full, now empty grows, with what all of them may hold; one that is only one
 * of that has two sides of another pace */
static void
test_queues (void)
{
  Case c = run_queues (TRUE, TRUE);

  /* it was tried, and as nothing became faster, taken back */
  g_assert_cmpuint (c.knobs[0].n_changes, ==, 2);
  g_assert_cmpuint (c.knobs[0].value, ==, 4);
  g_assert_cmpuint (c.knobs[1].n_changes, ==, 2);
  g_assert_cmpuint (c.knobs[2].n_changes, ==, 0);
  for (guint full = 0; full < 2; full++) {
    c = run_queues (full == 1, full == 0);
    for (guint i = 0; i < 3; i++)
      g_assert_cmpuint (c.knobs[i].n_changes, ==, 0);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *near = g_strdup_printf ("/climb/near-best/%s", cases[i].name);
    g_autofree char *stays = g_strdup_printf ("/climb/stays/%s", cases[i].name);

    g_test_add_data_func (near, GUINT_TO_POINTER (i), test_near_best);
    g_test_add_data_func (stays, GUINT_TO_POINTER (i), test_stays);
  }
  g_test_add_func ("/climb/fed", test_fed);
  g_test_add_func ("/climb/opening", test_opening);
  g_test_add_func ("/climb/faster-trainer", test_faster_trainer);
  g_test_add_func ("/climb/slower-network", test_slower_network);
  g_test_add_func ("/climb/restless", test_restless);
  g_test_add_func ("/climb/fewer-cpus", test_fewer_cpus);
  g_test_add_func ("/climb/memory", test_memory);
  g_test_add_func ("/climb/held", test_held);
  g_test_add_func ("/climb/queues", test_queues);
  return g_test_run ();
}
