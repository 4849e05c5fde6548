// The node: everything of the simulated driver that is alive in this process. Made by cuInit, never destroyed: programs
// call the driver from exit handlers, and workers may still wait in it then. One lock guards all of it; it is held for
// well under a microsecond and never while modelled time passes or while anything of the program runs.
#pragma once
#include "handle.h"
#include "node/clock.h"
#include "node/futex.h"
#include "node/settings.h"
#include "node/simnode.h"

#include <cuda.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simnode {

struct Context;
struct Device;
struct Stream;

struct HostKernel {
  simnode_kernel function;
  void* user;
  bool waiting;
};

struct Node {
  Settings settings;
  std::vector<Device*> devices;
  std::vector<Context*> contexts;
  HandleTable handles;
  Condition progress;  // some moment became known, or some queue moved
  int64_t init_ns = 0;

  double fault_amount(FaultKind kind) const { return settings.faults.amount(kind, settings.rank, init_ns, now_ns()); }
  double fault_factor(FaultKind kind) const { return settings.faults.factor(kind, settings.rank, init_ns, now_ns()); }

  template <class T>
  T* find(const void* handle) const {
    return static_cast<T*>(handles.find(handle, T::kKind));
  }
};

extern Mutex g_mutex;
extern Node* g_node;  // null until cuInit, and again in a child forked after it

// Makes the node, if there is none yet. With g_mutex held.
CUresult start_node();

// CUDA_SUCCESS when cuInit has been called in this process.
inline CUresult ready() { return g_node != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED; }

// What one thread owns. Reached by a plain pointer, so that exit handlers of the main thread still find it; freed by a
// pthread key when another thread ends.
struct ThreadState {
  std::vector<CUcontext> stack;
  std::vector<std::pair<CUcontext, CUstream>> default_streams;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
ThreadState& this_thread();

// The calling thread's current context: an error when there is none, or when it has been destroyed or has failed.
CUresult current_context(Context** context);

// Host functions registered by the program (simnode.h), by kernel name; the generation changes with each registration.
extern std::map<std::string, HostKernel>* g_host_kernels;
extern uint64_t g_host_kernels_generation;

#define SIMNODE_TRY(expression)                                                                        \
  do {                                                                                                 \
    if (CUresult simnode_result = (expression); simnode_result != CUDA_SUCCESS) return simnode_result; \
  } while (0)

}  // namespace simnode
