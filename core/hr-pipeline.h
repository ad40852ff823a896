/* hr-pipeline.h: a graph of elements made from text, started, pulled and stopped */
#pragma once
#include "hr-element.h"

G_BEGIN_DECLS

/**
 * HrPipeline:
 *
 * Properties (also written before the first element of a text, `serial=true memory=2GiB …`):
 * serial memory cpus on-error max-errors limit.
 *
 * States: stopped, running, done. A pipeline runs once. Everything may be called from any thread,
 * but wait, pull and the last unref belong to the owner; stop() also from inside an element.
 */
#define HR_TYPE_PIPELINE (hr_pipeline_get_type ())
G_DECLARE_FINAL_TYPE (HrPipeline, hr_pipeline, HR, PIPELINE, GObject)

/**
 * HrState:
 * @HR_STATE_STOPPED: made, not started
 * @HR_STATE_RUNNING: started, and not at its end
 * @HR_STATE_DONE: ended, failed or stopped
 *
 * How far a pipeline is. It runs once.
 */
typedef enum { HR_STATE_STOPPED, HR_STATE_RUNNING, HR_STATE_DONE } HrState;

/**
 * hr_parse_launch:
 * @text: a pipeline, docs/grammar.md; `#` begins a comment
 * @error: #HR_PARSE_ERROR; the message has three or more lines, with a caret
 *
 * Makes a pipeline of its text. Nothing runs before hr_pipeline_start().
 *
 * Returns: (transfer full): the pipeline, or %NULL. Never half a pipeline.
 */
HrPipeline *hr_parse_launch (const char *text, GError **error);

/**
 * hr_parse_launch_full:
 * @text: a pipeline
 * @variables: (nullable) (element-type utf8 utf8): values for ${NAME}, before the environment's
 * @error: return location
 *
 * hr_parse_launch() with values for the text's variables.
 *
 * Returns: (transfer full): the pipeline
 */
HrPipeline *hr_parse_launch_full (const char *text, GHashTable *variables, GError **error);

/**
 * hr_pipeline_to_string:
 *
 * The canonical text, which parses back to itself, with all that it was given: a link with a
 * signature, too.
 *
 * Returns: (transfer full): the text
 */
char *hr_pipeline_to_string (HrPipeline *pipeline);

/**
 * hr_pipeline_to_shown_string:
 *
 * The canonical text for people to see: what may be secret in links is "…".
 *
 * Returns: (transfer full): the text
 */
char *hr_pipeline_to_shown_string (HrPipeline *pipeline);

/**
 * hr_pipeline_get_element:
 * @name: "resize0", or what `name=` says
 *
 * Finds an element by its name.
 *
 * Returns: (transfer none) (nullable): the element of that name
 */
HrElement *hr_pipeline_get_element (HrPipeline *pipeline, const char *name);

/**
 * hr_pipeline_get_n_elements:
 *
 * Counts its elements.
 *
 * Returns: number of elements
 */
guint hr_pipeline_get_n_elements (HrPipeline *pipeline);

/**
 * hr_pipeline_get_nth_element:
 * @index: below hr_pipeline_get_n_elements()
 *
 * Finds an element by its place in the text.
 *
 * Returns: (transfer none): an element, counted in the order of the text
 */
HrElement *hr_pipeline_get_nth_element (HrPipeline *pipeline, guint index);

/**
 * hr_element_to_string:
 *
 * An element as the canonical text has it, without its name and its links.
 *
 * Returns: (transfer full): "resize min-pixels=3136"
 */
char *hr_element_to_string (HrElement *element);

/**
 * hr_element_set_from_string:
 * @property: one of its own, or one that every element has
 * @value: as in a pipeline's text: "4", "64KiB", "200ms", "a,b"
 * @error: return location: #HR_PARSE_ERROR
 *
 * Sets a property from text, with units, as the parser does, and checks its range. Properties
 * that are not live are frozen by start().
 *
 * Returns: %TRUE, or %FALSE with an error, and the property is as it was
 */
gboolean hr_element_set_from_string (HrElement *element, const char *property, const char *value,
                                     GError **error);

/**
 * hr_pipeline_set_from_string:
 * @property: "memory"
 * @value: as in a pipeline's text: "2GiB"
 * @error: return location: #HR_PARSE_ERROR
 *
 * Sets a property of the pipeline from text, with units, and checks its range.
 *
 * Returns: %TRUE, or %FALSE with an error, and the property is as it was
 */
