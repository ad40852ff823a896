/* test-walk.c: a walk comes to each element once, nearest first, turns and ends where it is told to
 *
 *                  ,- a -.
 *   source - tee -+- b ---+- join - sink
 */
#include "small.h"

typedef struct {
  SmallRig rig;
  HrElement *source, *a, *sink;
} Graph;

/* what a walk meets, and what it does there */
typedef struct {
  const char *name; /* of the element at which it says @then; NULL: of none */
  HrWalk then;
  GString *met;
} Visit;

static HrWalk
meet (HrElement *element, gpointer data)
{
  Visit *visit = data;

  g_string_append_printf (visit->met, "%s ", hr_element_get_name (element));
  return g_strcmp0 (hr_element_get_name (element), visit->name) == 0 ? visit->then : HR_WALK_ON;
}

static void
set_up (Graph *graph)
{
  HrPipeline *pipeline;
  HrElement *tee, *b, *join;

  small_rig_set_up (&graph->rig);
  pipeline = graph->rig.pipeline;
  graph->source = small_source (pipeline, "source", 8, NULL, NULL);
  tee = small_tee (pipeline, "tee");
  graph->a = small_light (pipeline, "a", 0, NULL, NULL);
  b = small_light (pipeline, "b", 0, NULL, NULL);
  join = small_join (pipeline, "join", HR_JOIN_ZIP);
  graph->sink = small_sink (pipeline, "sink", &graph->rig.sink);
  small_link (pipeline, graph->source, tee, graph->a, join, graph->sink, NULL);
  small_link (pipeline, tee, b, join, NULL);
}

typedef HrElement *(*WalkFunc) (HrElement *element, HrWalkFunc visit, gpointer data);

static void
assert_walk (WalkFunc walk, HrElement *from, const char *name, HrWalk then, const char *met)
{
  Visit visit = { name, then, g_string_new (NULL) };
  HrElement *end = walk (from, meet, &visit);

  g_assert_cmpstr (visit.met->str, ==, met);
  g_assert_cmpstr (end != NULL ? hr_element_get_name (end) : NULL, ==,
                   then == HR_WALK_END ? name : NULL);
  g_string_free (visit.met, TRUE);
}

static void
test_upstream (void)
{
  Graph graph;

  set_up (&graph);
  assert_walk (hr_element_walk_upstream, graph.sink, NULL, HR_WALK_ON, "join a tee source b ");
  assert_walk (hr_element_walk_upstream, graph.sink, "a", HR_WALK_TURN, "join a b tee source ");
  assert_walk (hr_element_walk_upstream, graph.sink, "join", HR_WALK_TURN, "join ");
  assert_walk (hr_element_walk_upstream, graph.sink, "tee", HR_WALK_END, "join a tee ");
  assert_walk (hr_element_walk_upstream, graph.sink, "b", HR_WALK_END, "join a tee source b ");
  assert_walk (hr_element_walk_upstream, graph.a, NULL, HR_WALK_ON, "tee source ");
  assert_walk (hr_element_walk_upstream, graph.source, NULL, HR_WALK_ON, "");
  small_rig_tear_down (&graph.rig);
}

static void
test_downstream (void)
{
  Graph graph;

  set_up (&graph);
  assert_walk (hr_element_walk_downstream, graph.source, NULL, HR_WALK_ON, "tee a join sink b ");
  assert_walk (hr_element_walk_downstream, graph.source, "a", HR_WALK_TURN, "tee a b join sink ");
  assert_walk (hr_element_walk_downstream, graph.source, "join", HR_WALK_END, "tee a join ");
  assert_walk (hr_element_walk_downstream, graph.a, NULL, HR_WALK_ON, "join sink ");
  assert_walk (hr_element_walk_downstream, graph.sink, NULL, HR_WALK_ON, "");
  small_rig_tear_down (&graph.rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/walk/upstream", test_upstream);
  g_test_add_func ("/walk/downstream", test_downstream);
  return g_test_run ();
}
