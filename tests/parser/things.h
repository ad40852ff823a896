/* things.h: an element with a property of each type, for the tests of this folder */
#pragma once
#include "hr-element-private.h"

typedef struct {
  gboolean flag;
  gint64 shift;
  guint64 count;
  gdouble ratio;
  guint64 max_bytes;
  gint64 step_time;
  char *mark;
  gint colour;
  char **keep;
} Thing;

extern const char *const colours[];
extern const HrProp thing_props[];
extern const HrElementDef hr_element_thing;
