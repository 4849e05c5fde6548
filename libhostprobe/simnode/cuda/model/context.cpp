// See context.h.
#include "context.h"

#include "device.h"
#include "memory.h"
#include "module.h"
#include "node.h"
#include "stream.h"

#include <algorithm>
#include <thread>

namespace simnode {

Context* make_context(Device& device, unsigned flags, bool primary) {
  static uint64_t next_id = 1;
  auto* context = new Context;
  context->device = &device;
  context->flags = flags;
  context->primary = primary;
  context->id = next_id++;
  context->handle = static_cast<CUcontext>(g_node->handles.add(Kind::kContext, context));
  if (context->handle == nullptr) {
    delete context;
    return nullptr;
  }
  ++device.live_contexts;
  device.usage->contexts.store(static_cast<uint32_t>(device.live_contexts), std::memory_order_relaxed);
  g_node->contexts.push_back(context);
  return context;
}

void destroy_context(Context& context) {
  wait_for_all(context);
  g_node->handles.remove(context.handle);
  while (!context.streams.empty()) destroy_stream(*context.streams.back());
  release_modules_of(context);
  release_memory_of(context);
  auto& contexts = g_node->contexts;
  contexts.erase(std::remove(contexts.begin(), contexts.end(), &context), contexts.end());
  --context.device->live_contexts;
  context.device->usage->contexts.store(static_cast<uint32_t>(context.device->live_contexts),
                                        std::memory_order_relaxed);
  // The object itself stays: workers of streams that are still dying, and events, may name it.
}

Stream& Context::legacy_stream() {
  if (legacy == nullptr) {
    legacy = make_stream(*this, CU_STREAM_DEFAULT, 0);
    legacy->legacy = true;
  }
  return *legacy;
}

Stream& Context::per_thread_stream() {
  ThreadState& thread = this_thread();
  for (auto& [owner, stream] : thread.default_streams)
    if (owner == handle)
      if (auto* found = g_node->find<Stream>(stream)) return *found;
  Stream* made = make_stream(*this, CU_STREAM_DEFAULT, 0);
  made->per_thread = true;
  thread.default_streams.emplace_back(handle, made->handle);
  return *made;
}

// CU_CTX_SCHED_AUTO: spin while there are no more contexts than processors, else yield, as cuda.h says.
WaitMode Context::wait_mode() const {
  switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_SPIN:
      return WaitMode::kSpin;
    case CU_CTX_SCHED_YIELD:
      return WaitMode::kYield;
    case CU_CTX_SCHED_BLOCKING_SYNC:
      return WaitMode::kBlock;
    default:
      break;
  }
  static const size_t processors = std::thread::hardware_concurrency();
  return g_node->contexts.size() > processors ? WaitMode::kYield : WaitMode::kSpin;
}

CUresult context_or_current(CUcontext handle, Context** context) {
  if (handle == nullptr) return current_context(context);
  SIMNODE_TRY(ready());
  *context = g_node->find<Context>(handle);
  return *context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : (*context)->failure;
}

}  // namespace simnode
