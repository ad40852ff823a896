/* hr-element.h: what an element is: a const table, and the services its functions may use */
#pragma once
#include "hr-buffer.h"
#include "hr-error.h"
#include "hr-plan.h"
#include "hr-prop.h"

G_BEGIN_DECLS

/**
 * HrElement:
 *
 * An element in a pipeline: a GObject with the properties of its table and those every element has
 * (name workers window ordered queue-items queue-bytes on-error max-errors).
 */
typedef struct _HrElement HrElement;
#define HR_TYPE_ELEMENT (hr_element_get_type ())

/**
 * HR_ELEMENT_CAST:
 * @o: an element
 *
 * Casts, and checks with GObject's checks.
 */
#define HR_ELEMENT_CAST(o) (G_TYPE_CHECK_INSTANCE_CAST ((o), HR_TYPE_ELEMENT, HrElement))
#define HR_IS_ELEMENT(o) (G_TYPE_CHECK_INSTANCE_TYPE ((o), HR_TYPE_ELEMENT))
GType hr_element_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrElement, g_object_unref)

/**
 * hr_element_get_factory:
 *
 * What kind of element it is.
 *
 * Returns: (transfer none): the name of its table: "imagedecode"
 */
const char *hr_element_get_factory (HrElement *element);

/**
 * hr_element_get_name:
 *
 * What it is called in its pipeline.
 *
 * Returns: (transfer none): "imagedecode0", or what `name=` says
 */
const char *hr_element_get_name (HrElement *element);

/**
 * hr_element_get_next:
 * @pad: of its outputs, from 0
 *
 * Follows a link forwards. Links are there once the whole text is parsed.
 *
 * Returns: (transfer none) (nullable): the element that an output leads to; %NULL if there is none,
 *   or not yet
 */
HrElement *hr_element_get_next (HrElement *element, guint pad);

/**
 * hr_element_get_previous:
 * @pad: of its inputs, from 0
 *
 * Follows a link backwards. Links are there once the whole text is parsed.
 *
 * Returns: (transfer none) (nullable): the element that an input comes from; %NULL if there is
 *   none, or not yet
 */
HrElement *hr_element_get_previous (HrElement *element, guint pad);

/**
 * HrWalk:
 * @HR_WALK_ON: and on to those behind this element
 * @HR_WALK_TURN: not beyond this one; other branches are still looked at
 * @HR_WALK_END: that was enough
 *
 * What a walk through the graph does next.
 */
typedef enum { HR_WALK_ON, HR_WALK_TURN, HR_WALK_END } HrWalk;

/**
 * HrWalkFunc:
 * @element: (transfer none): that a walk has come to
 * @data: as given to the walk
 *
 * Is asked about an element that a walk through the graph has come to.
 *
 * Returns: what to do next
 */
typedef HrWalk (*HrWalkFunc) (HrElement *element, gpointer data);

/**
 * hr_element_walk_upstream:
 * @visit: (scope call): is asked about each element
 * @data: for @visit
 *
 * Goes through all that an element's samples come from, not the element itself: the nearest first,
 * and of several inputs the first to its end. Each is visited once, also where branches meet again.
 *
 * Returns: (transfer none) (nullable): the element at which @visit said %HR_WALK_END
 */
HrElement *hr_element_walk_upstream (HrElement *element, HrWalkFunc visit, gpointer data);

/**
 * hr_element_walk_downstream:
 * @visit: (scope call): is asked about each element
 * @data: for @visit
 *
 * Goes through all that an element's samples go to, as hr_element_walk_upstream() does the other
 * way.
 *
 * Returns: (transfer none) (nullable): the element at which @visit said %HR_WALK_END
 */
HrElement *hr_element_walk_downstream (HrElement *element, HrWalkFunc visit, gpointer data);

/**
 * hr_element_is_set:
 * @property: one of the element's own, not one that every element has
 *
 * For check_place() and start(): where another element's value holds unless this one says
 * otherwise, its default is no word to the contrary.
 *
 * Returns: %TRUE if it was set, be it to its default
 */
gboolean hr_element_is_set (HrElement *element, const char *property);

