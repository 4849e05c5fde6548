// Graphs: nodes with dependencies, made by calls or by capturing a stream, and the executable form that is launched.
#pragma once
#include "handle.h"
#include "work.h"

#include <cuda.h>
#include <memory>
#include <vector>

namespace simnode {

struct Graph;

struct GraphNode {
  static constexpr Kind kKind = Kind::kNode;
  Graph* graph = nullptr;
  CUgraphNode handle = nullptr;
  Work work;  // its effect may be run any number of times
  std::vector<GraphNode*> dependencies;
};

struct Graph {
  static constexpr Kind kKind = Kind::kGraph;
  CUgraph handle = nullptr;
  bool child = false;  // belongs to a child graph node
  std::vector<GraphNode*> nodes;
};

struct ExecNode {
  Work work;
  CUgraphNode source;
};

struct Exec {
  static constexpr Kind kKind = Kind::kExec;
  CUgraphExec handle = nullptr;
  std::vector<ExecNode> nodes;                      // in an order that respects the dependencies
  std::vector<std::vector<uint32_t>> dependencies;  // indices into nodes, per node
  bool pure = false;                                // no node has an effect: only the longest path counts
  int64_t longest_path_ns = 0;
};

// With the node's lock held.
Graph* make_graph();
GraphNode* add_node(Graph& graph, Work work, std::vector<GraphNode*> dependencies);
void destroy_graph(Graph& graph);
// Copies nodes and, for child graph nodes, the graphs inside.
Graph* copy_of(const Graph& graph);
bool has_cycle(const Graph& graph);
// Appends the nodes of a graph, those of child graphs in the place of their node.
void flatten(const Graph& graph, Exec& exec);
// What is known of an executable graph from its nodes; due whenever they have changed.
void measure(Exec& exec);
void submit_exec(const Exec& exec, Stream& stream, int64_t submit_ns);

}  // namespace simnode
