// One piece of asynchronous work as an entry point describes it, before it is known whether it runs in a stream now or
// becomes a node of a graph that a capture builds.
#pragma once
#include "node/activities.h"
#include "stream.h"

#include <cuda.h>
#include <functional>
#include <vector>

namespace simnode {

struct Context;
struct Function;

// What a graph node keeps so that it can be asked and changed. Only the part that belongs to `type` is set.
struct NodeContent {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  struct {
    CUhostFn function = nullptr;
    void* user = nullptr;
  } host;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  std::vector<std::vector<char>> arguments;  // copies of the kernel's arguments
  std::vector<void*> argument_pointers;      // to them, made when a program asks
  CUevent event = nullptr;
  CUgraph child = nullptr;
};

struct Work {
  int64_t duration_ns = 0;
  Effect effect;
  bool callback = false;  // runs on the stream's worker only, and ends when it really ends
  bool waiting = false;   // runs on the stream's worker only, and ends when its function says (simnode.h)
  bool capturable = true;
  bool waits = false;  // the call returns when the work is done (pageable copies)
  ActivityLabel label;
  NodeContent node;
};

// Kernels that wait for others end when those let them: their times are the others'.
inline bool is_varying_kernel(const Work& work) { return work.node.type == CU_GRAPH_NODE_TYPE_KERNEL && !work.waiting; }

inline Op::What what_of(const Work& work) {
  if (work.waiting) return Op::What::kWaiting;
  return work.callback ? Op::What::kCallback : Op::What::kWork;
}

// Its label when the calling thread launches it, by itself or as a node of a graph.
ActivityLabel launched_now(ActivityLabel label, int64_t launch_ns);
// A moment inside the launch call that the device learns of at `submit_ns`, which may be its end.
int64_t launch_moment_ns(int64_t submit_ns);
// How long it lasts if it is put into a stream now.
int64_t duration_now_ns(const Work& work);
// Takes the node's lock.
CUresult submit_work(CUstream handle, Work work);
// With the lock held; `submit_ns` is when the device learns of it.
CUresult submit_work_locked(Stream& stream, Work work, int64_t submit_ns);
int ordinal_of(const Context& context);

}  // namespace simnode