/**
 * hr_element_is_auto:
 * @property: one of the element's own, or one that every element has
 *
 * Tells who decides about a setting.
 *
 * Returns: %TRUE if the core finds its value while the pipeline runs: it was set to "auto", or
 *   nobody has set it and the pipeline has auto=true and is running, or has run
 */
gboolean hr_element_is_auto (HrElement *element, const char *property);

/**
 * hr_element_warn: (skip)
 * @why: what the user should know although the run goes on
 *
 * A %HR_MESSAGE_WARNING in the element's name. From any thread, between start() and stop().
 */
void hr_element_warn (HrElement *element, const GError *why);

/**
 * hr_element_end_run: (skip)
 * @why: (nullable) (transfer full): what has gone wrong; %NULL: nothing, but it need not go on
 *
 * Ends the run as an error of the element does, or as hr_pipeline_stop() does. From any thread, for
 * what none of the element's functions is inside for; between start() and stop().
 */
void hr_element_end_run (HrElement *element, GError *why);

/**
 * hr_element_get_outcome: (skip)
 * @why: (out) (optional): its first error; #HR_CORE_ERROR_STOPPED if it was stopped
 *
 * For stop().
 *
 * Returns: %TRUE if the run has come to its end
 */
gboolean hr_element_get_outcome (HrElement *element, GError **why);

/**
 * hr_element_get_checkpoint: (skip)
 * @buffer: that the sink has got
 * @n_steps: (out): hr_pipeline_get_n_steps()
 * @error: why there is none
 *
 * For sinks that hand on what they get: hr_pipeline_get_checkpoint() of the element's pipeline.
 *
 * Returns: (transfer full) (nullable): where the run is behind that buffer
 */
char *hr_element_get_checkpoint (HrElement *element, HrBuffer *buffer, gint64 *n_steps,
                                 GError **error);

/**
 * hr_element_is_measured: (skip)
 * @field: one that the element gives, "images"
 *
 * For start(), with scan=lengths: how long samples are is found out by a run of their front alone.
 *
 * Returns: %TRUE if this is such a run, and no element behind this one needs what @field holds: how
 *   large it is is enough
 */
gboolean hr_element_is_measured (HrElement *element, const char *field);

/**
 * hr_element_get_stop_fd: (skip)
 *
 * For start(), where there is no #HrOut yet: what waits there, for a network say, ends with
 * #HR_CORE_ERROR_STOPPED when this becomes readable.
 *
 * Returns: readable (level) once hr_pipeline_stop() was called; -1 if there are no descriptors
 *   left, and then nothing ends a wait early. It is the pipeline's: do not close it
 */
int hr_element_get_stop_fd (HrElement *element);

/**
 * hr_element_propose_allocator: (skip)
 * @field: whose bytes this element wants from there: "images"; "*": all fields that come, whatever
 *   their names
 * @allocator: (transfer none): whose blocks the CPU can write. The pipeline holds a reference, and
 *   so does each block, which may outlive both
 *
 * For start() of a consumer that would have to copy what lies elsewhere. The proposal goes upstream
 * through elements that pass the field on (identity, tee, batch, prefetchqueue, …) to the one that
 * writes it: hr_out_alloc() and hr_ticket_alloc() for that field take their blocks from @allocator
 * from then on. They count against the pipeline's budget as any others do. When the allocator has
 * nothing to give, that ends the run with its error.
 *
 * Of two proposals for a field of one element, behind a `tee` for instance, the first holds: that
 * of the branch on the tee's output 0. Nobody is told; and an element may hand on bytes that it did
 * not allocate (those of a program, of a file). So a consumer looks at each block
 * (hr_memory_is_from()), copies the others, and counts that with hr_out_count_copy().
 */
void hr_element_propose_allocator (HrElement *element, const char *field, HrAllocator *allocator);

/**
 * HrOut:
 *
 * What a call to an element's function may use; valid during the call, only in its thread.
 */
typedef struct _HrOut HrOut;

/**
 * HrTicket:
 *
 * One buffer inside an asynchronous element, from submit() to hr_ticket_done().
 */
typedef struct _HrTicket HrTicket;

/**
 * HrFlow:
 * @HR_FLOW_MORE: call me again
 * @HR_FLOW_END: that was the last
 * @HR_FLOW_ERROR: the error is set
 *
 * What a function that is called again and again says.
 */
