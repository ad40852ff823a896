/* hr-parse-private.h: what the two halves of the parser share: reading, and building the graph */
#pragma once
#include "hr-element-private.h"
#include "hr-parse.h"
#include "hr-text.h"

#define ANY_PAD G_MAXUINT

/* an element, or a reference to one */
typedef struct {
  HrElement *element; /* not owned: see Parser.elements */
  char *name;         /* of a reference */
  char *pad;          /* of a reference; NULL: any */
  gsize offset, length;
  gsize name_offset, name_length; /* of an element: the value of name= */
  gboolean linked;
} Node;

typedef struct {
  guint left, right; /* nodes */
  guint from_pad, to_pad;
} Link;

typedef struct {
  HrText text;
  HrToken token;
  HrPipeline *pipeline;
  GPtrArray *elements; /* HrElement, in the order of the text */
  GArray *nodes;       /* Node */
  GArray *links;       /* Link */
  GHashTable *names;   /* char * -> HrElement */
  GHashTable *places;  /* "element property" that has been set -> where, to find doubles */
  HrElement *current;  /* whose settings are read; NULL: the pipeline's or nobody's */
} Parser;

#define FAIL(p, code, offset, length, advice, error, ...)                                          \
  hr_text_fail (&(p)->text, HR_PARSE_ERROR_##code, offset, length, advice, error, __VA_ARGS__)

static inline Node *
node_at (Parser *p, guint index)
{
  return &g_array_index (p->nodes, Node, index);
}

/* "line 3, column 7", or only the column if there is one line; (transfer full) */
char *hr_parse_describe_place (const char *text, gsize offset);
/* hr-parse-graph.c: names, references, pads, and the checks of the finished graph */
gboolean hr_parse_build (Parser *parser, GError **error);
