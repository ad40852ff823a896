/* order-props.h: the properties of sources whose lines have an order */
#pragma once
#include "hr-plan.h"
#include "hr-prop.h"

/* in the element's struct, beside block_bytes */
#define HR_ORDER_FIELDS                                                                            \
  gint shuffle;                                                                                    \
  guint64 seed;                                                                                    \
  guint64 epochs;                                                                                  \
  guint64 window_blocks;                                                                           \
  gdouble weight;                                                                                  \
  gboolean repeat;

/* of HrShuffle, in its order */
#define HR_SHUFFLES ((const char *const[]){ "none", "window", "full", NULL })

/* in its table */
#define HR_ORDER_PROPS(T)                                                                          \
  HR_PROP_ENUM (T, shuffle, HR_SHUFFLES, HR_SHUFFLE_NONE,                                          \
                "none: as they lie there; window: blocks of block-bytes in random order, and the " \
                "lines of window-blocks of them; full: all lines, for which they are counted "     \
                "first",                                                                           \
                .flags = HR_PROP_STREAM),                                                          \
      HR_PROP_UINT (T, seed, 0, G_MAXINT64, 0, "Another seed shuffles differently",                \
                    .flags = HR_PROP_STREAM),                                                      \
      HR_PROP_UINT (T, epochs, 0, G_MAXINT32, 1,                                                   \
                    "Times the data is gone through, each in its own order; 0: without end",       \
                    .unit = "epochs", .flags = HR_PROP_STREAM | HR_PROP_BOUND),                    \
      HR_PROP_UINT (T, window_blocks, 1, 1 << 20, 16,                                              \
                    "Blocks whose lines are mixed with each other, for shuffle=window",            \
                    .unit = "blocks", .flags = HR_PROP_STREAM),                                    \
      HR_PROP_DOUBLE (T, weight, 1e-6, 1e6, 1, "Member of a mix: its share, see mix",              \
                      .flags = HR_PROP_STREAM),                                                    \
      HR_PROP_BOOL (                                                                               \
          T, repeat, TRUE,                                                                         \
          "Member of a mix: when it is used up it goes on with another pass, in another "          \
          "order; else it ends for this epoch of the mix",                                         \
          .flags = HR_PROP_STREAM)

#define HR_ORDER_RULES(self, bytes)                                                                \
  {                                                                                                \
    .shuffle = (HrShuffle)(self)->shuffle, .seed = (self)->seed, .epochs = (self)->epochs,         \
    .block_bytes = (self)->block_bytes, .window_blocks = (self)->window_blocks,                    \
    .read_bytes = (bytes), .weight = (self)->weight, .repeat = (self)->repeat                      \
  }
