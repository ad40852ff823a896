/* wrong-rule.c: for a program with the core that can break its rules: HR_WRONG_RULE says which */
#include "hr-rules.h"
#include <stdlib.h>
#include <string.h>

HrWrongRule hr_wrong_rule;

void
hr_rule_broken (const char *what)
{
  g_error ("%s", what);
}

static void __attribute__ ((constructor)) read_rule (void)
{
  static const struct {
    const char *name;
    HrWrongRule rule;
  } rules[] = { { "cursor", HR_WRONG_CURSOR },
                { "survivors", HR_WRONG_SURVIVORS },
                { "no-start", HR_WRONG_NO_START } };
  const char *name = getenv ("HR_WRONG_RULE");

  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (rules); i++)
    if (strcmp (rules[i].name, name) == 0)
      hr_wrong_rule = rules[i].rule;
}
