/* graph.c: from text to pipeline; stress.h has the language */
#include "stress.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  Run *run;
  const char *text;
  gboolean bad;
  guint group;     /* samples in each buffer */
  gboolean behind; /* … a prefetchqueue */
  Node *packer;    /* whose rows they are */
  int n_sources;
} Parser;

static Node *
new_node (Parser *parser, char kind)
{
  Run *run = parser->run;
  Node *node;

  if (run->n_nodes == MAX_NODES) {
    parser->bad = TRUE;
    return NULL;
  }
  node = &run->nodes[run->n_nodes];
  *node = (Node){ .behind = parser->behind,
                  .packer = parser->packer,
                  .run = run,
                  .id = run->n_nodes++,
                  .kind = kind,
                  .time = -1,
                  .n = run->config->n };
  return node;
}

static void
skip_blanks (Parser *parser)
{
  while (*parser->text == ' ')
    parser->text++;
}

static gint64
number (Parser *parser)
{
  char *end;
  gint64 value = g_ascii_strtoll (parser->text, &end, 10);

  parser->text = end;
  return value;
}

static void
parse_flags (Parser *parser, Node *node)
{
  while (*parser->text != '\0' && strchr (" |)]}>", *parser->text) == NULL) {
    char flag = *parser->text++;

    switch (flag) {
    case 'g':
      node->reserves = TRUE;
      break;
    case 's':
      node->sleeps = TRUE;
      break;
    case 'l':
      node->light = TRUE;
      break;
    case 'u':
      node->unordered = TRUE;
      break;
    case 'd':
      node->drops = TRUE;
      break;
    case 'c':
      node->costs = TRUE;
      break;
    case 'm':
      node->marked = TRUE;
      break;
    case 'x': /* exactly: one at a time, no random times */
      node->sure = TRUE;
      break;
    case 'w':
      node->window = node->warm_up = number (parser);
      break;
    case 'q':
      node->items = number (parser);
      break;
    case 'b':
      node->bytes = number (parser);
      break;
    case 'n':
      node->n = number (parser);
      break;
    case 'k':
      node->together = number (parser);
      break;
    case 't':
      node->time = number (parser);
      break;
    default:
      parser->bad = TRUE;
      return;
    }
  }
}

/* ---- the pipeline ---- */

static void
set (HrElement *element, const char *property, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  g_autoptr (GError) error = NULL;

  if (!hr_element_set_from_string (element, property, text, &error))
    stress_die ("%s=%s: %s", property, text, error->message);
}

static void
set_bounds (Node *node)
{
  const Config *config = node->run->config;
  guint64 hash = stress_hash (node, 0, 50);
  gint64 items = node->items > 0     ? node->items
                 : config->items > 0 ? config->items
                                     : 1 + (gint64)(hash % 8);
  gint64 bytes = node->bytes > 0 ? node->bytes : config->bytes;

  if (config->items >= 0 || node->items > 0) /* -1: as the core chooses */
    set (node->element, "queue-items", items);
  if (bytes > 0)
    set (node->element, "queue-bytes", bytes);
}

static HrElement *
make (Node *node)
{
  HrElement *element = hr_element_new (stress_def (node));
  g_autofree char *name = g_strdup_printf ("%c%d", g_ascii_tolower (node->kind), node->id);

  ((Self *)element->self)->node = node;
  node->element = element;
  hr_element_set_from_string (element, "name", name, NULL);
  set_bounds (node);
  if (strchr ("PEX", node->kind) != NULL)
    set (element, "workers", node->arg);
  if (node->window > 0 && strchr ("PEXA", node->kind) != NULL)
    set (element, "window", node->window);
  if (node->unordered)
    hr_element_set_from_string (element, "ordered", "false", NULL);
  hr_pipeline_add (node->run->pipeline, element);
  return element;
}

static HrElement *parse_chain (Parser *parser, HrElement *from);

static void
expect (Parser *parser, char c)
{
  skip_blanks (parser);
  if (*parser->text == c)
    parser->text++;
  else
    parser->bad = TRUE;
}

