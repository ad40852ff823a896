/* appsink.c: buffers for the program */
#include "headrace.h"

typedef struct {
  char unused;
} AppSink;

HR_ELEMENT (appsink, AppSink, .summary = "Give buffers to the program",
            .description =
                "The program takes them with hr_pipeline_pull(). Asking for the next one "
                "ends the step before it: what lies between two calls is the trainer's "
                "time. See docs/python.md.",
            .examples = (const char *const[]){ "fakesrc num-buffers=12 ! batch size=4 ! "
                                               "prefetchqueue ! appsink",
                                               NULL },
            .pullable = TRUE)
