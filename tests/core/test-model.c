/* test-model.c: how long a step takes, what binds, what would help, and when nothing is predicted
 */
#include <glib.h>
#include <math.h>
#include "hr-advice.h"

/* decode is the slowest, then resize; all of it on 8 processors */
static HrModelPart parts[] = {
  { "fetch", HR_MODEL_LATENCY, 1.6, 0.01, 8, 64, TRUE },
  { "decode", HR_MODEL_WORK, 0.4, 0.4, 8, 2, TRUE },
  { "resize", HR_MODEL_WORK, 0.12, 0.12, 8, 1, TRUE },
  { "batch", HR_MODEL_WORK, 0.01, 0.01, 8, 1, FALSE },
};

static HrModel
make (gdouble train, gdouble wait)
{
  return (HrModel){ .train = train,
                    .wait = wait,
                    .steps = 100,
                    .ahead = 4,
                    .processors = 8,
                    .machine = 8,
                    .parts = parts,
                    .n_parts = G_N_ELEMENTS (parts) };
}

static void
assert_near (gdouble value, gdouble expected)
{
  g_assert_cmpfloat_with_epsilon (value, expected, 1e-9);
}

static void
test_period (void)
{
  HrModel model = make (0.1, 0.1);
  int binds;

  /* ahead: the slowest of all: decode's 0.4 s by 2 workers */
  assert_near (hr_model_period (&model, &binds), 0.2);
  g_assert_cmpint (binds, ==, 1);
  assert_near (hr_model_wait_ratio (&model), 0.5);
  /* the trainer is slower */
  model.train = 0.3;
  assert_near (hr_model_period (&model, &binds), 0.3);
  g_assert_cmpint (binds, ==, HR_MODEL_TRAINER);
  assert_near (hr_model_wait_ratio (&model), 0);
  /* 0.54 s of computing on two processors */
  model.train = 0.1;
  model.processors = 2;
  assert_near (hr_model_period (&model, &binds), 0.27);
  g_assert_cmpint (binds, ==, HR_MODEL_PROCESSORS);
  /* on demand: the trainer, the slowest, and one buffer's way through the others */
  model = make (0.1, 0.1);
  model.ahead = 0;
  assert_near (hr_model_period (&model, &binds), 0.1 + 0.2 + 0.2 + 0.015 + 0.00125);
  /* serial: all of it */
  model.serial = TRUE;
  assert_near (hr_model_period (&model, NULL), 0.1 + 1.6 + 0.4 + 0.12 + 0.01);
}

static void
test_sure (void)
{
  HrModel model = make (0.1, 0.1);

  g_assert_true (hr_model_is_sure (&model));
  model.wait = 0.2; /* it took longer than anything explains */
  g_assert_false (hr_model_is_sure (&model));
  model.wait = 0.1;
  model.steps = 19;
  g_assert_false (hr_model_is_sure (&model));
  model.steps = 100;
  model.ahead = 21; /* most of them may have been prepared before */
  g_assert_false (hr_model_is_sure (&model));
  model = make (0, 0);
  g_assert_false (hr_model_is_sure (&model));
}

static HrChange
advise (const HrModel *model)
{
  HrChange change;

  hr_model_advise (model, &change);
  return change;
}

static void
test_workers (void)
{
  HrModel model = make (0.1, 0.1);
  HrChange change = advise (&model);

  /* as many as make decode no slower than resize, which is next, and a quarter more */
  g_assert_cmpint (change.kind, ==, HR_CHANGE_WORKERS);
  g_assert_cmpint (change.part, ==, 1);
  g_assert_cmpuint (change.value, ==, 5);
  assert_near (change.wait_ratio, 1 - 0.1 / 0.12);
  assert_near (change.speedup, 0.2 / 0.12);
  g_assert_cmpint (change.next, ==, 2);
  /* the parts are as they were */
  g_assert_cmpuint (parts[1].width, ==, 2);
  /* a model that is wrong about the run gives advice, and predicts nothing */
  model.wait = 0.3;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_WORKERS);
  g_assert_true (isnan (change.wait_ratio) && isnan (change.speedup));
}

