/* config.c: configurations, at random and as text */
#include "stress.h"
#include <string.h>

typedef struct {
  const char *name;
  gsize offset;
  gint64 normal;
} Key;

#define KEY(field, name, normal)                                                                   \
  {                                                                                                \
    name, G_STRUCT_OFFSET (Config, field), normal                                                  \
  }
static const Key keys[] = {
  KEY (n, "N", 20),
  KEY (cpus, "cpus", 2),
  KEY (memory, "memory", 1 << 30),
  KEY (size, "size", 1000),
  KEY (items, "items", 1),
  KEY (bytes, "bytes", 0),
  KEY (work, "work", 20),
  KEY (train, "train", 0),
  KEY (hold, "hold", 0),
  KEY (fail, "fail", 0),
  KEY (fatal, "fatal", 0),
  KEY (limit, "limit", 0),
  KEY (live, "live", 0),
  KEY (stall, "stall", 0),
  KEY (stop, "stop", 0),
  KEY (stop_us, "stop-us", 0),
  KEY (check, "check", 1),
  KEY (forced, "forced", -1),
};

static gint64 *
place (const Config *config, const Key *key)
{
  return (gint64 *)((char *)config + key->offset);
}

gboolean
stress_set_config (Config *config, const char *text)
{
  const char *equals = strchr (text, '=');
  gsize length = equals != NULL ? (gsize)(equals - text) : 0;

  if (equals == NULL)
    return FALSE;
  if (length == 3 && strncmp (text, "top", 3) == 0)
    return g_strlcpy (config->top, equals + 1, sizeof config->top) < sizeof config->top;
  if (length == 4 && strncmp (text, "seed", 4) == 0) {
    config->seed = g_ascii_strtoull (equals + 1, NULL, 10);
    return TRUE;
  }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (strlen (keys[i].name) == length && strncmp (text, keys[i].name, length) == 0) {
      *place (config, &keys[i]) = g_ascii_strtoll (equals + 1, NULL, 10);
      return TRUE;
    }
  return FALSE;
}

/* as the command line takes it */
char *
stress_print_config (const Config *config)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "seed=%" G_GUINT64_FORMAT " top='%s'", config->seed, config->top);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (*place (config, &keys[i]) != keys[i].normal)
      g_string_append_printf (text, " %s=%" G_GINT64_FORMAT, keys[i].name,
                              *place (config, &keys[i]));
  return g_string_free (text, FALSE);
}

/* ---- at random ---- */

typedef struct {
  guint64 state;
  GString *text;
  /* a tee and an unordered element exclude each other, wherever they are */
  gboolean may_tee, may_mix;
  gboolean
      plain; /* so far blocks of one source or mix, and all in their order: rows can be numbered */
} Maker;

static int
from_to (Maker *maker, int low, int high)
{
  maker->state = stress_mix (maker->state);
  return low + (int)(maker->state % (guint64)(high - low + 1));
}

static gboolean
one_in (Maker *maker, int n)
{
  return from_to (maker, 1, n) == 1;
}

static void
add_bounds (Maker *maker)
{
  if (one_in (maker, 4))
    g_string_append_printf (maker->text, "q%d", from_to (maker, 1, 10));
  if (one_in (maker, 8))
    g_string_append_printf (maker->text, "b%d", from_to (maker, 1, 3000));
}

static void
add_pool (Maker *maker, char kind)
{
  g_string_append_printf (maker->text, "%c%d", kind,
                          one_in (maker, 4) ? from_to (maker, 1, 8) : from_to (maker, 1, 4));
  if (one_in (maker, 2))
    g_string_append_c (maker->text, 'g');
  if (one_in (maker, 3))
    g_string_append_c (maker->text, 's');
  else if (kind == 'P' && one_in (maker, 4))
    g_string_append_c (maker->text, 'l');
  if (kind == 'P' && one_in (maker, 8))
    g_string_append_c (maker->text, 'd');
  if (maker->may_mix && one_in (maker, 4)) {
    g_string_append_c (maker->text, 'u');
    maker->plain = FALSE;
  }
  if (one_in (maker, 2))
    g_string_append_c (maker->text, 'c');
  if (one_in (maker, 3))
    g_string_append_printf (maker->text, "w%d", from_to (maker, 1, 12));
  add_bounds (maker);
  g_string_append_c (maker->text, ' ');
}

