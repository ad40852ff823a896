/* appsrc.c: buffers from the program */
#include "headrace.h"

typedef struct {
  char unused;
} AppSrc;

HR_ELEMENT (
    appsrc, AppSrc, .summary = "Take buffers from the program",
    .description =
        "The program gives it buffers with hr_pipeline_push() and says with hr_pipeline_end() "
        "that no more will come. Any field may arrive, so what the elements behind it need is "
        "not checked before the pipeline runs. See docs/python.md.",
    .examples = (const char *const[]){ "appsrc ! batch size=4 ! prefetchqueue ! appsink", NULL },
    .gives = "*", .pushable = TRUE)