gboolean hr_pipeline_set_from_string (HrPipeline *pipeline, const char *property, const char *value,
                                      GError **error);

/**
 * hr_pipeline_start:
 * @error: return location
 *
 * Starts the elements from sink to source and creates the threads. On failure nothing is left
 * half started. An element that waits for a network meanwhile, as tokenize may for its tokenizer,
 * is stopped by hr_pipeline_stop(): the error is then #HR_CORE_ERROR_STOPPED.
 *
 * Returns: %TRUE if it runs
 */
gboolean hr_pipeline_start (HrPipeline *pipeline, GError **error);

/**
 * hr_pipeline_stop:
 *
 * Asks everybody to leave, and returns at once. From any thread, also from an element. Before
 * hr_pipeline_start() it is remembered: the run then ends as soon as it begins.
 */
void hr_pipeline_stop (HrPipeline *pipeline);

/**
 * hr_pipeline_wait:
 * @error: return location: the first error of the run
 *
 * Joins all threads. With serial=true and a sink of its own, the run happens in here.
 *
 * Returns: %TRUE if the run came to its end or was stopped; %FALSE with the error if it failed
 */
gboolean hr_pipeline_wait (HrPipeline *pipeline, GError **error);

/**
 * hr_pipeline_get_state:
 *
 * Tells how far it is. From any thread.
 *
 * Returns: one of three
 */
HrState hr_pipeline_get_state (HrPipeline *pipeline);

/**
 * hr_pipeline_pull:
 * @error: return location: why the run failed
 *
 * Waits for the next buffer of the only pullable sink (`appsink`).
 *
 * Returns: (transfer full) (nullable): the buffer; %NULL at the end (no error), after stop() (no
 *   error) or on failure
 */
HrBuffer *hr_pipeline_pull (HrPipeline *pipeline, GError **error);

/**
 * hr_pipeline_pull_timed:
 * @timeout: nanoseconds
 * @timed_out: (out): it would have to wait longer
 * @error: return location: why the run failed
 *
 * hr_pipeline_pull() for who must look at something else from time to time, at signals say. The
 * time that the trainer waits goes on from one call to the next. With serial=true the elements run
 * in here, and it returns when a step is made.
 *
 * Returns: (transfer full) (nullable): the buffer; %NULL as for hr_pipeline_pull(), or if
 *   @timed_out
 */
HrBuffer *hr_pipeline_pull_timed (HrPipeline *pipeline, gint64 timeout, gboolean *timed_out,
                                  GError **error);

/**
 * hr_pipeline_push:
 * @name: of an `appsrc`
 * @buffer: (transfer full): the buffer
 * @error: return location: #HR_CORE_ERROR
 *
 * Waits while the link is full.
 *
 * Returns: %FALSE with an error, or without one if nobody wants it any more
 */
gboolean hr_pipeline_push (HrPipeline *pipeline, const char *name, HrBuffer *buffer,
                           GError **error);

/**
 * hr_pipeline_push_timed:
 * @name: of an `appsrc`
 * @buffer: (transfer none): yours alone; taken unless @timed_out
 * @timeout: nanoseconds
 * @timed_out: (out): the link is still full: @buffer is yours, try it again
 * @error: #HR_CORE_ERROR
 *
 * hr_pipeline_push() for who must look at something else from time to time, at signals say.
 *
 * Returns: %FALSE if @timed_out, or if nobody wants it any more
 */
gboolean hr_pipeline_push_timed (HrPipeline *pipeline, const char *name, HrBuffer *buffer,
                                 gint64 timeout, gboolean *timed_out, GError **error);

/**
 * hr_pipeline_make_hole: (skip)
 * @name: of an `appsrc`
 * @buffer: (transfer full): what is left of the sample: epoch, place and origin are kept
 * @why: (transfer full) (nullable): #HR_DATA_ERROR: it is bad, and `on-error` says what follows;
 *   %NULL: it is left out on purpose
 * @error: #HR_CORE_ERROR
 *
 * For a program that has a place in the order, and no sample for it: the hole is pushed like any
 * other buffer, and no later sample moves up.
 *
 * Returns: (transfer full) (nullable): the hole; %NULL with @error, or without one if the run ends
 *   by @why
 */
