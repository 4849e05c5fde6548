// A context: streams, the default streams, flags, and the error that has ended it, if one has.
#pragma once
#include "handle.h"
#include "node/clock.h"

#include <cuda.h>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace simnode {

struct Device;
struct Module;
struct Stream;

struct Context {
  static constexpr Kind kKind = Kind::kContext;
  Device* device = nullptr;
  CUcontext handle = nullptr;
  unsigned flags = 0;
  uint64_t id = 0;
  bool primary = false;
  int attachments = 1;  // cuCtxAttach, cuCtxDetach
  int captures = 0;     // of streams of this context, now
  std::vector<Stream*> streams;
  Stream* legacy = nullptr;
  CUresult failure = CUDA_SUCCESS;  // sticky: every later call in this context answers it
  std::map<CUlimit, size_t> limits;
  std::set<CUcontext> peers;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;

  Stream& legacy_stream();
  Stream& per_thread_stream();  // the calling thread's own
  WaitMode wait_mode() const;
  void fail(CUresult result) {
    if (failure == CUDA_SUCCESS) failure = result;
  }
};

Context* make_context(Device& device, unsigned flags, bool primary);
void destroy_context(Context& context);
// A context by handle, null meaning the current one (cuCtxSynchronize_v2 and others that take either).
CUresult context_or_current(CUcontext handle, Context** context);

}  // namespace simnode
