/* tee.c: everything to everybody */
#include "headrace.h"

typedef struct {
  char unused;
} Tee;

static guint64
tee_route (gconstpointer self G_GNUC_UNUSED, gpointer worker G_GNUC_UNUSED,
           const HrBuffer *in G_GNUC_UNUSED, guint n_out)
{
  return n_out >= 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << n_out) - 1;
}

HR_ELEMENT (tee, Tee, .summary = "Give every buffer to all outputs",
            .description =
                "All outputs share the buffers, without a copy; an element that changes one gets a "
                "header of its own. A slow branch holds up the others once its queue is full. See "
                "docs/grammar.md.",
            .examples =
                (const char *const[]){
                    "fakesrc num-buffers=10 ! tee name=t t. ! fakesink t. ! identity ! fakesink",
                    NULL },
            .light = TRUE, .route = tee_route)
