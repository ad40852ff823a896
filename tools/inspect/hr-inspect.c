/* hr-inspect.c: which elements there are, and everything about one of them */
#include "hr-json.h"
#include "inspect.h"
#include "stdout.h"
#include "style.h"
#include <locale.h>
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static gboolean as_json, search, types, show_version;
static char *complete, *color;
static char **names;

static const GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON", NULL },
  { "search", 0, 0, G_OPTION_ARG_NONE, &search,
    "List the elements in whose texts and properties all these words stand", NULL },
  { "types", 0, 0, G_OPTION_ARG_NONE, &types,
    "How values are written, and who gives and needs which field", NULL },
  { "color", 0, 0, G_OPTION_ARG_STRING, &color,
    "Colours: auto (default): on a terminal, unless NO_COLOR is set; always, never",
    "auto|always|never" },
  { "complete", 0, 0, G_OPTION_ARG_STRING, &complete,
    "For shells: what may stand at the end of a pipeline's TEXT", "TEXT" },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "Print the version", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &names, NULL, "[ELEMENT | WORD…]" },
  G_OPTION_ENTRY_NULL
};

static void
print_json (JsonBuilder *json)
{
  g_autoptr (JsonNode) root = json_builder_get_root (json);
  g_autofree char *text = hr_json_write (root, TRUE);

  puts (text);
}

static int
inspect (const char *name)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (GError) error = NULL;
  const HrElementDef *def = NULL;

  if (name != NULL) {
    def = hr_registry_find (name, &error);
    if (def == NULL) {
      fprintf (stderr, "hr-inspect: %s\n", error->message);
      /* no such element is a usage error; a plugin that does not load is a failure */
      return g_error_matches (error, HR_PARSE_ERROR, HR_PARSE_ERROR_UNKNOWN_ELEMENT) ? EXIT_USAGE
                                                                                     : EXIT_FAILED;
    }
  }
  if (as_json) {
    if (def != NULL)
      inspect_element_json (json, def);
    else
      inspect_list_json (json);
    print_json (json);
  } else if (def != NULL) {
    inspect_element_text (def);
  } else {
    inspect_list_text ();
  }
  return EXIT_OK;
}

static int
show_types (void)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();

  if (as_json) {
    inspect_types_json (json);
    print_json (json);
  } else {
    inspect_types_text ();
  }
  return EXIT_OK;
}

/* as grep does: 1 if there is none */
static int
show_found (void)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autoptr (GPtrArray) found = inspect_search (names);

  if (as_json) {
    inspect_found_json (json, found);
    print_json (json);
  } else {
    inspect_found_text (found, names);
  }
  if (found->len == 0 && !as_json)
    fprintf (stderr,
             "hr-inspect: nothing holds all of these words; hr-inspect lists all elements\n");
  return found->len > 0 ? EXIT_OK : EXIT_FAILED;
}

static int
usage_error (const char *message)
{
  fprintf (stderr, "hr-inspect: %s\n", message);
  return EXIT_USAGE;
}

static int
run (void)
{
  guint n_names = names != NULL ? g_strv_length (names) : 0;

  if (!style_choose (color != NULL ? color : "auto"))
    return usage_error ("--color takes auto, always or never");
  if ((search != 0) + (types != 0) + (complete != NULL) > 1)
    return usage_error ("one of --search, --types, --complete at a time");
  if (complete != NULL) {
    inspect_complete (complete);
    return EXIT_OK;
  }
  if (types)
    return n_names == 0 ? show_types () : usage_error ("--types takes no element");
  if (search)
    return n_names > 0 ? show_found () : usage_error ("--search needs a word to look for");
  if (n_names > 1)
    return usage_error ("one element at a time; usage: hr-inspect [--json] [ELEMENT], or "
                        "hr-inspect --search WORD…");
  return inspect (n_names > 0 ? names[0] : NULL);
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  int status;

  setlocale (LC_ALL, "");
  stdout_watch ("hr-inspect");
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_summary (context, "Lists the elements, or shows one of them in full.");
  if (!g_option_context_parse (context, &argc, &argv, &error)) {
    fprintf (stderr, "hr-inspect: %s\n", error->message);
    return EXIT_USAGE;
  }
  if (show_version) {
    puts ("hr-inspect " HR_VERSION);
    return EXIT_OK;
  }
  status = run ();
  g_strfreev (names);
  g_free (complete);
  g_free (color);
  return status;
}