HrBuffer *hr_pipeline_make_hole (HrPipeline *pipeline, const char *name, HrBuffer *buffer,
                                 GError *why, GError **error);

/**
 * hr_pipeline_end:
 * @name: of an `appsrc`
 *
 * No more will be pushed into it.
 */
void hr_pipeline_end (HrPipeline *pipeline, const char *name);

/**
 * hr_pipeline_take:
 * @name: of an `appmap`
 * @timeout: nanoseconds
 * @timed_out: (out): there is none yet
 * @error: #HR_CORE_ERROR
 *
 * Waits for the next sample that the element wants the program's work on, in the order in which
 * they came. Any number may be taken before they are answered. From one or more threads of the
 * program, while somebody else pulls.
 *
 * Returns: (transfer full) (nullable): the sample; %NULL if @timed_out, or when no more will come
 */
HrBuffer *hr_pipeline_take (HrPipeline *pipeline, const char *name, gint64 timeout,
                            gboolean *timed_out, GError **error);

/**
 * hr_pipeline_answer:
 * @name: of the `appmap` that @taken came from
 * @taken: (transfer none): what hr_pipeline_take() gave
 * @result: (transfer full) (nullable): what takes its place; %NULL: a hole does, the sample is left
 *   out
 * @error: #HR_CORE_ERROR
 *
 * Never waits.
 *
 * Returns: %FALSE if nobody wants the answer any more, or with @error
 */
gboolean hr_pipeline_answer (HrPipeline *pipeline, const char *name, HrBuffer *taken,
                             HrBuffer *result, GError **error);

/**
 * hr_pipeline_reject:
 * @name: of the `appmap` that @taken came from
 * @taken: (transfer none): what hr_pipeline_take() gave
 * @why: (transfer none): an #HR_DATA_ERROR: the sample is bad, and `on-error` says what follows;
 *   any other: the run ends
 * @error: #HR_CORE_ERROR
 *
 * The other answer: there is no result.
 *
 * Returns: as hr_pipeline_answer()
 */
gboolean hr_pipeline_reject (HrPipeline *pipeline, const char *name, HrBuffer *taken,
                             const GError *why, GError **error);

/**
 * hr_pipeline_request:
 * @epoch: from 0
 * @slice: step x world + rank: what that rank gets in that step of the epoch; with packed rows the
 *   number of a block; if they are numbered (scan=lengths) that of a row. Behind the epoch's last
 *   place everything is padding; drop-last leaves nothing out
 * @error: return location: #HR_CORE_ERROR_STATE if it takes no requests
 *
 * For a pipeline with requests=true: asks for a part of the order, before or after start(), from
 * any thread, without waiting. The sink gets what was asked for in the order in which it was, byte
 * for byte what a run through the whole order delivers there: one batch, or the block's rows, of
 * which the last has #HR_BUFFER_BLOCK_END (a block without any sample gives one hole with that
 * flag). How far is looked ahead is up to who asks.
 *
 * Returns: %TRUE if it was noted
 */
gboolean hr_pipeline_request (HrPipeline *pipeline, guint64 epoch, guint64 slice, GError **error);

/**
 * hr_pipeline_end_requests:
 *
 * Nothing more will be asked for by hr_pipeline_request(): the run ends behind what was.
 */
void hr_pipeline_end_requests (HrPipeline *pipeline);

/**
 * hr_pipeline_get_checkpoint:
 * @buffer: (nullable): that the trainer is done with, of the pullable sink, or of the only one;
 *   %NULL: the last that all sinks are done with
 * @error: #HR_CORE_ERROR_STATE if this pipeline cannot go on exactly; says why
 *
 * Where the run is behind that buffer: some hundred bytes of JSON that another run of the same data
 * and stream can go on from, with as many workers, queues and ranks as it likes. docs/resume.md
 *
 * Returns: (transfer full) (nullable): the document
 */
char *hr_pipeline_get_checkpoint (HrPipeline *pipeline, HrBuffer *buffer, GError **error);

/**
 * hr_pipeline_resume:
 * @checkpoint: a document of hr_pipeline_get_checkpoint()
 * @force: go on although elements behind the source have changed, or the version: the order is
 *   still the same, what is made of each sample perhaps not
 * @error: return location: #HR_CORE_ERROR
 *
 * Before start(), which fails, and names the first difference, if the checkpoint is of another
 * stream; if the data has changed, the run fails before it delivers anything.
 *
 * Returns: %TRUE if the document can be read
 */