static void
test_kinds (void)
{
  HrModelPart one[] = { { "x", HR_MODEL_WORK, 0.4, 0.01, 8, 1, FALSE } };
  HrModel model = make (0.1, 0.3);
  HrChange change;

  model.parts = one;
  model.n_parts = 1;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_ALONE);
  g_assert_true (isnan (change.wait_ratio));
  one[0].kind = HR_MODEL_BANDWIDTH;
  g_assert_cmpint (advise (&model).kind, ==, HR_CHANGE_BYTES);
  one[0].kind = HR_MODEL_TRANSFER;
  g_assert_cmpint (advise (&model).kind, ==, HR_CHANGE_BYTES);
  one[0] = (HrModelPart){ "x", HR_MODEL_LATENCY, 3.2, 0, 16, 8, TRUE };
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_CONCURRENCY);
  g_assert_cmpuint (change.value, ==, 40);
  assert_near (change.wait_ratio, 0);
  g_assert_cmpint (change.next, ==, HR_MODEL_TRAINER);
  /* no property of the slowest makes it wider: what would be next is told, if the model is right */
  {
    HrModelPart two[] = { { "x", HR_MODEL_BANDWIDTH, 0.4, 0.01, 8, 1, FALSE },
                          { "y", HR_MODEL_WORK, 0.2, 0.01, 8, 1, TRUE } };
    static const HrModelKind kinds[] = { HR_MODEL_WORK,      HR_MODEL_COPY,     HR_MODEL_LATENCY,
                                         HR_MODEL_BANDWIDTH, HR_MODEL_TRANSFER, HR_MODEL_SECOND };

    for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
      two[0].kind = kinds[i];
      model.parts = two;
      model.n_parts = 2;
      change = advise (&model);
      g_assert_cmpint (change.part, ==, 0);
      g_assert_true (isnan (change.wait_ratio));
      g_assert_cmpint (change.next, ==, 1);
    }
    model.wait = 0.9;
    g_assert_cmpint (advise (&model).next, ==, HR_MODEL_NOTHING);
    model.wait = 0.3;
    model.parts = one;
    model.n_parts = 1;
  }
  /* never more than eight times what it has */
  one[0].width = 1;
  one[0].busy = 40;
  model.wait = 39.9;
  g_assert_cmpuint (advise (&model).value, ==, 8);
  one[0] = (HrModelPart){ "x", HR_MODEL_WORK, 0.8, 0.8, 8, 8, TRUE };
  model = make (0.1, 0.3);
  model.parts = one;
  model.n_parts = 1;
  model.processors = 2;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_CPUS);
  g_assert_cmpuint (change.value, ==, 8);
  assert_near (change.wait_ratio, 0);
  model.machine = 2;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_PROCESSORS);
  g_assert_true (isnan (change.wait_ratio));
}

/* other programs take processors, too */
static void
test_crowd (void)
{
  HrModelPart one[] = { { "x", HR_MODEL_WORK, 0.4, 0.4, 8, 1, TRUE } };
  HrModel model = make (0.1, 0.7);
  HrChange change;
  int binds;

  /* half of a processor is what it got: that is what it could have had */
  model.parts = one;
  model.n_parts = 1;
  model.processors = model.machine = 2;
  model.free = 0.5;
  /* … unless it asked for no more, and was slow for another reason */
  assert_near (hr_model_period (&model, &binds), 0.4);
  g_assert_cmpint (binds, ==, 0);
  model.starved = TRUE;
  assert_near (hr_model_period (&model, &binds), 0.8);
  g_assert_cmpint (binds, ==, HR_MODEL_PROCESSORS);
  g_assert_true (hr_model_is_sure (&model));
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_CROWDED);
  g_assert_true (isnan (change.wait_ratio));
  /* one is free: the worker has it, and a second one would get no more, as far as one can tell */
  model.free = 1.05;
  model.starved = FALSE;
  model.wait = 0.3;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_WORKERS);
  g_assert_true (isnan (change.wait_ratio));
  /* who needs next to nothing gets that everywhere */
  one[0].cpu = 0.02;
  change = advise (&model);
  assert_near (change.wait_ratio, 0);
  g_assert_cmpint (change.next, ==, HR_MODEL_TRAINER);
  one[0].cpu = 0.4;
  /* on two that are free it would */
  model.free = 2;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_WORKERS);
  assert_near (change.wait_ratio, 0.5);
  g_assert_cmpint (change.next, ==, HR_MODEL_PROCESSORS);
  /* a pipeline that may use one of four, of which two are taken */
  model.processors = 1;
  model.machine = 4;
  model.wait = 0.3;
  one[0].width = 4;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_CPUS);
  g_assert_true (isnan (change.wait_ratio));
  model.free = 4;
  assert_near (advise (&model).wait_ratio, 0);
}

