/* hr-inspect.c: which elements there are, and everything about one of them */
#include "hr-json.h"
#include "inspect.h"
#include <locale.h>
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static gboolean as_json, show_version;
static char **names;

static const GOptionEntry entries[] = {
  { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON", NULL },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "Print the version", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &names, NULL, "[ELEMENT]" },
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
  return fflush (stdout) == 0 && !ferror (stdout) ? EXIT_OK : EXIT_FAILED;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  int status;

  setlocale (LC_ALL, "");
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
  if (names != NULL && names[0] != NULL && names[1] != NULL) {
    fprintf (stderr, "hr-inspect: one element at a time; usage: hr-inspect [--json] [ELEMENT]\n");
    return EXIT_USAGE;
  }
  status = inspect (names != NULL ? names[0] : NULL);
  g_strfreev (names);
  return status;
}
