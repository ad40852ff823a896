/* small.h: a few elements with hooks, to build pipelines for tests of the scheduler */
#pragma once
#include <json-glib/json-glib.h>
#include "hr-pipeline-private.h"

/* what a test does with a sample; @value is its field "x". FALSE: the error is set */
typedef gboolean (*SmallHook) (gpointer data, gint64 value, HrOut *out, GError **error);

/* what has come to a sink, in its order */
typedef struct {
  HrMutex lock;
  GArray *values; /* gint64; of batches: all members' */
  guint n_buffers, n_holes;
  SmallHook hook;
  gpointer data;
} SmallSink;

/* samples 0 … n-1, one a call; n < 0: without end. @hook may be NULL */
HrElement *small_source (HrPipeline *pipeline, const char *name, gint64 n, SmallHook hook,
                         gpointer data);
/* a pool that passes everything on; @workers 0: not set */
HrElement *small_light (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook,
                        gpointer data);
/* the same with a permit, and without one because it waits */
HrElement *small_compute (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook,
                          gpointer data);
HrElement *small_waits (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook,
                        gpointer data);
/* drops the odd ones */
HrElement *small_filter (HrPipeline *pipeline, const char *name);
/* adds one to each member of a list of x % 4 */
HrElement *small_each (HrPipeline *pipeline, const char *name, guint workers, SmallHook hook,
                       gpointer data);
/* pools that tell costs, small_cost() of the sample with @modulus; one that waits, one that
 * computes, and one that works on members: they and the hook's value are small_member() */
HrElement *small_weighed (HrPipeline *pipeline, const char *name, guint workers, gint64 modulus,
                          SmallHook hook, gpointer data);
HrElement *small_weighed_compute (HrPipeline *pipeline, const char *name, guint workers,
                                  gint64 modulus, SmallHook hook, gpointer data);
HrElement *small_weighed_each (HrPipeline *pipeline, const char *name, guint workers,
                               gint64 modulus, SmallHook hook, gpointer data);
guint64 small_cost (gint64 value, gint64 modulus);
/* makes the list of x % 4 members for it */
HrElement *small_lists (HrPipeline *pipeline, const char *name);
gint64 small_member (gint64 value, guint index);
/* done after a few microseconds, in another order than submitted */
HrElement *small_async (HrPipeline *pipeline, const char *name);
HrElement *small_batch (HrPipeline *pipeline, const char *name, guint size);
HrElement *small_prefetch (HrPipeline *pipeline, const char *name, guint ahead, guint warm_up);
HrElement *small_tee (HrPipeline *pipeline, const char *name);
/* routes even ones to all outputs, odd ones to none */
HrElement *small_pick (HrPipeline *pipeline, const char *name);
HrElement *small_join (HrPipeline *pipeline, const char *name, HrJoin mode);
HrElement *small_sink (HrPipeline *pipeline, const char *name, SmallSink *sink);
HrElement *small_pull (HrPipeline *pipeline, const char *name);
HrElement *small_push (HrPipeline *pipeline, const char *name);
/* start() or worker_start() fail */
HrElement *small_broken (HrPipeline *pipeline, const char *name, gboolean worker);

/* links one after the other; NULL at the end */
void small_link (HrPipeline *pipeline, HrElement *first, ...) G_GNUC_NULL_TERMINATED;
void small_set (HrElement *element, const char *property, const char *value);
void small_set_pipeline (HrPipeline *pipeline, const char *property, const char *value);

/* one of a text that is good, and the same with start(). (transfer full) */
HrPipeline *small_parse (const char *text);
HrPipeline *small_start (const char *text);
/* (transfer full) */
JsonObject *small_get_stats (HrPipeline *pipeline);

void small_sink_init (SmallSink *sink);
void small_sink_clear (SmallSink *sink);
guint small_sink_count (SmallSink *sink);
gint64 small_value (const HrBuffer *buffer);
HrBuffer *small_buffer (gint64 value);
/* 0 … n-1, nothing else */
void small_assert_counts (SmallSink *sink, gint64 n);

/* runs it to its end, which must be a good one */
void small_run (HrPipeline *pipeline);
/* the run must fail with this; returns the message */
char *small_run_failing (HrPipeline *pipeline, GQuark domain, gint code);

/* buffers, blocks and tensors that exist; every test ends with as many as it began with */
typedef struct {
  gint buffers, memories, tensors;
  guint threads;
} SmallLive;
SmallLive small_live (void);
void small_assert_live (SmallLive before);

/* a pipeline to build, the sink at its end, and what was alive before */
typedef struct {
  SmallLive live;
  SmallSink sink;
  HrPipeline *pipeline;
} SmallRig;
void small_rig_set_up (SmallRig *rig);
void small_rig_tear_down (SmallRig *rig);

/* hooks */
/* @data: a sample's value; that one is a data error */
gboolean small_bad_at (gpointer data, gint64 value, HrOut *out, GError **error);
/* … and that one a resource error, which no policy skips */
gboolean small_fatal_at (gpointer data, gint64 value, HrOut *out, GError **error);
/* @data: microseconds */
gboolean small_sleep (gpointer data, gint64 value, HrOut *out, GError **error);
