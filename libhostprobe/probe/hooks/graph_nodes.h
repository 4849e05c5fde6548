// graph_nodes.h: how many nodes an instantiated CUDA graph has; one launch of it stands for that many pieces of work.
//
// Room 2 (probe/). Written when a graph is instantiated, read at each of its launches: one multiply and, nearly always,
// one load and one compare.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

// Handles are addresses: 47 bits, of which the lowest 3 are zero. They stand in the upper 44 bits, the nodes in the lower
// 20, so that both are read and written as one word; a larger graph counts as having 1 048 575.
inline constexpr unsigned kGraphBits = 12;
inline constexpr unsigned kGraphProbes = 8;
inline constexpr unsigned kNodeBits = 20;
inline constexpr std::uint64_t kMostNodes = (1u << kNodeBits) - 1;
inline constexpr std::uint64_t kForgottenGraph = 1;  // a slot that was in use: what is looked for may stand behind it
extern HP_OURS constinit std::atomic<std::uint64_t> g_graphs[1u << kGraphBits];

inline std::atomic<std::uint64_t>& graph_slot(CUgraphExec graph, unsigned probe) {
  auto first = reinterpret_cast<std::uint64_t>(graph) * 0x9e3779b97f4a7c15u >> (64 - kGraphBits);
  return g_graphs[first ^ probe];
}
inline std::uint64_t graph_key(CUgraphExec graph) { return reinterpret_cast<std::uint64_t>(graph) >> 3; }

// 0: not known.
inline std::uint64_t nodes_of(CUgraphExec graph) {
  for (unsigned probe = 0; probe < kGraphProbes; ++probe) {
    std::uint64_t known = graph_slot(graph, probe).load(std::memory_order_relaxed);
    if (known >> kNodeBits == graph_key(graph)) return known & kMostNodes;
    if (known == 0) return 0;
  }
  return 0;
}

// Asks the driver; 0 when it does not tell.
std::uint64_t count_nodes(CUgraph graph);
// Counts the nodes of `graph` and keeps the number for what was instantiated from it.
std::uint64_t remember_nodes(CUgraphExec executable, CUgraph graph);
void forget_nodes(CUgraphExec executable);

}  // namespace hostprobe::probe
