/* line-source.h: what sources of lines have in common: reads of the plan become blocks of lines */
#pragma once
#include "hr-element.h"

G_BEGIN_DECLS

/**
 * HrLineSourceFuncs:
 * @open: begins to get bytes @start to @end (-1: to the end) of an object, without waiting for them
 * @read: bytes of such a part at @offset, waiting for them; 0 only at the end of the object
 * @close: the part is not needed any more
 */
typedef struct {
  gpointer (*open) (gpointer data, const HrObject *object, gint64 start, gint64 end,
                    GError **error);
  gssize (*read) (gpointer data, gpointer part, gint64 offset, guint8 *into, gsize size,
                  GError **error);
  void (*close) (gpointer data, gpointer part);
} HrLineSourceFuncs;

typedef struct _HrLineSource HrLineSource;

typedef struct {
  const char *root;  /* the tree that links may not leave */
  gsize part_bytes;  /* asked for by one request */
  guint ahead;       /* parts that are opened before they are read */
  gsize block_bytes; /* given on at once */
  gsize max_line_bytes;
} HrLineSourceOptions;

HrLineSource *hr_line_source_new (const HrLineSourceFuncs *funcs, gpointer data,
                                  const HrLineSourceOptions *options);
/* closes all parts */
void hr_line_source_free (HrLineSource *source);
/* for the element's create(): pushes some blocks. The plan must have begun. */
HrFlow hr_line_source_create (HrLineSource *source, HrOut *out, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrLineSource, hr_line_source_free)

G_END_DECLS