static void
test_bottleneck (void)
{
  HrModel model = make (0.1, 0.1);

  g_assert_cmpint (hr_model_bottleneck (&model), ==, 1);
  model.wait = 0.005;
  g_assert_cmpint (hr_model_bottleneck (&model), ==, HR_MODEL_TRAINER);
  model.wait = 0.17;
  model.processors = 2;
  g_assert_cmpint (hr_model_bottleneck (&model), ==, HR_MODEL_PROCESSORS);
  g_assert_cmpint (hr_model_hungriest (&model), ==, 1);
  /* one after the other computes */
  model.serial = TRUE;
  g_assert_cmpint (hr_model_bottleneck (&model), ==, 0);
  model.n_parts = 0;
  g_assert_cmpint (hr_model_bottleneck (&model), ==, HR_MODEL_NOTHING);
}

static void
assert_says (const HrModel *model, const char *text, const char *property)
{
  HrChange change = advise (model);
  g_autoptr (JsonNode) node = hr_advice_to_json (model, &change);
  JsonObject *object = json_node_get_object (node);
  JsonNode *value = json_object_get_member (object, "property");

  g_assert_cmpstr (json_object_get_string_member (object, "text"), ==, text);
  if (property == NULL)
    g_assert_true (JSON_NODE_HOLDS_NULL (value));
  else
    g_assert_cmpstr (json_node_get_string (value), ==, property);
}

static void
test_ahead (void)
{
  HrModel model = make (0.1, 0.41625);
  HrChange change;

  model.ahead = 0;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_PREFETCH);
  assert_near (change.wait_ratio, 0.5);
  model.serial = TRUE;
  model.wait = 2.13;
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_NOT_SERIAL);
  assert_near (change.wait_ratio, 1 - 0.1 / 0.51625);
  g_assert_cmpuint (change.value, ==, 0);
  /* one that takes nearly all of it does so in a thread of its own, too */
  {
    HrModelPart alone = { "read", HR_MODEL_WORK, 0.4, 0.4, 1, 1, FALSE, 0 };

    model.parts = &alone;
    model.n_parts = 1;
    model.wait = 0.4;
    change = advise (&model);
    g_assert_cmpint (change.kind, ==, HR_CHANGE_NOT_SERIAL);
    g_assert_cmpuint (change.value, ==, 4);
    assert_near (change.wait_ratio, 0.75);
    assert_says (&model,
                 "everything runs one after the other, and read takes longest; leave out "
                 "serial=true, and put prefetchqueue max-batches=4 behind batch: predicted wait "
                 "ratio 0.80 → 0.75, then bound by read",
                 "serial");
  }
  /* a trainer that hardly waits needs nothing */
  model = make (0.1, 0.005);
  change = advise (&model);
  g_assert_cmpint (change.kind, ==, HR_CHANGE_NONE);
}

