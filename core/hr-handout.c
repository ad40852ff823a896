/* hr-handout.c: where a program pulls from behind a sink that works on what it hands out */
#include "hr-handout.h"

static const HrElementDef handout = { .abi_size = sizeof (HrElementDef),
                                      .name = "handout",
                                      .summary = "What a program pulls from such a sink",
                                      .pullable = TRUE };

void
hr_handout_add (HrPipeline *pipeline)
{
  HrElement *sink = NULL, *element;

  /* at most one is pullable */
  for (guint i = 0; i < pipeline->elements->len; i++) {
    element = pipeline->elements->pdata[i];
    if (element->def->pullable && element->def->process != NULL)
      sink = element;
  }
  if (sink == NULL || pipeline->hands_out)
    return;
  element = hr_element_new (&handout);
  element->common.name = g_strdup (sink->common.name);
  hr_pipeline_add (pipeline, element);
  hr_pipeline_link (pipeline, sink, element);
  pipeline->hands_out = TRUE;
}
