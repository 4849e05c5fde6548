// See graph.h. A launch puts the nodes into the stream in one order that respects all dependencies; on the
// virtual clock each node starts when its own dependencies have ended, so branches overlap.
#include "graph.h"

#include "event.h"
#include "node.h"
#include "stream.h"

#include <algorithm>
#include <map>

namespace simnode {

namespace {

// Depth first; the nodes of child graphs take the place of their node, between a start and an end that do nothing.
class Flattening {
 public:
  explicit Flattening(Exec& exec) : exec_(exec) {}

  // Index of the node of `exec` that ends `node`.
  uint32_t place(const GraphNode& node, const std::vector<uint32_t>& before) {
    if (auto done = ends_.find(&node); done != ends_.end()) return done->second;
    std::vector<uint32_t> dependencies = before;
    for (const GraphNode* dependency : node.dependencies) dependencies.push_back(place(*dependency, before));
    uint32_t end;
    if (auto* child = g_node->find<Graph>(node.work.node.child)) {
      std::vector<uint32_t> inner = dependencies;
      Flattening nested(exec_);
      for (const GraphNode* inside : child->nodes) inner.push_back(nested.place(*inside, dependencies));
      end = append(Work{}, node.handle, inner);
    } else {
      end = append(node.work, node.handle, dependencies);
    }
    return ends_[&node] = end;
  }

 private:
  uint32_t append(const Work& work, CUgraphNode source, std::vector<uint32_t> dependencies) {
    exec_.nodes.push_back({work, source});
    exec_.dependencies.push_back(std::move(dependencies));
    return static_cast<uint32_t>(exec_.nodes.size() - 1);
  }

  Exec& exec_;
  std::map<const GraphNode*, uint32_t> ends_;
};

bool takes_a_turn(const Work& work) {
  CUgraphNodeType type = work.node.type;
  return type != CU_GRAPH_NODE_TYPE_EMPTY && type != CU_GRAPH_NODE_TYPE_EVENT_RECORD &&
         type != CU_GRAPH_NODE_TYPE_WAIT_EVENT;
}

// Whether the times of the nodes must be known, or only the length of all.
bool each_counts() {
  const Settings& settings = g_node->settings;
  return g_activities || kernels_vary(settings) || settings.faults.has(FaultKind::kSlowGpu, settings.rank);
}

MomentRef recorded(Stream& stream, int64_t submit_ns) {
  auto moment = std::make_shared<Moment>();
  record_at_end(stream, moment, submit_ns);
  return moment;
}

// Asks end_ns(work, begin) for each node, in times since the graph's begin.
template <class OnNode>
int64_t longest_path_ns(const Exec& exec, OnNode end_ns) {
  static auto* const ends = new std::vector<int64_t>;
  ends->assign(exec.nodes.size(), 0);
  int64_t longest = 0;
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const Work& work = exec.nodes[i].work;
    const int64_t behind_ns = takes_a_turn(work) ? g_node->settings.behind_ns : 0;
    int64_t begin_ns = 0;
    for (uint32_t dependency : exec.dependencies[i]) begin_ns = std::max(begin_ns, (*ends)[dependency] + behind_ns);
    (*ends)[i] = end_ns(work, begin_ns);
    longest = std::max(longest, (*ends)[i]);
  }
  return longest;
}

// Begin and end on the stream's clock of each node of a graph without effects.
int64_t pass_nodes(const Exec& exec, Stream& stream, int64_t start_ns, int64_t submit_ns) {
  const int64_t launch_ns = launch_moment_ns(submit_ns);
  return longest_path_ns(exec, [&](const Work& work, int64_t begin_ns) {
    const int64_t at_ns = start_ns + begin_ns;
    int64_t end_ns = at_ns + duration_now_ns(work);
    if (is_varying_kernel(work)) {
      end_ns = stream.kernels.end_ns(at_ns, end_ns - at_ns);
      stream.kernels.add(at_ns, end_ns);
    }
    add_activity(launched_now(work.label, launch_ns), ordinal_of(*stream.context), stream.id, at_ns, end_ns);
    return end_ns - start_ns;
  });
}

// A graph without effects is only arithmetic, and a single sum where nobody wants to know of each kernel.
void submit_pure_exec(const Exec& exec, Stream& stream, int64_t submit_ns) {
  const uint64_t launch = stream.launches.take(g_node->settings.queue);
  const int64_t start_ns = begin_ns_of(stream, submit_ns);
  const int64_t length_ns = each_counts() ? pass_nodes(exec, stream, start_ns, submit_ns) : exec.longest_path_ns;
  pass(stream, start_ns, start_ns + length_ns);
  stream.launches.end(launch, stream.tail_ns);
}

}  // namespace

