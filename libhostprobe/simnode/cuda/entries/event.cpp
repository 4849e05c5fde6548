// Events and their time, which is the stream's virtual time: exact whatever the machine did meanwhile.
#include "cuda/model/event.h"

#include "cuda/model/capture.h"
#include "cuda/model/context.h"
#include "cuda/model/node.h"
#include "cuda/model/shared_moment.h"
#include "cuda/model/stream.h"
#include "entry.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>

namespace simnode {

namespace {

constexpr int64_t kQueryNs = 300;  // on the host, unless a record costs less
constexpr unsigned kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult find_event(CUevent handle, Event** event) {
  SIMNODE_TRY(ready());
  *event = g_node->find<Event>(handle);
  return *event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult record_locked(CUevent handle, CUstream stream_handle, unsigned flags, int64_t submit_ns) {
  MutexLock lock(g_mutex);
  Event* event;
  Stream* stream;
  if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(find_event(handle, &event));
  SIMNODE_TRY(find_stream(stream_handle, &stream));
  if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return capture_record(*stream, *event, handle, flags);
  SIMNODE_TRY(check_legacy_use(*stream));
  order_with_legacy(*stream, submit_ns);
  auto moment = std::make_shared<Moment>();
  if (event->shared != nullptr) {
    moment->shared = event->shared;
    moment->shared_number = event->shared->state->recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  record_at_end(*stream, moment, submit_ns);
  event->moment = moment;
  event->capture.reset();
  return CUDA_SUCCESS;
}

CUresult record(CUevent handle, CUstream stream, unsigned flags) {
  SIMNODE_TRY(ready());
  int64_t submit_ns = now_ns() + g_node->settings.event_ns;
  SIMNODE_TRY(record_locked(handle, stream, flags, submit_ns));
  spin_until(submit_ns);
  return CUDA_SUCCESS;
}

// The device's clock counts its own nanoseconds from cuInit; it shows whole ticks.
double device_ns(int64_t at_ns) {
  const Settings& settings = g_node->settings;
  const double ns = static_cast<double>(at_ns - g_node->init_ns) * (1 + settings.device_ppm * 1e-6);
  const auto tick_ns = static_cast<double>(settings.event_resolution_ns);
  return tick_ns > 0 ? std::floor(ns / tick_ns) * tick_ns : ns;
}

// Whether what was recorded last, by any process, has been passed. Drives the own stream on, if it was recorded here.
bool passed(const Event& event) {
  MomentRef own = event.moment;
  std::shared_ptr<SharedMoment> shared = event.shared;  // looking may release the lock, and the event may go
  bool reached_own = own == nullptr || reached(own);
  return shared == nullptr ? reached_own : shared->reached(shared->latest());
}

CUresult query_locked(CUevent handle) {
  MutexLock lock(g_mutex);
  Event* event;
  SIMNODE_TRY(find_event(handle, &event));
  if (still_capturing(*event)) return CUDA_ERROR_CAPTURED_EVENT;
  if (event->context->failure != CUDA_SUCCESS) return event->context->failure;
  Context* context = event->context;
  return passed(*event) ? context->failure : CUDA_ERROR_NOT_READY;
}

// Another process gives no sign when it gets there.
void wait_for_shared(const Event& event) {
  MomentRef own = event.moment;
  std::shared_ptr<SharedMoment> shared = event.shared;
  uint64_t number = shared->latest();
  while (!shared->reached(number)) {
    if (own != nullptr) reached(own);
    g_mutex.unlock();
    usleep(20);
    g_mutex.lock();
  }
}

CUresult elapsed(float* milliseconds, CUevent begin, CUevent end) {
  MutexLock lock(g_mutex);
  Event *first, *last;
  SIMNODE_TRY(find_event(begin, &first));
  SIMNODE_TRY(find_event(end, &last));
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  if (first->context != last->context) return CUDA_ERROR_INVALID_HANDLE;
  if (first->moment == nullptr || last->moment == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  MomentRef from = first->moment, to = last->moment;  // looking may release the lock, and the events may go
  if (!reached(from) || !reached(to)) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>((device_ns(to->at_ns) - device_ns(from->at_ns)) / 1e6);
  return CUDA_SUCCESS;
}

}  // namespace

SIMNODE_ENTRY(cuEventCreate)(CUevent* handle, unsigned int flags) {
  MutexLock lock(g_mutex);
  Context* context;
  SIMNODE_TRY(current_context(&context));
  if (handle == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  auto* event = new Event;
  event->context = context;
  event->flags = flags;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) event->shared = SharedMoment::make();
  *handle = static_cast<CUevent>(g_node->handles.add(Kind::kEvent, event));
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuEventDestroy_v2)(CUevent handle) {
  MutexLock lock(g_mutex);
  Event* event;
  SIMNODE_TRY(find_event(handle, &event));
  g_node->handles.remove(handle);
  delete event;
  return CUDA_SUCCESS;
}

SIMNODE_ENTRY(cuEventDestroy)(CUevent handle) { return entry_cuEventDestroy_v2(handle); }

SIMNODE_ENTRY(cuEventRecord)(CUevent handle, CUstream stream) { return record(handle, stream, 0); }

SIMNODE_ENTRY(cuEventRecordWithFlags)(CUevent handle, CUstream stream, unsigned int flags) {
  return record(handle, stream, flags);
}

SIMNODE_ENTRY(cuEventQuery)(CUevent handle) {
  SIMNODE_TRY(ready());
  const int64_t end_ns = now_ns() + std::min(kQueryNs, g_node->settings.event_ns);
  CUresult result = query_locked(handle);
  spin_until(end_ns);
  return result;
}

SIMNODE_ENTRY(cuEventSynchronize)(CUevent handle) {
  MutexLock lock(g_mutex);
  Event* event;
  SIMNODE_TRY(find_event(handle, &event));
  if (still_capturing(*event)) return CUDA_ERROR_CAPTURED_EVENT;
  Context* context = event->context;
  bool block = (event->flags & CU_EVENT_BLOCKING_SYNC) != 0;
  if (event->shared != nullptr)
    wait_for_shared(*event);
  else if (event->moment != nullptr)
    wait_for(event->moment, block ? WaitMode::kBlock : context->wait_mode());
  return context->failure;
}

SIMNODE_ENTRY(cuEventElapsedTime)(float* milliseconds, CUevent begin, CUevent end) {
  return elapsed(milliseconds, begin, end);
}

SIMNODE_ENTRY(cuEventElapsedTime_v2)(float* milliseconds, CUevent begin, CUevent end) {
  return elapsed(milliseconds, begin, end);
}

SIMNODE_ENTRY(cuStreamWaitEvent)(CUstream stream_handle, CUevent handle, unsigned int flags) {
  MutexLock lock(g_mutex);
  Event* event;
  Stream* stream;
  if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  SIMNODE_TRY(find_event(handle, &event));
  SIMNODE_TRY(find_stream(stream_handle, &stream));
  if (stream->capture != nullptr || still_capturing(*event)) return capture_wait(*stream, *event, handle, flags);
  order_with_legacy(*stream, now_ns());
  if (event->shared == nullptr) {
    submit_wait(*stream, event->moment);
    return CUDA_SUCCESS;
  }
  Op op;
  op.what = Op::What::kPoll;
  op.arrived = [shared = event->shared, number = event->shared->latest()] { return shared->reached(number); };
  op.arrival_ns = [shared = event->shared] { return shared->state->at_ns.load(std::memory_order_relaxed); };
  submit(*stream, std::move(op));
  return CUDA_SUCCESS;
}

}  // namespace simnode