typedef enum { HR_FLOW_MORE, HR_FLOW_END, HR_FLOW_ERROR } HrFlow;

/**
 * HrParallel:
 * @HR_PARALLEL_NO: one thread: state between buffers lives in the worker
 * @HR_PARALLEL_YES: workers=N; order is kept by the core
 *
 * Whether an element may have several workers.
 */
typedef enum { HR_PARALLEL_NO, HR_PARALLEL_YES } HrParallel;

/**
 * HrJoin:
 * @HR_JOIN_ZIP: one buffer of each input, merged; ends when any input ends
 * @HR_JOIN_CONCAT: the first input to its end, then the next; ends when all ended
 * @HR_JOIN_ANY: whatever comes; ends when all ended
 *
 * How an element of many inputs takes them.
 */
typedef enum { HR_JOIN_ZIP, HR_JOIN_CONCAT, HR_JOIN_ANY } HrJoin;

/**
 * HrElementDef:
 *
 * The table that is an element. Everything but name, summary and one of the functions that make its
 * kind is optional. In all functions `self` is the struct that the properties fill, constant while
 * the pipeline runs; `shared` is zeroed memory of shared_size for all workers of one run (put a
 * lock in it); `worker` is zeroed memory of worker_size for one of them, and is `shared` itself
 * when worker_size is 0.
 */
/*
 * Kinds, by the function that is set:
 * @create: source. Called again and again until it says HR_FLOW_END; each call may push some
 *   buffers and should return after at most a few MB, or when it would wait (see hr_out_sleep()).
 * @process: transform. Gets @in to keep; pushes any number of buffers.
 * @each with @each_field: called once a member of a list field, spread over the workers, put
 *   together again by the core. Gets the member in *@member (yours) and replaces it, or leaves
 * %NULL there: a list of which nothing is left is no field any more.
 *   @prepare, if set, is called once a sample before that, by one worker.
 * @submit with @poll: asynchronous. One thread (io-threads) keeps many tickets in flight. submit()
 *   must not wait. poll() waits at most @timeout_ms (-1: for ever) for its own descriptors or for
 *   @wake_fd to become readable, and finishes tickets with hr_ticket_done(). Never waits for
 *   anything else.
 * @merge: many inputs to one: join. @join says how it takes its inputs (self's property may
 * choose).
 * @choose with @accept: many inputs to one, and the element says which input it needs next: mix.
 *   choose() is called again and again; it may push buffers, and sets *@input to the input whose
 *   next buffer accept() shall get before the call after that, or leaves it: call me again.
 * accept() gets %NULL if that input has ended.
 * @route: one input to many outputs: gives the outputs as bits, the lowest is the first.
 * @consume: sink.
 * @pullable: a sink without a thread: hr_pipeline_pull() takes its buffers. No function, or
 *   @process: what that pushes is pulled; lookahead() says how many buffers may wait for it.
 * @pushable: a source without a function of its own: hr_pipeline_push() gives it buffers.
 */
typedef struct _HrElementDef HrElementDef;
struct _HrElementDef {
  gsize abi_size; /* stamped by HR_ELEMENT */
  const char *name;
  const char *summary;         /* half a sentence, no full stop */
  const char *description;     /* a paragraph: what it does, shapes, dtypes, errors, sources */
  const char *const *examples; /* NULL-terminated pipelines, run by the tests */

  /* Fields: "images:encoded, conversation". `needs`: what must arrive. `gives`: what it adds, or
   * changes the form of. `takes`: what it removes. All others pass. The word "batch" stands for
   * being a batch, "*" in `gives` for any field: what comes from a program is not checked. An
   * element that needs fields gets single samples and stands before `batch`, unless it needs
   * "batch" too, or "batch?": one or the other. */
  const char *needs;
  const char *gives;
  const char *takes;
  /* what else must arrive, as the properties are; may say %NULL */
  const char *(*needs_of) (gconstpointer self);
  /* For proposed allocators, see hr_element_propose_allocator(). `passes`: those of `gives` that it
   * may also hand on as they came. rewrites_of(): fields that pass, and that it copies into bytes
   * of its own, as the properties are; %NULL-terminated, or %NULL */
  const char *passes;
  const char *const *(*rewrites_of) (gconstpointer self);