void measure(Exec& exec) {
  exec.pure = true;
  for (const auto& node : exec.nodes)
    if (node.work.effect || node.work.node.event != nullptr) exec.pure = false;
  exec.longest_path_ns =
      longest_path_ns(exec, [](const Work& work, int64_t begin_ns) { return begin_ns + work.duration_ns; });
}

static bool has_cycle(const GraphNode& node, std::map<const GraphNode*, int>& state) {
  int& mine = state[&node];
  if (mine != 0) return mine == 1;
  mine = 1;
  for (const GraphNode* dependency : node.dependencies)
    if (has_cycle(*dependency, state)) return true;
  state[&node] = 2;
  return false;
}

bool has_cycle(const Graph& graph) {
  std::map<const GraphNode*, int> state;
  for (const GraphNode* node : graph.nodes)
    if (has_cycle(*node, state)) return true;
  return false;
}

void flatten(const Graph& graph, Exec& exec) {
  Flattening flattening(exec);
  for (const GraphNode* node : graph.nodes) flattening.place(*node, {});
}

void submit_exec(const Exec& exec, Stream& stream, int64_t submit_ns) {
  if (exec.pure && stream.queue.empty()) return submit_pure_exec(exec, stream, submit_ns);
  auto run = std::make_shared<GraphRun>();
  const int64_t launch_ns = launch_moment_ns(submit_ns);
  auto dependencies = std::make_shared<std::vector<std::vector<uint32_t>>>(exec.dependencies);
  run->end_ns.resize(exec.nodes.size());
  const uint64_t launch = exec.nodes.empty() ? 0 : stream.launches.take(g_node->settings.queue);
  run->dependencies = dependencies.get();
  run->keep_alive = dependencies;
  for (uint32_t i = 0; i < exec.nodes.size(); ++i) {
    const Work& work = exec.nodes[i].work;
    auto* event = g_node->find<Event>(work.node.event);
    if (event != nullptr && work.node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
      event->moment = recorded(stream, submit_ns);
    if (event != nullptr && work.node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) submit_wait(stream, event->moment);
    Op op;
    op.what = what_of(work);
    op.submit_ns = submit_ns;
    op.duration_ns = duration_now_ns(work);
    op.effect = work.effect;
    op.label = launched_now(work.label, launch_ns);
    op.run = run;
    op.run_index = i;
    op.kernel = is_varying_kernel(work);
    op.immediate = !takes_a_turn(work);
    if (i + 1 == exec.nodes.size()) op.launch = launch;
    submit(stream, std::move(op));
  }
}

Graph* copy_of(const Graph& graph) {
  Graph* copy = make_graph();
  std::map<const GraphNode*, GraphNode*> twins;
  for (const GraphNode* node : graph.nodes) {
    Work work = node->work;
    if (auto* child = g_node->find<Graph>(work.node.child)) {
      Graph* inner = copy_of(*child);
      inner->child = true;
      work.node.child = inner->handle;
    }
    twins[node] = add_node(*copy, std::move(work), {});
  }
  for (const GraphNode* node : graph.nodes)
    for (const GraphNode* dependency : node->dependencies) twins[node]->dependencies.push_back(twins[dependency]);
  return copy;
}

Graph* make_graph() {
  auto* graph = new Graph;
  graph->handle = static_cast<CUgraph>(g_node->handles.add(Kind::kGraph, graph));
  return graph;
}

GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies) {
  auto* node = new GraphNode;
  node->graph = &graph;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  node->handle = static_cast<CUgraphNode>(g_node->handles.add(Kind::kNode, node));
  graph.nodes.push_back(node);
  return node;
}

void destroy_graph(Graph& graph) {
  for (GraphNode* node : graph.nodes) {
    if (auto* child = g_node->find<Graph>(node->work.node.child)) destroy_graph(*child);
    g_node->handles.remove(node->handle);
    delete node;
  }
  g_node->handles.remove(graph.handle);
  delete &graph;
}

}  // namespace simnode
