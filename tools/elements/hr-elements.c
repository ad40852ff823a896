/* hr-elements: prints the list of a plugin's elements, which lies beside it as NAME.elements:
 * one a line: name, summary, needs, gives, takes, separated by tabs. Checks the tables as well. */
#include "hr-element-private.h"
#include "hr-plugin.h"
#include <stdio.h>
#include <string.h>

static const char *
text_of (const char *text)
{
  return text != NULL ? text : "";
}

/* tabs and line ends would break the list */
static gboolean
is_plain (const char *text)
{
  return text == NULL || strpbrk (text, "\t\n") == NULL;
}

int
main (int argc, char **argv)
{
  g_autofree char *path = NULL;
  GModule *module;
  const HrPluginDef *plugin;
  gpointer symbol;

  if (argc != 2) {
    fprintf (stderr, "usage: hr-elements PLUGIN.so > PLUGIN.elements\n");
    return 2;
  }
  path = g_canonicalize_filename (argv[1], NULL);
  /* only its tables are read, so functions need not be there */
  module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  if (module == NULL) {
    fprintf (stderr, "hr-elements: %s\n", g_module_error ());
    return 1;
  }
  if (!g_module_symbol (module, "hr_plugin", &symbol)) {
    fprintf (stderr, "hr-elements: %s: no symbol \"hr_plugin\"; end the file with HR_PLUGIN (…)\n",
             argv[1]);
    return 1;
  }
  plugin = symbol;
  if (plugin->abi_size != sizeof (HrPluginDef)) {
    fprintf (stderr, "hr-elements: %s: made for another version of Headrace\n", argv[1]);
    return 1;
  }
  for (guint i = 0; plugin->elements[i] != NULL; i++) {
    const HrElementDef *def = plugin->elements[i];
    g_autoptr (GError) error = NULL;

    if (!hr_element_def_check (def, &error)) {
      fprintf (stderr, "hr-elements: %s: %s\n", argv[1], error->message);
      return 1;
    }
    if (!is_plain (def->needs) || !is_plain (def->gives) || !is_plain (def->takes)) {
      fprintf (stderr,
               "hr-elements: %s: element \"%s\": a list of fields has a tab or a line end\n",
               argv[1], def->name);
      return 1;
    }
    printf ("%s\t%s\t%s\t%s\t%s\n", def->name, def->summary, text_of (def->needs),
            text_of (def->gives), text_of (def->takes));
  }
  return 0;
}