  gsize self_size;
  gsize shared_size;
  gsize worker_size;
  const HrProp *props;

  HrParallel parallel;
  gboolean light;       /* takes microseconds at most: no CPU permit is asked for it */
  gboolean waits;       /* sleeps or waits rather than computes: no CPU permit either */
  gboolean takes_holes; /* process() wants to see the holes; else they pass around it */
  gboolean stamps;      /* its output is samples, its input was not: numbers start here */
  gboolean pullable;
  gboolean pushable;
  gboolean network; /* waits for a network: for the verdict */
  gboolean plans;   /* a source that reads what the plan says, see hr_out_get_plan() */
  gboolean trains;  /* a sink that stands for the trainer: its consume() is the step */
  gboolean relays;  /* a sink that hands on all it gets to another run: consume() sees holes, too */

  /* after parsing and setting: do the properties make sense together? HR_PARSE_ERROR_CONFLICT */
  gboolean (*check) (gconstpointer self, GError **error);
  /* the same, in the place where it stands: with those before and behind it */
  gboolean (*check_place) (gconstpointer self, HrElement *element, GError **error);
  gboolean (*start) (gconstpointer self, gpointer shared, HrElement *element, GError **error);
  void (*stop) (gconstpointer self, gpointer shared);
  gboolean (*worker_start) (gconstpointer self, gpointer shared, gpointer worker, GError **error);
  void (*worker_stop) (gconstpointer self, gpointer worker);

  HrFlow (*create) (gconstpointer self, gpointer worker, HrOut *out, GError **error);
  gboolean (*process) (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out,
                       GError **error);
  /* transforms that hold buffers back, and sinks: the input has ended */
  gboolean (*finish) (gconstpointer self, gpointer worker, HrOut *out, GError **error);

  const char *each_field; /* "images" */
  const char *each_names; /* a list field with the members' names, for messages: "image_links" */
  gboolean (*prepare) (gconstpointer self, gpointer worker, HrBuffer *sample, HrOut *out,
                       GError **error);
  gboolean (*each) (gconstpointer self, gpointer worker, const HrBuffer *sample, guint index,
                    HrTensor **member, HrOut *out, GError **error);

  /* Elements with process or each, parallel: how long the work on @in, or on its member @index,
   * will take, in any unit that all elements of a plugin share (pixels); 0: not known. Among the
   * samples of a step the costliest is started first. Called in other threads, before the element's
   * other functions and after prepare(); must be quick and must not fail. */
  guint64 (*cost) (gconstpointer self, const HrBuffer *in, guint index);

  /* bytes that submit() will probably take, asked for before it is called */
  guint64 (*estimate) (gconstpointer self, gpointer worker, const HrBuffer *in);
  void (*submit) (gconstpointer self, gpointer worker, HrBuffer *in, HrTicket *ticket);
  /* a ticket that hr_ticket_reserve() had parked may go on */
  void (*resume) (gconstpointer self, gpointer worker, HrTicket *ticket);
  gboolean (*poll) (gconstpointer self, gpointer worker, int wake_fd, int timeout_ms,
                    GError **error);
  /* most transfers that are in flight at once; the window is 8 times that */
  guint (*concurrency) (gconstpointer self);

  /* Asynchronous elements whose work the program does. Both are called from threads of the program,
   * for as long as the pipeline lives. take(): the next, until the monotonic clock is @until;
   * %NULL with @ended: none will come. answer(): takes @result or @why, neither: left out; FALSE,
   * and nothing is taken, if no buffer of that number has been taken and not answered. */
  HrBuffer *(*take) (gpointer shared, gint64 until, gboolean *ended);
  gboolean (*answer) (gpointer shared, gint64 number, HrBuffer *result, GError *why);

  HrJoin (*join) (gconstpointer self);
  HrBuffer *(*merge) (gconstpointer self, gpointer worker, HrBuffer **in, guint n_in,
                      GError **error);
  HrFlow (*choose) (gconstpointer self, gpointer worker, HrOut *out, guint *input, GError **error);
  void (*accept) (gconstpointer self, gpointer worker, guint input, HrBuffer *in);
  guint64 (*route) (gconstpointer self, gpointer worker, const HrBuffer *in, guint n_out);

