/* hr-element-private.h: the element object, as parser and scheduler see it */
#pragma once
#include "hr-element.h"
#include "hr-pipeline.h"
#include "hr-sync.h"

typedef struct _HrLink HrLink;
typedef struct _HrRun HrRun; /* an element's part of a running pipeline: hr-run.h */

typedef enum { HR_ON_ERROR_DEFAULT, HR_ON_ERROR_FAIL, HR_ON_ERROR_SKIP } HrOnError;

/* who has said that a property finds its value itself: nobody, its own text, or the pipeline's
 * auto=true */
typedef enum { HR_AUTO_NOT, HR_AUTO_SAID, HR_AUTO_ALL } HrAutoMark;

/* What every element has. The fields are filled by the property rows in hr-element.c; 0 in
 * workers, window, queue_items, queue_bytes means: not set, the scheduler chooses. Those four and
 * on_error are live: read them with hr_live_uint(). */
typedef struct {
  char *name;
  guint64 workers;
  guint64 window;
  gboolean ordered;
  guint64 queue_items;
  guint64 queue_bytes;
  gint on_error;    /* HrOnError */
  char *max_errors; /* NULL: no limit; "10" or "1%" */
} HrCommon;

struct _HrElement {
  GObject parent_instance;
  const HrElementDef *def;
  gpointer self;         /* the element's own struct, def->self_size bytes */
  gboolean *set;         /* by row of def->props: somebody has set it, be it to its default */
  HrMutex turning;       /* a value and its mark go together … */
  HrAutoMark *automatic; /* … by row: the common properties', then def->props' */
  HrCommon common;
  HrPipeline *pipeline; /* not owned; NULL until added */
  guint index;          /* in the pipeline */
  gsize offset;         /* in the text, for errors */
  gboolean frozen;      /* start() was called: only live properties may change */
  GPtrArray *inputs;    /* HrLink, by pad; owned by the pipeline */
  GPtrArray *outputs;
  HrRun *run; /* while the pipeline runs */
};

typedef struct {
  GObjectClass parent_class;
  const HrElementDef *def;
} HrElementClass;

/* hr-element.c */
/* a new element with all defaults set; name NULL: none yet. (transfer full) */
HrElement *hr_element_new (const HrElementDef *def);
/* the properties every element has; index 0 is "name" */
extern const HrProp hr_common_props[];
/* (transfer none) (nullable): the row of the element's own or common property; *self is the struct
 * that it is a row of, for hr_prop_get_string() and friends */
const HrProp *hr_element_find_prop (HrElement *element, const char *name, gpointer *self);
/* what is said of it, and its value: it does not change while that is HR_AUTO_NOT */
HrAutoMark hr_element_get_auto (HrElement *element, const HrProp *prop, guint64 *value);
/* auto=true: of one that can be found, unless somebody has set it */
void hr_element_mark (HrElement *element, const HrProp *prop);
/* of one made from the same table */
void hr_element_copy_marks (HrElement *to, HrElement *from);
/* an automatic value changes; FALSE: somebody has set it meanwhile */
gboolean hr_element_turn (HrElement *element, const HrProp *prop, guint64 value);
/* may a property that is not live still be set? Sets from text as hr_element_set_from_string()
 * does, and tells code and reason apart, for the parser. @why is (transfer full) */
gboolean hr_element_try_string (HrElement *element, const HrProp *prop, const char *value,
                                HrParseError *code, char **why);
/* (transfer none) (nullable): the nearest name among its own and the common properties */
const char *hr_element_suggest_prop (const HrElementDef *def, const char *name);
/* letters, digits, "_" and "-", the first no digit and no "-" */
gboolean hr_element_name_is_valid (const char *name);
/* is the table itself sound? HR_CORE_ERROR_PLUGIN */
gboolean hr_element_def_check (const HrElementDef *def, GError **error);
/* may have several inputs */
static inline gboolean
hr_element_def_joins (const HrElementDef *def)
{
  return def->merge != NULL || def->choose != NULL;
}
/* a program takes its buffers: it has no thread */
static inline gboolean
hr_element_def_is_pulled (const HrElementDef *def)
{
  return def->pullable && def->process == NULL;
}
/* "source", "transform", …: the kind that the functions of the table make */
const char *hr_element_def_kind (const HrElementDef *def);

/* hr-prop.c: rows and values, for elements and for the pipeline itself */
/* "max_bytes" as "max-bytes", interned */
const char *hr_prop_name (const HrProp *prop);
void hr_props_init (gpointer self, const HrProp *props);
void hr_props_clear (gpointer self, const HrProp *props);
/* sets from text; HR_PARSE_ERROR_BAD_VALUE or _OUT_OF_RANGE, one line that tells type and range */
gboolean hr_prop_set_string (gpointer self, const HrProp *prop, const char *value, GError **error);
/* the same for a row at a place of its own; @why (transfer full) says what is wrong with the value,
 * without naming the property */
gboolean hr_prop_try_string (gpointer self, const HrProp *prop, const char *value,
                             HrParseError *code, char **why);
/* "a whole number from 1 to 64"; (transfer full) */
char *hr_prop_describe (const HrProp *prop);
/* "uint", "size", …: the type's name in lists and JSON */
const char *hr_prop_type_name (const HrProp *prop);
/* canonical text of the default; (transfer full) (nullable) */
char *hr_prop_get_default (const HrProp *prop);
/* least and greatest value as canonical text; FALSE if the type has none. (transfer full) */
gboolean hr_prop_get_range (const HrProp *prop, char **least, char **greatest);
/* is the row itself sound: default in range, choices, doc? */
gboolean hr_prop_check (const HrProp *prop, GError **error);
/* canonical text of the value, unquoted; (transfer full) (nullable) */
char *hr_prop_get_string (gconstpointer self, const HrProp *prop);
gboolean hr_prop_is_default (gconstpointer self, const HrProp *prop);
const HrProp *hr_props_find (const HrProp *props, const char *name);
/* GObject: one GParamSpec a row, ids from first_id */
void hr_props_install (GObjectClass *klass, const HrProp *props, guint first_id);
void hr_prop_set_value (gpointer self, const HrProp *prop, const GValue *value);
void hr_prop_get_value (gconstpointer self, const HrProp *prop, GValue *value);

/* hr-pipeline.c: how the parser builds a graph */
HrPipeline *hr_pipeline_new (void);
/* takes @element; its name must be set and free */
void hr_pipeline_add (HrPipeline *pipeline, HrElement *element);
/* the next free output of @from to the next free input of @to */
void hr_pipeline_link (HrPipeline *pipeline, HrElement *from, HrElement *to);
/* the same with pads chosen, for `a.1 ! b.0`: both are free. The parser links every pad from 0 on,
 * but not in that order: until it has linked them all, inputs and outputs may hold NULL at lower
 * pads */
void hr_pipeline_link_pads (HrPipeline *pipeline, HrElement *from, guint from_pad, HrElement *to,
                            guint to_pad);
extern const HrProp hr_pipeline_props[];
/* the struct that hr_pipeline_props fills */
gpointer hr_pipeline_get_settings (HrPipeline *pipeline);

/* hr-check.c: fields, pads, circles; after parsing, and for graphs built otherwise. @where of the
 * error's element is put in @culprit */
gboolean hr_pipeline_check (HrPipeline *pipeline, HrElement **culprit, GError **error);

/* hr-live.c: a live property of a running element has changed */
void hr_element_live_changed (HrElement *element);
