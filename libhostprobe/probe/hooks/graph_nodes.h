// graph_nodes.h: how many nodes an instantiated CUDA graph has, and how many of them are kernels: what one launch of it runs.
//
// Room 2 (probe/). Written when a graph is instantiated or updated, read at each of its launches: one multiply and, nearly
// always, two loads and one compare.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

// Nodes 0: neither is known. Graphs in graphs have their own nodes counted where they stand. How often a conditional node runs
// its graph only the GPU knows, so a graph that has one is not known.
struct GraphSize {
  std::uint64_t nodes;
  std::uint64_t kernels;
};

// Handles are addresses: 47 bits, of which the lowest 3 are zero. They stand in the upper 44 bits, the nodes in the lower
// 20, so that both are read and written as one word; a larger graph counts as having 1 048 575.
inline constexpr unsigned kGraphBits = 12;
inline constexpr unsigned kGraphProbes = 8;
inline constexpr unsigned kNodeBits = 20;
inline constexpr std::uint64_t kMostNodes = (1u << kNodeBits) - 1;
inline constexpr std::uint64_t kForgottenGraph = 1;  // a slot that was in use: what is looked for may stand behind it
inline constexpr std::uint64_t kClaimedGraph = 2;    // one that is being written
extern HP_OURS constinit std::atomic<std::uint64_t> g_graphs[1u << kGraphBits];
extern HP_OURS constinit std::atomic<std::uint32_t> g_graph_kernels[1u << kGraphBits];

inline unsigned graph_slot(CUgraphExec graph, unsigned probe) {
  auto first = reinterpret_cast<std::uint64_t>(graph) * 0x9e3779b97f4a7c15u >> (64 - kGraphBits);
  return static_cast<unsigned>(first ^ probe);
}
inline std::uint64_t graph_key(CUgraphExec graph) { return reinterpret_cast<std::uint64_t>(graph) >> 3; }

inline GraphSize size_of_graph(CUgraphExec graph) {
  for (unsigned probe = 0; probe < kGraphProbes; ++probe) {
    const unsigned slot = graph_slot(graph, probe);
    std::uint64_t known = g_graphs[slot].load(std::memory_order_acquire);
    if (known >> kNodeBits == graph_key(graph))
      return {known & kMostNodes, g_graph_kernels[slot].load(std::memory_order_relaxed)};
    if (known == 0) return {};
  }
  return {};
}

// Asks the driver; 0 when it does not tell.
std::uint64_t count_nodes(CUgraph graph);
// Counts what is in `graph` and keeps the numbers for what was instantiated from it.
GraphSize remember_graph(CUgraphExec executable, CUgraph graph);
void forget_graph(CUgraphExec executable);

}  // namespace hostprobe::probe