  gboolean (*consume) (gconstpointer self, gpointer worker, HrBuffer *in, HrOut *out,
                       GError **error);

  /* batch: how many inputs make one output; packed: 0 */
  guint (*group) (gconstpointer self);
  /* batch: a last one that is not full is not made */
  gboolean (*drop_last) (gconstpointer self);
  /* packed: how many inputs, skipped ones too, are one block, of which process() makes any number
   * of rows when it gets the last of them; finish() those of the last block, which may be short. 0:
   * none of this */
  guint (*block) (gconstpointer self);
  /* packed: what a row takes, so that rows can be made up beforehand; images 0: any */
  void (*row_limits) (gconstpointer self, gint64 *tokens, gint64 *image_tokens);
  /* prefetchqueue: steps it may run ahead, bytes its output may hold, steps to fill before the
   * first */
  void (*lookahead) (gconstpointer self, guint *steps, guint64 *bytes, guint *warm_up);
  /* mix: its inputs are sources with .plans, and this is the order of what they give together; see
   * hr_out_peek_place() */
  void (*mixes) (gconstpointer self, HrMixRules *rules);
  /* what its output depends on beside properties and input, once it is started: the content of a
   * file that it has read. (transfer full) */
  char *(*identify) (gconstpointer self, gpointer shared);
  /* of who copies to a device: nanoseconds that copies have taken so far, and of those the ones
   * that consumers' streams stood still for; any thread */
  void (*transfers) (gconstpointer self, gpointer shared, gint64 *copied, gint64 *waited);
  /* further numbers for the stats, a JSON object's members are added to the element's; any thread
   */
  void (*metrics) (gconstpointer self, gpointer shared, JsonBuilder *into);
  /* "waits for …": what the worker waits for outside, in words, for who asks why nothing moves; in
   * the worker's own thread. Returns: a number that grows as long as any of it comes. An
   * asynchronous element is woken for it, another one calls hr_out_answer() while it waits */
  guint64 (*waits_for) (gconstpointer self, gpointer worker, GString *into);
};

/*
 * HR_ELEMENT: defines `const HrElementDef hr_element_ID` with struct T of the properties.
 */
#define HR_ELEMENT(id, T, ...)                                                                     \
  extern const HrElementDef hr_element_##id;                                                       \
  const HrElementDef hr_element_##id = {                                                           \
    .abi_size = sizeof (HrElementDef), .name = #id, .self_size = sizeof (T), __VA_ARGS__           \
  };

/**
 * HrTransfer: (skip)
 * @name: what was asked for: "s3://bucket/key"
 * @begun: when it was first sent, on the monotonic clock, in nanoseconds, like all times here
 * @first_byte: how long its last try waited for the first byte of the answer …
 * @body: … and from there to its end
 * @tries: how often it was sent, one after the other
 * @hedged: and once more beside that, because an answer was late
 * @failed: none of them was answered well
 *
 * Something that an element has asked the outside for.
 */
typedef struct {
  const char *name;
  gint64 begun;
  gint64 first_byte;
  gint64 body;
  gsize bytes;
  guint tries;
  gboolean hedged;
  gboolean failed;
} HrTransfer;

/* ---- services, for the thread that is inside create, process, finish, each, consume ---- */

/* gives @buffer to the next element; it is collected and handed on when the function returns, or
 * before the core waits for anything */
void hr_out_push (HrOut *out, HrBuffer *buffer);

/**
 * hr_out_reject:
 * @buffer: (nullable) (transfer full): what is left of the bad sample
 * @origin: (nullable) (transfer full): where it came from, if @buffer does not say
 * @error: (transfer full): why; #HR_DATA_ERROR
 *
 * For elements that make several samples of one buffer: this one is bad. With on-error=skip a hole
 * takes its place and the function may go on.
 *
 * Returns: %FALSE if the run ends by it: leave with what @fatal holds
 */
gboolean hr_out_reject (HrOut *out, HrBuffer *buffer, HrOrigin *origin, GError *error,
                        GError **fatal);

/**
 * hr_out_note_drop:
 * @buffer: (transfer full): the sample
 * @why: (transfer full): as in hr_out_drop()
 *
 * For elements that hold samples back: the same as hr_out_drop(), but the hole is not pushed.
 *
 * Returns: (transfer full): the hole
 */