static void
add_async (Maker *maker)
{
  g_string_append_printf (maker->text, "A%d",
                          one_in (maker, 3) ? from_to (maker, 1, 64) : from_to (maker, 1, 6));
  if (!one_in (maker, 4))
    g_string_append_c (maker->text, 'g');
  if (maker->may_mix && one_in (maker, 4)) {
    g_string_append_c (maker->text, 'u');
    maker->plain = FALSE;
  }
  if (one_in (maker, 2))
    g_string_append_printf (maker->text, "w%d",
                            one_in (maker, 3) ? from_to (maker, 1, 3) : from_to (maker, 1, 100));
  add_bounds (maker);
  g_string_append_c (maker->text, ' ');
}

static void
add_prefetch (Maker *maker, gboolean warm)
{
  int ahead = from_to (maker, 1, 4);

  g_string_append_printf (maker->text, "Q%d", ahead);
  if (warm)
    g_string_append_printf (maker->text, "w%d", from_to (maker, 1, ahead));
  g_string_append_c (maker->text, ' ');
}

/* of samples, with lists, or of batches; @tees: how deep they may still be nested */
static void
add_elements (Maker *maker, int most, int tees, gboolean lists)
{
  for (int n = from_to (maker, 0, most); n > 0; n--) {
    int kind = from_to (maker, 0, 9);

    if (!lists && one_in (maker, 12)) {
      add_prefetch (maker,
                    one_in (maker, 10)); /* inside a tee a warm-up may only end by the finder */
    } else if (kind < 4 || (kind < 6 && !lists) || (kind > 7 && tees == 0)) {
      add_pool (maker, 'P');
    } else if (kind < 6) {
      add_pool (maker, 'E');
    } else if (kind < 8) {
      add_async (maker);
    } else {
      maker->plain = FALSE;
      g_string_append (maker->text, "( ");
      add_elements (maker, 2, tees - 1, lists);
      g_string_append (maker->text, "| ");
      add_elements (maker, 2, tees - 1, lists);
      g_string_append (maker->text, ") ");
    }
  }
}

static void
add_source (Maker *maker)
{
  if (one_in (maker, 4)) {
    g_string_append_printf (maker->text, "R%d%s ", from_to (maker, 1, 12),
                            one_in (maker, 2) ? "g" : "");
    g_string_append_printf (maker->text, "X%d%s ", from_to (maker, 1, 4),
                            one_in (maker, 2) ? "l" : "");
  } else {
    maker->plain = FALSE;
    g_string_append_printf (maker->text, "S%s%s%s ", one_in (maker, 4) ? "g" : "",
                            one_in (maker, 6) ? "s" : "", one_in (maker, 2) ? "l" : "");
  }
}

static void
add_mix (Maker *maker)
{
  for (int n = from_to (maker, 1, 4), i = 0; i < n; i++) {
    g_string_append_printf (maker->text, "%s R%d%s", i == 0 ? "<" : "|", from_to (maker, 1, 12),
                            one_in (maker, 2) ? "g" : "");
    g_string_append_printf (maker->text, "n%d", from_to (maker, 1, 40));
    add_bounds (maker);
    g_string_append_c (maker->text, ' ');
  }
  g_string_append_printf (maker->text, "> X%d%s ", from_to (maker, 1, 4),
                          one_in (maker, 2) ? "l" : "");
}

static void
add_sources (Maker *maker)
{
  maker->plain = TRUE;
  if (one_in (maker, 12)) {
    maker->plain = FALSE;
    g_string_append (maker->text, "U ");
  } else if (one_in (maker, 6)) {
    add_mix (maker);
  } else if (one_in (maker, 8)) {
    char mode = "cnz"[from_to (maker, 0, 2)];
    gboolean may_mix = maker->may_mix;

    maker->may_mix = may_mix && mode != 'z'; /* else others meet each time */
    g_string_append (maker->text, "[ ");
    add_source (maker);
    add_elements (maker, 1, 0, TRUE);
    g_string_append (maker->text, "| ");
    add_source (maker);
    add_elements (maker, 1, 0, TRUE);
    g_string_append_printf (maker->text, "]%c ", mode);
    maker->may_mix = may_mix;
    maker->plain = FALSE;
  } else {
    add_source (maker);
  }
}