static void
test_words (void)
{
  HrModel model = make (0.1, 0.1);

  assert_says (&model,
               "decode is at work 100 % of the time with 2 workers; give it workers=5: predicted "
               "wait ratio 0.50 → 0.17, then bound by resize",
               "workers");
  model.wait = 0.5;
  assert_says (&model,
               "decode is at work 33 % of the time with 2 workers, and all others less: more at "
               "once would not help; memory, a window, queues, too few steps ahead or uneven "
               "samples hold it, and a trace shows what each thread waits for",
               NULL);
  /* a trainer that takes its time, too, does not make it work more */
  model.train = 0.35;
  model.wait = 0.25;
  g_assert_cmpint (advise (&model).kind, ==, HR_CHANGE_HELD);
  model.train = 0.1;
  assert_says (&model,
               "decode is at work 57 % of the time with 2 workers; give it workers=5; how far that "
               "goes these numbers do not tell",
               "workers");
  model.wait = 0.1;
  model.parts[1].automatic = TRUE;
  assert_says (
      &model,
      "decode is at work 100 % of the time with 2 workers, a number that is found while it "
      "runs; these numbers hold the time it took to find it",
      NULL);
  model.parts[1].automatic = FALSE;
  model.wait = 0;
  assert_says (&model, "the data is there in time; only a faster trainer would make this faster",
               NULL);
  model = make (0, 0.2);
  assert_says (&model,
               "decode is at work 100 % of the time with 2 workers; give it workers=5: predicted "
               "1.7 times this speed, then bound by resize",
               "workers");
  model = make (0.1, 0.17);
  model.processors = model.machine = 2;
  assert_says (
      &model,
      "all 2 processors are at work, 74 % of that by decode; more of them, another machine "
      "beside this one, or less work (smaller images) would help",
      NULL);
  model.free = 1.5;
  model.starved = TRUE;
  model.wait = 0.26;
  assert_says (&model,
               "all 2 processors are at work, 25 % of that for other programs or the trainer's own "
               "threads; fewer of those, more processors, or less work (smaller images) would help",
               NULL);
  model.machine = 8;
  model.free = 8;
  model.wait = 0.17;
  assert_says (&model,
               "all 2 processors that it may use are at work, 74 % of that by decode; give it "
               "cpus=8: predicted wait ratio 0.63 → 0.50, then bound by decode",
               "cpus");
  model.processors = 1;
  model.wait = 0.44;
  assert_says (&model,
               "the one processor that it may use is at work, 74 % of that by decode; give it "
               "cpus=8: predicted wait ratio 0.81 → 0.50, then bound by decode",
               "cpus");
}

static void
test_words_of_kinds (void)
{
  HrModelPart two[] = { { "x", HR_MODEL_WORK, 0.4, 0.3, 8, 1, FALSE, 2.5e6 },
                        { "y", HR_MODEL_WORK, 0.2, 0.01, 8, 1, TRUE } };
  HrModel model = make (0.1, 0.3);

  model.parts = two;
  model.n_parts = 2;
  assert_says (
      &model,
      "x is at work 100 % of the time, and can have no more than its one worker; less work "
      "for it would help; next would be y",
      NULL);
  two[0].cpu = 0.02;
  assert_says (&model,
               "x is at work 100 % of the time, but computes in 5 % of it: it waits for something "
               "outside, a disk or another process, that would have to be faster; next would be y",
               NULL);
  two[0].kind = HR_MODEL_COPY;
  assert_says (&model,
               "x is at work 100 % of the time, copying 2.5 MB a step; fewer bytes (uint8 instead "
               "of float32, smaller images), or an element that passes references on, would help; "
               "next would be y",
               NULL);
  two[0].kind = HR_MODEL_LATENCY;
  assert_says (
      &model,
      "x is at work 100 % of the time, waiting for answers; fewer and larger requests, more of "
      "them at once, or data that lies nearer, would help; next would be y",
      NULL);
  two[0].kind = HR_MODEL_BANDWIDTH;
  assert_says (&model,
               "x is at work 100 % of the time, and its line is full; fewer bytes, a faster "
               "line, or more connections if each has a limit, would help; next would be y",
               NULL);
  two[0].kind = HR_MODEL_TRANSFER;
  assert_says (
      &model,
      "x is copying to its device 100 % of the time; fewer bytes (uint8 instead of float32, "
      "smaller images) would help; next would be y",
      NULL);
  two[0].kind = HR_MODEL_SECOND;
  assert_says (
      &model,
      "x is at work 100 % of the time, a trainer of its own that all others wait for; only "
      "a faster one would help; next would be y",
      NULL);
  /* nothing ahead: the slowest is named, as it is what the verdict names */
  model.ahead = 0;
  model.wait = 0.425;
  assert_says (&model,
               "each step is begun when the trainer asks for it, and x takes longest; put "
               "prefetchqueue max-batches=4 behind batch: predicted wait ratio 0.81 → 0.75, then "
               "bound by x",
               "max-batches");
  /* what is made eight times as wide may be the slowest all the same */
  model = make (0.1, 9.9);
  two[0] = (HrModelPart){ "x", HR_MODEL_WORK, 10, 0.01, 8, 1, TRUE };
  model.parts = two;
  model.n_parts = 2;
  assert_says (&model,
               "x is at work 100 % of the time with 1 worker; give it workers=8: predicted wait "
               "ratio 0.99 → 0.92, then still bound by x",
               "workers");
}