/* ( a | b ): the branches share what comes in and are merged */
static HrElement *
parse_tee (Parser *parser, HrElement *from, gboolean open_ends)
{
  Node *tee = new_node (parser, 'T'), *join = open_ends ? NULL : new_node (parser, 'J');
  HrElement *ends[2];
  guint group = parser->group;
  gboolean behind = parser->behind;
  Node *packer = parser->packer;

  if (tee == NULL || (join == NULL && !open_ends))
    return NULL;
  make (tee);
  hr_pipeline_link (tee->run->pipeline, from, tee->element);
  ends[0] = parse_chain (parser, tee->element);
  expect (parser, '|');
  parser->group = group;
  parser->behind = behind;
  parser->packer = packer;
  ends[1] = parser->bad ? NULL : parse_chain (parser, tee->element);
  expect (parser, open_ends ? '}' : ')');
  if (parser->bad || open_ends)
    return NULL;
  make (join);
  hr_pipeline_link (join->run->pipeline, ends[0], join->element);
  hr_pipeline_link (join->run->pipeline, ends[1], join->element);
  return join->element;
}

/* [ a | b ]c: two streams of samples become one */
static HrElement *
parse_sources (Parser *parser)
{
  Node *join = new_node (parser, 'J');
  HrElement *ends[2];

  if (join == NULL)
    return NULL;
  ends[0] = parse_chain (parser, NULL);
  expect (parser, '|');
  ends[1] = parser->bad ? NULL : parse_chain (parser, NULL);
  expect (parser, ']');
  if (parser->bad)
    return NULL;
  switch (*parser->text) {
  case 'c':
    join->arg = HR_JOIN_CONCAT;
    break;
  case 'n':
    join->arg = HR_JOIN_ANY;
    join->run->any_order = TRUE;
    break;
  case 'z':
    join->arg = HR_JOIN_ZIP;
    break;
  default:
    parser->bad = TRUE;
    return NULL;
  }
  parser->text++;
  join->run->many_sources = TRUE;
  make (join);
  hr_pipeline_link (join->run->pipeline, ends[0], join->element);
  hr_pipeline_link (join->run->pipeline, ends[1], join->element);
  return join->element;
}

static void note_kind (Parser *parser, Node *node);

/* < R | R … >: the blocks of several sources, in the order of a mix */
static HrElement *
parse_mix (Parser *parser)
{
  HrElement *members[MAX_MEMBERS];
  guint n = 0;
  Node *mix;

  do {
    Node *member;

    skip_blanks (parser);
    if (n == MAX_MEMBERS || *parser->text != 'R' || (member = new_node (parser, 'R')) == NULL) {
      parser->bad = TRUE;
      return NULL;
    }
    parser->text++;
    member->arg = number (parser);
    member->arg = MAX (member->arg, 1);
    member->mixed = TRUE;
    parse_flags (parser, member);
    note_kind (parser, member);
    members[n++] = make (member);
    skip_blanks (parser);
  } while (!parser->bad && *parser->text++ == '|');
  parser->bad = parser->bad || parser->text[-1] != '>';
  mix = parser->bad ? NULL : new_node (parser, 'M');
  if (mix == NULL)
    return NULL;
  make (mix);
  for (guint i = 0; i < n; i++)
    hr_pipeline_link (mix->run->pipeline, members[i], mix->element);
  return mix->element;
}

static void
note_kind (Parser *parser, Node *node)
{
  Run *run = parser->run;

  if (strchr ("SRU", node->kind) != NULL)
    node->first_id = 1000000 * parser->n_sources++;
  /* blocks have no numbers; and beyond the limit the serial run does not see what a source makes */
  if (node->reserves && (node->kind == 'R' || (node->kind == 'S' && run->config->limit > 0)))
    run->raw_reserves = TRUE;
  if (node->kind == 'G') {
    node->row_bytes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
    parser->packer = node;
    if (node->marked)
      run->marked = node;
    parser->bad = parser->bad || (node->marked && run->nodes[0].kind != 'R');
  }
  if (node->kind == 'B' || node->kind == 'G')
    parser->group *= (guint)MAX (node->arg, 1);
  if (node->kind == 'Q')
    parser->behind = TRUE;
  if (node->kind == 'U')
    run->pushed = node;
  if (node->unordered)
    run->any_order = TRUE;
  if (strchr ("PAEXS", node->kind) != NULL && (run->fatal_node < 0 || run->config->seed % 3 == 0))
    run->fatal_node = node->id;
  if (strchr ("KL", node->kind) != NULL) {
    if (run->n_sinks == MAX_SINKS) {
      parser->bad = TRUE;
      return;
    }
    node->sink = run->n_sinks++;
    run->groups[node->sink] = parser->group;
    if (node->kind == 'L')
      run->pulled = node;
  }
}