/* from what makes batches to the sinks */
static void
add_end (Maker *maker, int batches, int most)
{
  gboolean may_mix = maker->may_mix, rows = batches == 1 && one_in (maker, 3);

  if (rows) { /* behind them, no join and nothing unordered */
    g_string_append_printf (maker->text, "G%d%s%s%s ", from_to (maker, 1, most + 4),
                            one_in (maker, 2) ? "g" : "", one_in (maker, 3) ? "d" : "",
                            maker->plain && one_in (maker, 2) ? "m" : "");
    maker->may_mix = FALSE;
  } else if (batches > 0) {
    g_string_append_printf (maker->text, "B%d ", from_to (maker, 1, most));
  }
  if (batches == 2)
    g_string_append_printf (maker->text, "B%d ", from_to (maker, 1, 4));
  if (batches > 0 && one_in (maker, 2))
    add_prefetch (maker, one_in (maker, 3));
  if (one_in (maker, 2))
    add_elements (maker, 2, maker->may_tee && !rows ? 1 : 0, batches == 0);
  maker->may_mix = may_mix;
}

static void
make_graph (Maker *maker, Config *config)
{
  int batches = from_to (maker, 0, 5);
  gboolean two_sinks = one_in (maker, 10);

  batches = batches == 0 ? 0 : batches < 5 ? 1 : 2;
  maker->may_tee = two_sinks || !one_in (maker, 4);
  maker->may_mix = !maker->may_tee;
  add_sources (maker);
  add_elements (maker, 3, maker->may_tee ? 2 : 0, TRUE);
  maker->plain = maker->plain && !two_sinks;
  if (two_sinks) {
    for (int i = 0; i < 2; i++) {
      g_string_append (maker->text, i == 0 ? "{ " : "| ");
      add_end (maker, batches, 8);
      g_string_append (maker->text, i == 0 && one_in (maker, 4) ? "L " : "K ");
    }
    g_string_append (maker->text, "}");
  } else {
    add_end (maker, batches, 12);
    g_string_append (maker->text, one_in (maker, 4) ? "L" : "K");
  }
  g_strlcpy (config->top, maker->text->str, sizeof config->top);
}

static gint64
random_memory (Maker *maker, gint64 size)
{
  switch (from_to (maker, 0, 5)) {
  case 0:
  case 1:
    return 1;
  case 2:
    return MAX (size / 10, 1);
  case 3:
  case 4:
    return size;
  default:
    return size * from_to (maker, 2, 20);
  }
}

void
stress_plain_config (Config *config, guint64 seed)
{
  memset (config, 0, sizeof *config);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    *place (config, &keys[i]) = keys[i].normal;
  config->seed = seed;
}

void
stress_random_config (Config *config, guint64 seed)
{
  Maker maker = { .state = stress_mix (seed * 77 + 1), .text = g_string_new (NULL) };

  stress_plain_config (config, seed);
  config->n = one_in (&maker, 3) ? from_to (&maker, 0, 20) : from_to (&maker, 20, 120);
  make_graph (&maker, config);
  config->cpus = from_to (&maker, 1, 4);
  config->size = one_in (&maker, 2) ? 1000 : 30000;
  config->memory = random_memory (&maker, config->size);
  config->items = one_in (&maker, 3) ? 0 : one_in (&maker, 6) ? -1 : from_to (&maker, 1, 3);
  config->bytes = one_in (&maker, 3)   ? 1
                  : one_in (&maker, 2) ? config->size / from_to (&maker, 1, 20)
                                       : 0;
  config->work = one_in (&maker, 4) ? from_to (&maker, 1, 150) : from_to (&maker, 0, 30);
  config->train = one_in (&maker, 4) ? from_to (&maker, 1, 300) : 0;
  config->hold = one_in (&maker, 3) ? from_to (&maker, 1, 4) : 0;
  config->fail = one_in (&maker, 3) ? 0 : one_in (&maker, 4) ? 900 : from_to (&maker, 1, 200);
  config->fatal = one_in (&maker, 12);
  config->limit = one_in (&maker, 8) ? from_to (&maker, 1, 60) : 0;
  config->live = one_in (&maker, 3);
  config->stall = one_in (&maker, 3) ? from_to (&maker, 1, 100) : 0;
  config->stop = one_in (&maker, 3) ? from_to (&maker, STOP_OUTSIDE, STOP_PULLING) : STOP_NEVER;
  config->stop_us = one_in (&maker, 3) ? from_to (&maker, 0, 10000) : from_to (&maker, 0, 1500);
  g_string_free (maker.text, TRUE);
}