/* the bottleneck and what is advised name one element, or the advice names none */
static void
test_agreement (void)
{
  static const HrModelKind kinds[] = { HR_MODEL_WORK,      HR_MODEL_COPY,     HR_MODEL_LATENCY,
                                       HR_MODEL_BANDWIDTH, HR_MODEL_TRANSFER, HR_MODEL_SECOND };
  static const char *const names[] = { "cpu",      "copy",   "network-latency", "network-bandwidth",
                                       "transfer", "trainer" };
  guint32 state = 7;

  for (guint round = 0; round < 20000; round++) {
    HrModelPart some[4];
    HrModel model = make (0, 0);
    g_autoptr (JsonNode) bottleneck = NULL, advice = NULL;
    HrChange change;
    const char *who;
    JsonNode *element;

#define RANDOM(n) ((state = state * 1664525u + 1013904223u) >> 8) % (n)
    for (guint i = 0; i < G_N_ELEMENTS (some); i++) {
      some[i] = parts[i];
      some[i].kind = kinds[RANDOM (G_N_ELEMENTS (kinds))];
      some[i].busy = RANDOM (100) / 100.0;
      some[i].cpu = some[i].busy * (RANDOM (11) / 10.0);
      some[i].width = 1 + RANDOM (4);
      some[i].grows = RANDOM (2);
    }
    model.parts = some;
    model.trainer = "t";
    model.train = RANDOM (100) / 100.0;
    model.wait = RANDOM (100) / 100.0;
    model.ahead = RANDOM (3);
    model.serial = RANDOM (8) == 0;
    model.processors = 1 + RANDOM (8);
    model.free = RANDOM (100) / 10.0;
    model.starved = RANDOM (2);
#undef RANDOM
    bottleneck = hr_advice_bottleneck_to_json (&model);
    if (bottleneck == NULL)
      continue;
    hr_model_advise (&model, &change);
    advice = hr_advice_to_json (&model, &change);
    who = json_object_get_string_member (json_node_get_object (bottleneck), "element");
    element = json_object_get_member (json_node_get_object (advice), "element");
    if (!JSON_NODE_HOLDS_NULL (element))
      g_assert_cmpstr (json_node_get_string (element), ==, who);
    if (change.part >= 0)
      g_assert_cmpstr (json_object_get_string_member (json_node_get_object (bottleneck), "kind"),
                       ==, names[some[change.part].kind]);
    if (!isnan (change.wait_ratio))
      g_assert_true (change.wait_ratio >= 0 && change.wait_ratio <= 1 && change.speedup > 0);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/model/period", test_period);
  g_test_add_func ("/model/sure", test_sure);
  g_test_add_func ("/model/workers", test_workers);
  g_test_add_func ("/model/kinds", test_kinds);
  g_test_add_func ("/model/ahead", test_ahead);
  g_test_add_func ("/model/crowd", test_crowd);
  g_test_add_func ("/model/bottleneck", test_bottleneck);
  g_test_add_func ("/model/words", test_words);
  g_test_add_func ("/model/words-of-kinds", test_words_of_kinds);
  g_test_add_func ("/model/agreement", test_agreement);
  return g_test_run ();
}
