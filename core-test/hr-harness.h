/* hr-harness.h: tests one element, or a whole pipeline, in a few lines
 *
 * libheadrace-test-1.0, for tests written with GLib's g_test functions: what goes wrong fails the
 * test at hand, so nothing here returns an error.
 *
 *   HrHarness *h = hr_harness_new ("batch size=2", 1);
 *   hr_harness_push (h, buffer);
 *   hr_harness_end (h);
 *   g_autoptr (HrBuffer) batch = hr_harness_pull (h);
 *   hr_harness_free (h);
 *   hr_harness_assert_no_leaks ();
 */
#pragma once
#include <headrace.h>

G_BEGIN_DECLS

typedef struct _HrHarness HrHarness;

/**
 * hr_harness_new:
 * @element: one element, or several linked ones, as in a pipeline: "resize max-pixels=65536"
 * @workers: for each element that is parallel
 *
 * Puts what it needs around @element: an `appsrc` unless it is a source, an `appsink` unless it is
 * a sink, and starts it.
 *
 * Returns: (transfer full): a running harness
 */
HrHarness *hr_harness_new (const char *element, guint workers);

/**
 * hr_harness_new_failing:
 * @element: as in hr_harness_new()
 * @domain: the error that start() must give
 * @code: its code
 * @pattern: (nullable): a glob that its message must match
 *
 * Checks that @element does not parse or does not start.
 */
void hr_harness_new_failing (const char *element, GQuark domain, int code, const char *pattern);

/* takes @buffer; never waits: a thread of the harness pushes when the element takes it */
void hr_harness_push (HrHarness *harness, HrBuffer *buffer);
/* a buffer of one field, uint8 [size], copied */
void hr_harness_push_bytes (HrHarness *harness, const char *field, gconstpointer data, gsize size);
/* no more will be pushed */
void hr_harness_end (HrHarness *harness);

/**
 * hr_harness_pull:
 *
 * Waits for the element's next buffer. An error of the run fails the test. Samples that were
 * skipped are not pulled: their numbers are missing; a batch has them among its members.
 *
 * Returns: (transfer full) (nullable): the buffer, or %NULL at the end
 */
HrBuffer *hr_harness_pull (HrHarness *harness);

/**
 * hr_harness_wait:
 *
 * Ends the input, lets all further output go and waits for the end; an error fails the test.
 */
void hr_harness_wait (HrHarness *harness);

/**
 * hr_harness_expect_error:
 * @domain: the domain that the run's error must have
 * @code: its code
 * @pattern: (nullable): a glob that its message must match
 *
 * Ends the input, lets all further output go, and checks how the run ended.
 */
void hr_harness_expect_error (HrHarness *harness, GQuark domain, int code, const char *pattern);

/* (transfer none): for stats and properties */
HrPipeline *hr_harness_get_pipeline (HrHarness *harness);
/* stops what still runs. The error of a run that nobody has looked at fails the test */
void hr_harness_free (HrHarness *harness);

/**
 * hr_harness_run:
 * @text: a whole pipeline, that ends and does not fail
 *
 * Runs it serially, then with threads, with 1 and with 4 workers in each parallel element, and
 * with a budget of one byte, and checks that all runs deliver the same bytes.
 *
 * Returns: (transfer full): the sha256 of what was delivered
 */
char *hr_harness_run (const char *text);
/* hr_harness_run() for each example in the element's table; there must be one */
void hr_harness_run_examples (const char *element);

/* no buffer, tensor or memory is left */
void hr_harness_assert_no_leaks (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrHarness, hr_harness_free)

G_END_DECLS
