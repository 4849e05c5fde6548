// context_pools.h: what is made once in each context and used again and again: events of our own.
//
// Room 2 (probe/). By threads that call the driver or NCCL, seldom. A pool belongs to the context that was current when it was first
// wanted; hooks/contexts.cpp says when one is gone, and its events with it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::probe {

// The driver's real functions. Of those with two, the second is the one to which stream 0 is the thread's own.
struct ContextDriver {
  CUresult (*context)(CUcontext*);
  CUresult (*context_id)(CUcontext, unsigned long long*);
  CUresult (*device)(CUdevice*);
  CUresult (*primary_state)(CUdevice, unsigned*, int*);
  CUresult (*create)(CUevent*, unsigned);
  CUresult (*record[2])(CUevent, CUstream);
  CUresult (*query)(CUevent);
  CUresult (*query_stream)(CUstream);
  CUresult (*elapsed)(float*, CUevent, CUevent);
};
extern ContextDriver g_context_driver;

// False: it lacks one of them, or of those that captures.h needs.
bool context_driver_is_known();
// It was asked for, and lacks none.
bool context_driver_was_found();

struct ContextPool {
  std::atomic<std::uint64_t> id;  // of its context, plus 1; 0: free
  std::atomic<bool> ready;
  CUcontext context;
  CUdevice device;
};

// One that was destroyed, or the primary one of a device that nobody retains.
struct GoneContext {
  const void* context;  // nullptr: the device says it
  CUdevice device;
  bool owned(const ContextPool& pool) const {
    return context != nullptr ? pool.context == context : pool.device == device;
  }
};

// Of the current context, with the number that no other context ever has. False: there is none.
bool current_context(CUcontext& context, std::uint64_t& id);

// nullptr: there is no context, or no room. A pool whose making failed stays without.
template <class Pool, unsigned kPools, class Make>
Pool* pool_of_current(Pool (&pools)[kPools], Make make) {
  CUcontext context = nullptr;
  std::uint64_t id = 0;
  if (!current_context(context, id)) return nullptr;
  for (Pool& pool : pools)
    if (pool.id.load(std::memory_order_acquire) == id + 1)
      return pool.ready.load(std::memory_order_acquire) ? &pool : nullptr;
  for (Pool& pool : pools) {
    std::uint64_t unused = 0;
    if (!pool.id.compare_exchange_strong(unused, id + 1, std::memory_order_acq_rel)) continue;
    pool.context = context;
    const bool made = g_context_driver.device(&pool.device) == CUDA_SUCCESS && make(pool);
    pool.ready.store(made, std::memory_order_release);
    return made ? &pool : nullptr;
  }
  return nullptr;
}

// `forget` empties what the pool holds, before another context may have it.
template <class Pool, unsigned kPools, class Forget>
void forget_pools(Pool (&pools)[kPools], const GoneContext& gone, Forget forget) {
  for (Pool& pool : pools) {
    if (pool.id.load(std::memory_order_acquire) == 0 || !gone.owned(pool)) continue;
    pool.ready.store(false, std::memory_order_release);
    forget(pool);
    pool.id.store(0, std::memory_order_release);
  }
}

}  // namespace hostprobe::probe
