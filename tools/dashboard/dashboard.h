/* dashboard.h: a page in the browser, and numbers for Prometheus, of a run */
#pragma once
#include "headrace.h"

typedef struct _Dashboard Dashboard;
/* the run's numbers as they are now, an object as docs/stats.md has it; by any thread.
 * Returns: (transfer full): JSON */
typedef char *(*DashboardStats) (gpointer data);

/**
 * dashboard_new:
 * @stats: called for each visitor, and once a second
 * @data: for it; outlives the dashboard
 * @where: "HOST:PORT", "HOST", ":PORT", or "": 127.0.0.1 and the first free port from 8707 on. Port
 *   0 is any free one. A host that is not this machine itself needs @token.
 * @token: (nullable): what a visitor must know
 *
 * Listens, in a thread of its own. Nothing is changed by a visitor: GET and HEAD only.
 *
 * Returns: %NULL with an error: no such address, taken, no token
 */
Dashboard *dashboard_new (DashboardStats stats, gpointer data, const char *where, const char *token,
                          GError **error);
/* http://HOST:PORT/, with the token if one is needed; (transfer none) */
const char *dashboard_get_uri (Dashboard *dashboard);
/* a line for the page: a sample that was skipped, a warning, a stall; any thread */
void dashboard_note (Dashboard *dashboard, const char *kind, const char *text);
/* ends the thread; while a page is looking not before it has seen how the run ended and 1.5 s more,
 * at most 10 s */
void dashboard_free (Dashboard *dashboard);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Dashboard, dashboard_free)