HrBuffer *hr_out_note_drop (HrOut *out, HrBuffer *buffer, GError *why);

/**
 * hr_out_drop:
 * @buffer: (nullable) (transfer full): the sample, or what is left of it
 * @origin: (nullable) (transfer full): where it came from, if @buffer does not say
 * @why: (nullable) (transfer full): #HR_DATA_ERROR; its kind is what is counted as dropped
 *
 * Leaves a sample out because a property of the element says so, not because it is bad: a hole
 * takes its place, whatever on-error says, and the run goes on. (Pushing nothing for a sample is
 * the same without a reason.)
 */
void hr_out_drop (HrOut *out, HrBuffer *buffer, HrOrigin *origin, GError *why);

/**
 * hr_out_pad: (skip)
 * @epoch: from 0
 * @place: in the order of that epoch
 * @row: the packed row that it is for
 *
 * A place of the order without a sample: fills up the last step of an epoch. A hole takes it. @row
 * is the packed row that it is for.
 */
void hr_out_pad (HrOut *out, guint epoch, gint64 place, const HrRowMark *row);

/**
 * hr_out_leave_out: (skip)
 * @epoch: from 0
 * @origin: (transfer full): of the line
 * @wanted: says which place, and why: left_out
 *
 * A line that is known to make no sample, and was not read. It is told and counted as it was when
 * that was found out, and a hole takes its place.
 */
void hr_out_leave_out (HrOut *out, guint epoch, HrOrigin *origin, const HrWanted *wanted);

/**
 * hr_out_adopt: (skip)
 * @buffer: that another run has made, and sent here
 * @checkpoint: (nullable): where that run is behind it …
 * @refusal: (nullable): … or why it cannot tell
 * @n_steps: of that run; -1 unknown
 *
 * For sources, before they push it. What was skipped or dropped over there, and is a hole in
 * @buffer, is counted and told here as well, whatever on-error says: that has been decided.
 * hr_pipeline_get_checkpoint() gives @checkpoint for @buffer.
 */
void hr_out_adopt (HrOut *out, HrBuffer *buffer, const char *checkpoint, const char *refusal,
                   gint64 n_steps);

/**
 * hr_out_has_numbered_rows:
 *
 * For `batch`: asks whether rows have been made up beforehand.
 *
 * Returns: %TRUE: a sample with #HR_BUFFER_BLOCK_END ends a block, of which one row is made,
 *   whatever block() says
 */
gboolean hr_out_has_numbered_rows (HrOut *out);

/**
 * hr_out_alloc:
 * @field: the field the bytes are for: who consumes it further down may have proposed an allocator,
 *   see hr_element_propose_allocator()
 * @size: bytes
 * @error: #HR_CORE_ERROR_STOPPED when the pipeline is being stopped: just return FALSE
 *
 * Bytes of a sample, within the pipeline's budget: may wait until earlier samples have left.
 *
 * Returns: (transfer full): a block of at least @size bytes, whatever they were; %NULL with an
 *   error
 */
HrMemory *hr_out_alloc (HrOut *out, const char *field, gsize size, GError **error);

/**
 * hr_out_is_closed:
 *
 * Asks whether anybody still wants the output.
 *
 * Returns: %TRUE: nobody does; leave soon
 */
gboolean hr_out_is_closed (HrOut *out);

/**
 * hr_out_answer:
 *
 * For who waits in a loop of its own, twice a second or more often: if somebody wants to know what
 * for, waits_for() tells.
 */
void hr_out_answer (HrOut *out);

/**
 * hr_out_count_read:
 * @bytes: that have come
 *
 * Says that bytes have come from outside: as long as some do, the run moves.
 */
void hr_out_count_read (HrOut *out, gsize bytes);

/**
 * hr_out_get_wake_fd:
 *
 * For poll() beside your own descriptors.
 *
 * Returns: readable (level) when hr_out_is_closed() becomes %TRUE. It is the core's: do not close
 *   it
 */
int hr_out_get_wake_fd (HrOut *out);

/**
 * hr_out_sleep:
 * @nanoseconds: how long
 *
 * Sleeps, and wakes when the element is closed.
 *
 * Returns: %FALSE if it was cut short because the element is closed
 */
