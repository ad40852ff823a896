/* flame.c: where all threads' time went, as a flame graph: one frame for the run, above it one for
 * each element, above that its phases. All it knows is the stats document, docs/stats.md. */
#include "flame.h"
#include <glib.h>
#include <string.h>

#define WIDTH 1200.0
#define LEFT 10.0
#define ROW 26.0
#define TOP 40.0
#define LEAST_TEXT 36.0 /* narrower frames have their name as a title only */
#define PER_LETTER 7.2

typedef struct {
  const char *name, *colour;
  gdouble seconds;
} Phase;

enum { COMPUTES, STANDS, INPUT, ROOM, PROCESSOR, N_PHASES };

static gdouble
number (JsonObject *object, const char *key)
{
  return json_object_get_double_member_with_default (object, key, 0);
}

/* returns their sum */
static gdouble
read_phases (JsonObject *element, Phase *phases)
{
  static const Phase names[N_PHASES] = { [COMPUTES] = { "computes", "#7fb894", 0 },
                                         [STANDS] = { "works without a processor", "#b9d5c3", 0 },
                                         [INPUT] = { "waits for input", "#c9cdd1", 0 },
                                         [ROOM] = { "waits for room", "#6d9fd6", 0 },
                                         [PROCESSOR] = { "waits for a processor", "#e8a54b", 0 } };
  gdouble works = number (element, "working_s"), cpu = MIN (works, number (element, "cpu_s"));
  gdouble sum = 0;

  memcpy (phases, names, sizeof names);
  phases[COMPUTES].seconds = cpu;
  phases[STANDS].seconds = works - cpu;
  phases[INPUT].seconds = number (element, "blocked_in_s");
  phases[ROOM].seconds = number (element, "blocked_out_s");
  phases[PROCESSOR].seconds = number (element, "blocked_cpu_s");
  for (guint i = 0; i < N_PHASES; i++)
    sum += phases[i].seconds;
  return sum;
}

static const char *
name_of (JsonObject *element)
{
  return json_object_get_string_member_with_default (element, "name", "?");
}

static char *
folded (JsonArray *elements)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);
    Phase phases[N_PHASES];

    read_phases (element, phases);
    for (guint k = 0; k < N_PHASES; k++)
      if (phases[k].seconds >= 1e-6)
        g_string_append_printf (text, "headrace;%s;%s %.0f\n", name_of (element), phases[k].name,
                                phases[k].seconds * 1e6);
  }
  return g_string_free (text, FALSE);
}

static void
add_frame (GString *svg, gdouble x, gdouble width, guint row, const char *colour, const char *name,
           gdouble seconds, gdouble all)
{
  gdouble y = TOP + ROW * row;
  guint fits = width > LEAST_TEXT ? (guint)((width - 8) / PER_LETTER) : 0;
  g_autofree char *safe = g_markup_escape_text (name, -1);
  g_autofree char *cut = g_utf8_substring (name, 0, MIN (fits, g_utf8_strlen (name, -1)));
  g_autofree char *shown = g_markup_escape_text (cut, -1);
  char at[4][G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (at[0], sizeof at[0], "%.2f", x);
  g_ascii_formatd (at[1], sizeof at[1], "%.2f", MAX (width, 0.1));
  g_ascii_formatd (at[2], sizeof at[2], "%.3f", seconds);
  g_ascii_formatd (at[3], sizeof at[3], "%.1f", all > 0 ? 100 * seconds / all : 0);
  g_string_append_printf (svg,
                          "<g><title>%s: %s s, %s %%</title><rect x=\"%s\" y=\"%.0f\" width=\"%s\" "
                          "height=\"%.0f\" rx=\"2\" fill=\"%s\"/>",
                          safe, at[2], at[3], at[0], y, at[1], ROW - 2, colour);
  if (fits > 0) {
    g_ascii_formatd (at[0], sizeof at[0], "%.2f", x + 4);
    g_string_append_printf (svg, "<text x=\"%s\" y=\"%.0f\">%s</text>", at[0], y + 16, shown);
  }
  g_string_append (svg, "</g>\n");
}

static char *
picture (JsonArray *elements)
{
  GString *svg = g_string_new (NULL);
  gdouble all = 0, x = LEFT;
  Phase phases[N_PHASES];

  for (guint i = 0; i < json_array_get_length (elements); i++)
    all += read_phases (json_array_get_object_element (elements, i), phases);
  g_string_append_printf (
      svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
      "height=\"%.0f\" role=\"img\">\n<title>Where the threads' time went</title>\n"
      "<style>text{font:12px monospace;fill:#1b1d1f}.head{font:15px sans-serif}</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbf9\"/>\n"
      "<text class=\"head\" x=\"%.0f\" y=\"24\">Where the threads' time went: element, "
      "phase</text>\n",
      WIDTH + 2 * LEFT, TOP + 3 * ROW + 10, WIDTH + 2 * LEFT, TOP + 3 * ROW + 10, LEFT);
  add_frame (svg, LEFT, WIDTH, 2, "#e3d9c6", "headrace", all, all);
  for (guint i = 0; i < json_array_get_length (elements); i++) {
    JsonObject *element = json_array_get_object_element (elements, i);
    gdouble sum = read_phases (element, phases);
    gdouble inner = x, scale = all > 0 ? WIDTH / all : 0;

    add_frame (svg, x, sum * scale, 1, "#f0c987", name_of (element), sum, all);
    for (guint k = 0; k < N_PHASES; k++) {
      if (phases[k].seconds < 1e-6)
        continue;
      add_frame (svg, inner, phases[k].seconds * scale, 0, phases[k].colour, phases[k].name,
                 phases[k].seconds, all);
      inner += phases[k].seconds * scale;
    }
    x += sum * scale;
  }
  g_string_append (svg, "</svg>\n");
  return g_string_free (svg, FALSE);
}

gboolean
launch_flame_write (const char *path, JsonObject *stats, GError **error)
{
  JsonArray *elements = json_object_get_array_member (stats, "elements");
  g_autofree char *text = g_str_has_suffix (path, ".svg") ? picture (elements) : folded (elements);

  if (g_file_set_contents (path, text, -1, error))
    return TRUE;
  g_prefix_error (error, "--flamegraph: ");
  return FALSE;
}
