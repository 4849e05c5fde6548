// graph_nodes.cpp: see graph_nodes.h. Cold: runs when graphs are captured, instantiated, updated and destroyed, where the driver
// itself takes longer for each node. The list of nodes is in memory mapped for the moment.
#include "probe/hooks/graph_nodes.h"

#include <errno.h>
#include <sys/mman.h>

#include "probe/intercept/routes.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit std::atomic<std::uint64_t> g_graphs[1u << kGraphBits]{};
HP_OF_PROCESS constinit std::atomic<std::uint32_t> g_graph_kernels[1u << kGraphBits]{};

namespace {

constexpr unsigned kDeepest = 16;  // graphs in graphs

struct Driver {
  CUresult (*nodes)(CUgraph, CUgraphNode*, std::size_t*);
  CUresult (*type)(CUgraphNode, CUgraphNodeType*);
  CUresult (*child)(CUgraphNode, CUgraph*);
};

bool find_driver(Driver& driver) {
  return find_routed(driver.nodes, "cuGraphGetNodes") && find_routed(driver.type, "cuGraphNodeGetType") &&
         find_routed(driver.child, "cuGraphChildGraphNodeGetGraph");
}

class NodeList {
 public:
  explicit NodeList(std::size_t count) : bytes_(count * sizeof(CUgraphNode)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    nodes_ = memory == MAP_FAILED ? nullptr : static_cast<CUgraphNode*>(memory);
  }
  ~NodeList() {
    if (nodes_ != nullptr) munmap(nodes_, bytes_);
  }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;
  CUgraphNode* nodes() const { return nodes_; }

 private:
  std::size_t bytes_;
  CUgraphNode* nodes_;
};

bool add_graph(const Driver& driver, CUgraph graph, unsigned depth, GraphSize& size);

bool add_node(const Driver& driver, CUgraphNode node, unsigned depth, GraphSize& size) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver.type(node, &type) != CUDA_SUCCESS || type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return false;
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) ++size.kernels;
  CUgraph child = nullptr;
  if (type != CU_GRAPH_NODE_TYPE_GRAPH) return true;
  GraphSize inside{};  // nodes are those of the graph itself
  if (driver.child(node, &child) != CUDA_SUCCESS || !add_graph(driver, child, depth + 1, inside)) return false;
  size.kernels += inside.kernels;
  return true;
}

// False: not all of it is known.
bool add_graph(const Driver& driver, CUgraph graph, unsigned depth, GraphSize& size) {
  std::size_t count = 0;
  if (depth == kDeepest || driver.nodes(graph, nullptr, &count) != CUDA_SUCCESS) return false;
  size.nodes = count;
  if (count == 0) return true;
  const NodeList list(count);
  if (list.nodes() == nullptr || driver.nodes(graph, list.nodes(), &count) != CUDA_SUCCESS || count != size.nodes)
    return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!add_node(driver, list.nodes()[i], depth, size)) return false;
  return true;
}

void keep(CUgraphExec executable, const GraphSize& size) {
  const std::uint64_t kept = graph_key(executable) << kNodeBits | (size.nodes < kMostNodes ? size.nodes : kMostNodes);
  for (unsigned probe = 0; probe <= kGraphProbes; ++probe) {
    const unsigned slot = graph_slot(executable, probe % kGraphProbes);
    std::uint64_t was = g_graphs[slot].load(std::memory_order_relaxed);
    const bool is_free = was == 0 || was == kForgottenGraph || probe == kGraphProbes;
    // Taken before it says whose it is, so that nobody reads the kernels of another graph.
    if (!is_free || !g_graphs[slot].compare_exchange_strong(was, kClaimedGraph, std::memory_order_acq_rel)) continue;
    g_graph_kernels[slot].store(static_cast<std::uint32_t>(size.kernels), std::memory_order_relaxed);
    g_graphs[slot].store(kept, std::memory_order_release);
    return;
  }
}

}  // namespace

std::uint64_t count_nodes(CUgraph graph) {
  Driver driver;
  std::size_t count = 0;
  return find_routed(driver.nodes, "cuGraphGetNodes") && driver.nodes(graph, nullptr, &count) == CUDA_SUCCESS ? count
                                                                                                              : 0;
}

GraphSize remember_graph(CUgraphExec executable, CUgraph graph) {
  const int saved = errno;
  const std::uint64_t begin = ticks();
  Driver driver;
  GraphSize size{};
  const bool known = find_driver(driver) && add_graph(driver, graph, 0, size) && size.nodes != 0;
  if (known) keep(executable, size);
  if (ThreadEntry* entry = t_local.entry) entry->own_ticks += ticks() - begin;
  errno = saved;
  return known ? size : GraphSize{count_nodes(graph), 0};
}

void forget_graph(CUgraphExec executable) {
  for (unsigned probe = 0; probe < kGraphProbes; ++probe) {
    auto& slot = g_graphs[graph_slot(executable, probe)];
    if (slot.load(std::memory_order_relaxed) >> kNodeBits == graph_key(executable))
      slot.store(kForgottenGraph, std::memory_order_relaxed);
  }
}

}  // namespace hostprobe::probe
