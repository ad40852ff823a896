/* meter.h: how far a run is and how fast it goes, from looks at its stats now and then */
#pragma once
#include <json-glib/json-glib.h>

/* where it ends, as far as that was asked for; 0: it was not */
typedef struct {
  guint64 limit; /* samples of all ranks */
  guint64 world;
  guint64 steps;
} LaunchGoal;

typedef struct _LaunchMeter LaunchMeter;

LaunchMeter *launch_meter_new (LaunchGoal goal);
void launch_meter_free (LaunchMeter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LaunchMeter, launch_meter_free)

/* @now: seconds of any clock */
void launch_meter_look (LaunchMeter *meter, JsonObject *stats, gdouble now);

/* one line, after a look; @columns: at most so many, then what matters least is left out; 0: any.
 * (transfer full) */
char *launch_meter_line (LaunchMeter *meter, guint columns);
/* a line for each element, and one that says what is in them; @rows: at most so many, the least
 * busy are left out, and counted; 0: any. *busiest: the line of the one that is; -1: none.
 * (transfer full) (element-type utf8) */
GPtrArray *launch_meter_elements (LaunchMeter *meter, guint columns, guint rows, gint *busiest);
