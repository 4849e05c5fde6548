// The exported functions of streams, and the host functions put into them.
#include "cuda/model/stream.h"
#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/node.h"
#include "cuda/model/work.h"
#include "entry.h"

#include <algorithm>

namespace simnode {

namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (handle == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *handle = make_stream(*context, flags, std::clamp(priority, -5, 0))->handle;
  return *handle == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult destroy(CUstream handle) {
  MutexLock lock(g_mutex);
  SIMNODE_TRY(ready());
  auto* stream = g_node->find<Stream>(handle);
  if (stream == nullptr || stream->legacy || stream->per_thread) return CUDA_ERROR_INVALID_HANDLE;
  abandon_capture(*stream);
  destroy_stream(*stream);
  return CUDA_SUCCESS;
}

template <class Get>
CUresult look_at(CUstream handle, const void* out, Get get) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  get(*stream);
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuStreamCreate)(CUstream* stream, unsigned int flags) { return create(stream, flags, 0); }

SIMNODE_ENTRY(cuStreamCreateWithPriority)(CUstream* stream, unsigned int flags, int priority) {
  return create(stream, flags, priority);
}

SIMNODE_ENTRY(cuStreamDestroy_v2)(CUstream stream) { return destroy(stream); }

SIMNODE_ENTRY(cuStreamDestroy)(CUstream stream) { return destroy(stream); }

SIMNODE_ENTRY(cuStreamGetPriority)(CUstream handle, int* priority) {
  return look_at(handle, priority, [=](Stream& stream) { *priority = stream.priority; });
}

SIMNODE_ENTRY(cuStreamGetFlags)(CUstream handle, unsigned int* flags) {
  return look_at(handle, flags, [=](Stream& stream) { *flags = stream.flags; });
}

SIMNODE_ENTRY(cuStreamGetId)(CUstream handle, unsigned long long* id) {
  return look_at(handle, id, [=](Stream& stream) { *id = stream.id; });
}

SIMNODE_ENTRY(cuStreamGetCtx)(CUstream handle, CUcontext* context) {
  return look_at(handle, context, [=](Stream& stream) { *context = stream.context->handle; });
}

SIMNODE_ENTRY(cuStreamGetDevice)(CUstream handle, CUdevice* device) {
  return look_at(handle, device, [=](Stream& stream) { *device = ordinal_of(*stream.context); });
}

SIMNODE_ENTRY(cuStreamSynchronize)(CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (stream->capture != nullptr) return capture_violated(*stream);
  order_with_legacy(*stream, now_ns());
  Context* context = stream->context;
  if (stream->queue.empty()) {
    auto end = std::make_shared<Moment>();
    end->known = true;
    end->at_ns = stream->tail_ns;
    wait_for(end, context->wait_mode());
  } else {
    wait_for(stream->last_mark != nullptr ? stream->last_mark : mark(*stream, 0), context->wait_mode());
  }
  return context->failure;
}

SIMNODE_ENTRY(cuStreamQuery)(CUstream handle) {
  MutexLock lock(g_mutex);
  Stream* stream;
  SIMNODE_TRY(find_stream(handle, &stream));
  if (stream->capture != nullptr) return capture_violated(*stream);
  Context* context = stream->context;
  if (!stream->queue.empty() && !reached(stream->last_mark != nullptr ? stream->last_mark : mark(*stream, 0)))
    return context->failure != CUDA_SUCCESS ? context->failure : CUDA_ERROR_NOT_READY;
  // Looking may have released the lock, and the stream may have gone.
  if (find_stream(handle, &stream) == CUDA_SUCCESS && !idle(*stream)) return CUDA_ERROR_NOT_READY;
  return context->failure;
}

SIMNODE_ENTRY(cuLaunchHostFunc)(CUstream handle, CUhostFn function, void* user) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.callback = true;
  work.node.type = CU_GRAPH_NODE_TYPE_HOST;
  work.node.host = {function, user};
  work.effect = [function, user] {
    function(user);
    return CUDA_SUCCESS;
  };
  return submit_work(handle, std::move(work));
}

SIMNODE_ENTRY(cuStreamAddCallback)(CUstream handle, CUstreamCallback callback, void* user, unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.callback = true;
  work.capturable = false;
  work.effect = [handle, callback, user] {
    callback(handle, CUDA_SUCCESS, user);
    return CUDA_SUCCESS;
  };
  return submit_work(handle, std::move(work));
}

SIMNODE_ENTRY(cuStreamAttachMemAsync)(CUstream handle, CUdeviceptr, size_t, unsigned int) {
  MutexLock lock(g_mutex);
  Stream* stream;
  return find_stream(handle, &stream);
}

SIMNODE_ENTRY(cuStreamCopyAttributes)(CUstream to, CUstream from) {
  MutexLock lock(g_mutex);
  Stream *first, *second;
  SIMNODE_TRY(find_stream(to, &first));
  return find_stream(from, &second);
}

}  // namespace simnode