static HrElement *
parse_element (Parser *parser, HrElement *from)
{
  Node *node;
  char kind = *parser->text;

  if (strchr ("SRUXPEABGQKL", kind) == NULL || (from == NULL) != (strchr ("SRU", kind) != NULL)) {
    parser->bad = TRUE;
    return NULL;
  }
  parser->text++;
  node = new_node (parser, kind);
  if (node == NULL)
    return NULL;
  node->arg = number (parser);
  node->arg = MAX (node->arg, 1);
  parse_flags (parser, node);
  note_kind (parser, node);
  if (parser->bad)
    return NULL;
  make (node);
  if (from != NULL)
    hr_pipeline_link (node->run->pipeline, from, node->element);
  return node->element;
}

static HrElement *
parse_chain (Parser *parser, HrElement *from)
{
  for (;;) {
    skip_blanks (parser);
    if (parser->bad || *parser->text == '\0' || strchr ("|)]}", *parser->text) != NULL)
      break;
    if (*parser->text == '(' && from != NULL && parser->packer == NULL) {
      parser->text++;
      from = parse_tee (parser, from, FALSE);
    } else if (*parser->text == '{' && from != NULL) {
      parser->text++;
      from = parse_tee (parser, from, TRUE);
    } else if (*parser->text == '[' && from == NULL) {
      parser->text++;
      from = parse_sources (parser);
    } else if (*parser->text == '<' && from == NULL) {
      parser->text++;
      from = parse_mix (parser);
    } else {
      from = parse_element (parser, from);
    }
  }
  return from;
}

static void
set_pipeline (Run *run)
{
  const Config *config = run->config;
  const struct {
    const char *name;
    gint64 value;
  } settings[] = { { "memory", config->memory },
                   { "cpus", config->cpus },
                   { "limit", config->limit } };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, settings[i].value);

    if (!hr_pipeline_set_from_string (run->pipeline, settings[i].name, text, &error))
      stress_die ("%s=%s: %s", settings[i].name, text, error->message);
  }
  hr_pipeline_set_from_string (run->pipeline, "on-error", "skip", NULL);
  if (run->serial)
    hr_pipeline_set_from_string (run->pipeline, "serial", "true", NULL);
}

gboolean
stress_build (Run *run, const Config *config, gboolean serial)
{
  Parser parser = { .run = run, .text = config->top, .group = 1 };

  *run = (Run){ .config = config, .serial = serial, .fatal_node = -1 };
  hr_mutex_init (&run->lock);
  run->pipeline = hr_pipeline_new ();
  set_pipeline (run);
  for (int i = 0; i < MAX_SINKS; i++) {
    run->outcomes[i].digests = g_array_new (FALSE, FALSE, sizeof (guint64));
    run->outcomes[i].samples = g_array_new (FALSE, FALSE, sizeof (guint64));
    run->held[i] = g_ptr_array_new_with_free_func ((GDestroyNotify)hr_buffer_unref);
  }
  run->sample_bytes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  parse_chain (&parser, NULL);
  skip_blanks (&parser);
  run->n_all = G_MAXINT64;
  if (run->n_nodes > 0 && !run->nodes[0].mixed)
    run->n_all = config->limit > 0 ? MIN (run->nodes[0].n, config->limit) : run->nodes[0].n;
  return !parser.bad && *parser.text == '\0' && run->n_sinks > 0;
}
