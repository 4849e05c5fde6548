// A kernel launch as Work: checked, with its arguments copied, and with the registered host function as its effect.
#pragma once
#include "work.h"

#include <cuda.h>

namespace simnode {

struct Function;
struct Stream;

struct LaunchShape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};

// All with the node's lock held.
CUresult check_launch(const Function& function, const LaunchShape& shape, void** parameters, void** extra);
CUresult kernel_work(Function& function, const LaunchShape& shape, void** parameters, void** extra, Work* work);
bool has_host_function(Function& function);
ActivityLabel kernel_label(Function& function);
// How long a kernel lasts that is put into a stream now: a slow device stretches it.
int64_t slowed_ns(int64_t duration_ns);

// Modelled cost of a launch call on the calling thread; faults add to it.
int64_t launch_cost_ns();

}  // namespace simnode
