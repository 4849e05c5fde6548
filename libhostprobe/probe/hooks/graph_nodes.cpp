// graph_nodes.cpp: see graph_nodes.h. Cold: runs when graphs are captured, instantiated and destroyed.
#include "probe/hooks/graph_nodes.h"

#include "probe/intercept/routes.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit std::atomic<std::uint64_t> g_graphs[1u << kGraphBits]{};

std::uint64_t count_nodes(CUgraph graph) {
  auto ask = reinterpret_cast<CUresult (*)(CUgraph, CUgraphNode*, size_t*)>(routed_function("cuGraphGetNodes"));
  size_t count = 0;
  return ask != nullptr && ask(graph, nullptr, &count) == CUDA_SUCCESS ? count : 0;
}

std::uint64_t remember_nodes(CUgraphExec executable, CUgraph graph) {
  std::uint64_t nodes = count_nodes(graph);
  std::uint64_t kept = graph_key(executable) << kNodeBits | (nodes < kMostNodes ? nodes : kMostNodes);
  for (unsigned probe = 0; probe < kGraphProbes; ++probe) {
    auto& slot = graph_slot(executable, probe);
    for (std::uint64_t unused : {std::uint64_t{0}, kForgottenGraph})
      if (slot.compare_exchange_strong(unused, kept, std::memory_order_relaxed)) return nodes;
  }
  graph_slot(executable, 0).store(kept, std::memory_order_relaxed);
  return nodes;
}

void forget_nodes(CUgraphExec executable) {
  for (unsigned probe = 0; probe < kGraphProbes; ++probe) {
    auto& slot = graph_slot(executable, probe);
    if (slot.load(std::memory_order_relaxed) >> kNodeBits == graph_key(executable))
      slot.store(kForgottenGraph, std::memory_order_relaxed);
  }
}

}  // namespace hostprobe::probe