gboolean hr_pipeline_resume (HrPipeline *pipeline, const char *checkpoint, gboolean force,
                             GError **error);

/**
 * hr_pipeline_get_n_steps:
 *
 * How many steps the sink (the pullable one, or the first) of this rank gets from the beginning of
 * the run to its end, those before a checkpoint that it goes on from included. It is known once all
 * lines are (docs/plan.md), at the latest at the end of the first epoch. From any thread.
 *
 * Returns: -1: not known yet, or there is no end, or what comes is asked for, or an order that a
 *   plan gives is not all that decides: several sources; packed rows without scan=lengths, but with
 * `steps` and epochs=0
 */
gint64 hr_pipeline_get_n_steps (HrPipeline *pipeline);

/* one JSON object, docs/stats.md; also while running. (transfer full) */
char *hr_pipeline_get_stats (HrPipeline *pipeline);

/**
 * hr_pipeline_to_dot:
 *
 * The graph for Graphviz; once it has been started with its numbers, also while it runs: of each
 * element the share of its threads' time in which it worked, workers and items; of each link how
 * many buffers are in it, for how many it has room, the most there have been, and how many have
 * gone through it, in all and a second.
 *
 * Returns: (transfer full): a digraph
 */
char *hr_pipeline_to_dot (HrPipeline *pipeline);

/* ---- messages: pulled, no main loop ---- */
/**
 * HrMessageType:
 * @HR_MESSAGE_ERROR: the first error of the run
 * @HR_MESSAGE_SKIPPED: a sample was skipped: error and origin say why and which
 * @HR_MESSAGE_WARNING: the run goes on, and the user should know: error says what
 * @HR_MESSAGE_DONE: all elements have left
 * @HR_MESSAGE_DROPPED: a sample was left out by a policy: error and origin say why and which
 * @HR_MESSAGE_CHECKPOINT: `text` is the checkpoint behind the last step, see checkpoint-every;
 *   takes the place of an older one that nobody has popped
 * @HR_MESSAGE_SCAN: before the first sample: `text` is how far scan=lengths has come
 * @HR_MESSAGE_STALL: nothing has moved for stall-timeout: `text` says who waits for what, a line an
 *   element; and, once more, that it moves again
 *
 * What a message is about.
 */
typedef enum {
  HR_MESSAGE_ERROR,
  HR_MESSAGE_SKIPPED,
  HR_MESSAGE_WARNING,
  HR_MESSAGE_DONE,
  HR_MESSAGE_DROPPED,
  HR_MESSAGE_CHECKPOINT,
  HR_MESSAGE_SCAN,
  HR_MESSAGE_STALL
} HrMessageType;

/**
 * HrMessage:
 * @type: what it is about
 * @element: (nullable): name of the element
 * @error: (nullable): what is wrong
 * @origin: (nullable): of the sample
 * @text: (nullable): see #HrMessageType
 *
 * Something that whoever runs a pipeline may want to know. Refcounted and constant.
 */
typedef struct {
  /*< private >*/
  gint ref_count;
  /*< public >*/
  HrMessageType type;
  char *element;
  GError *error;
  HrOrigin *origin;
  char *text;
} HrMessage;

/**
 * hr_message_type_name:
 * @type: a type
 *
 * Names a type of message.
 *
 * Returns: (transfer none): "error", "skipped", …
 */
const char *hr_message_type_name (HrMessageType type);

#define HR_TYPE_MESSAGE (hr_message_get_type ())
GType hr_message_get_type (void);

/**
 * hr_message_ref:
 *
 * Adds a reference.
 *
 * Returns: (transfer full): @message
 */
HrMessage *hr_message_ref (HrMessage *message);

/**
 * hr_message_unref:
 *
 * Gives a reference back; with the last one it dies.
 */
void hr_message_unref (HrMessage *message);

/**
 * hr_pipeline_pop_message:
 * @timeout_ns: nanoseconds to wait at most; -1: until one comes or all threads have left
 *
 * Takes the next message, in the order in which they came. No main loop is needed.
 *
 * Returns: (transfer full) (nullable): the message; %NULL if none came in time
 */
HrMessage *hr_pipeline_pop_message (HrPipeline *pipeline, gint64 timeout_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrMessage, hr_message_unref)

G_END_DECLS