gboolean hr_out_sleep (HrOut *out, gint64 nanoseconds);

/**
 * hr_out_count_copy:
 * @bytes: that were copied
 *
 * Zero-copy is a number: says how much sample data was copied.
 */
void hr_out_count_copy (HrOut *out, gsize bytes);

/**
 * hr_out_count_transfer:
 * @transfer: that is over
 *
 * Says how long a transfer took, so that the verdict can tell a network that is late from one that
 * is full, and the trace shows it. For elements with one worker.
 */
void hr_out_count_transfer (HrOut *out, const HrTransfer *transfer);

/**
 * hr_out_is_serial:
 *
 * Asks for serial=true: one sample at a time, one request in flight.
 *
 * Returns: %TRUE if the pipeline is serial
 */
gboolean hr_out_is_serial (HrOut *out);

/**
 * hr_out_get_plan: (skip)
 *
 * What to read: sources only.
 *
 * Returns: (transfer none): the plan; it belongs to this thread
 */
HrPlan *hr_out_get_plan (HrOut *out);

/**
 * hr_out_peek_place: (skip)
 * @place: (out): where it is, and which input has it
 *
 * What a mix gives next; it stays the next until hr_out_advance_place(). For choose() only.
 *
 * Returns: #HR_PLAN_READ: @place is set; #HR_PLAN_LATER: ask again; #HR_PLAN_END: there are no more
 */
HrPlanNext hr_out_peek_place (HrOut *out, HrMixPlace *place);

/**
 * hr_out_advance_place: (skip)
 *
 * The place that hr_out_peek_place() gave is dealt with. For choose() only.
 */
void hr_out_advance_place (HrOut *out);

/**
 * hr_out_get_element: (skip)
 *
 * Tells which element this call is for.
 *
 * Returns: (transfer none): the element
 */
HrElement *hr_out_get_element (HrOut *out);

/**
 * hr_out_wait_request: (skip)
 *
 * The plan has nothing to read before something is asked for, or the mix goes on: waits for that,
 * or for the end.
 */
void hr_out_wait_request (HrOut *out);

/* ---- asynchronous elements; all calls from the thread that polls ---- */

/**
 * hr_ticket_done:
 * @buffer: (nullable) (transfer full): the result, or what is left of it
 * @error: (nullable) (transfer full): why there is none. A data error makes a hole or ends the run.
 *
 * Without both the sample is left out: a hole takes its place. The ticket is gone after this.
 */
void hr_ticket_done (HrTicket *ticket, HrBuffer *buffer, GError *error);

/**
 * hr_ticket_reserve:
 * @bytes: of memory
 *
 * The ticket now needs so many bytes in all.
 *
 * Returns: %FALSE: not yet; stop its transfers until resume()
 */
gboolean hr_ticket_reserve (HrTicket *ticket, guint64 bytes);

/**
 * hr_ticket_alloc:
 * @field: the field the bytes are for, as in hr_out_alloc()
 * @size: bytes
 * @error: return location
 *
 * Memory out of the ticket's reservation; never waits.
 *
 * Returns: (transfer full): a block; %NULL with an error
 */
HrMemory *hr_ticket_alloc (HrTicket *ticket, const char *field, gsize size, GError **error);

/**
 * hr_ticket_get_number:
 *
 * Tells which of two tickets is needed sooner.
 *
 * Returns: its number: the lower, the sooner
 */
gint64 hr_ticket_get_number (const HrTicket *ticket);

/**
 * hr_ticket_set_data:
 * @data: the element's own
 *
 * Keeps something of the element's own with the ticket.
 */
void hr_ticket_set_data (HrTicket *ticket, gpointer data);
gpointer hr_ticket_get_data (const HrTicket *ticket);

/**
 * hr_ticket_is_serial:
 *
 * Asks for serial=true: one sample at a time, one request in flight.
 *
 * Returns: %TRUE if the pipeline is serial
 */
gboolean hr_ticket_is_serial (const HrTicket *ticket);

/**
 * hr_ticket_count_transfer:
 * @transfer: that is over
 *
 * Says how long a transfer of this ticket took, for the verdict and the trace.
 */
void hr_ticket_count_transfer (HrTicket *ticket, const HrTransfer *transfer);

G_END_DECLS
