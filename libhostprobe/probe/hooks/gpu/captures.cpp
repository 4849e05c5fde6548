// captures.cpp: see captures.h. Cold: runs while graphs are captured.
#include "probe/hooks/gpu/captures.h"

#include <errno.h>

#include <atomic>

#include "format/record.h"
#include "probe/intercept/routes.h"
#include "probe/record/doors.h"
#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

using IsCapturing = CUresult (*)(CUstream, CUstreamCaptureStatus*);

// Of stream 0 as the legacy stream, and as the thread's own. Two threads may look them up at the same time: they find the same.
HP_OF_PROCESS std::atomic<IsCapturing> g_is_capturing[2];

IsCapturing is_capturing(bool per_thread) {
  std::atomic<IsCapturing>& known = g_is_capturing[per_thread];
  if (IsCapturing function = known.load(std::memory_order_relaxed)) return function;
  auto found =
      reinterpret_cast<IsCapturing>(routed_function(per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing"));
  known.store(found, std::memory_order_relaxed);
  return found;
}

// The legacy stream is never captured, and says nothing of itself while a stream that blocks it is.
bool is_legacy(const void* stream, bool per_thread) {
  return stream == CU_STREAM_LEGACY || (stream == nullptr && !per_thread);
}

using ExchangeMode = CUresult (*)(CUstreamCaptureMode*);
HP_OF_PROCESS std::atomic<ExchangeMode> g_exchange_mode{nullptr};

ExchangeMode exchange_mode() {
  if (ExchangeMode function = g_exchange_mode.load(std::memory_order_relaxed)) return function;
  auto found = reinterpret_cast<ExchangeMode>(routed_function("cuThreadExchangeStreamCaptureMode"));
  g_exchange_mode.store(found, std::memory_order_relaxed);
  return found;
}

bool takes(const void* stream, bool per_thread) {
  const IsCapturing ask = is_legacy(stream, per_thread) ? nullptr : is_capturing(per_thread);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask != nullptr && ask(static_cast<CUstream>(const_cast<void*>(stream)), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

BesideCaptures::BesideCaptures() : errno_(errno) {
  ++t_local.muted;
  const ExchangeMode exchange = exchange_mode();
  relaxed_ = exchange != nullptr && exchange(&mode_) == CUDA_SUCCESS;
}

BesideCaptures::~BesideCaptures() {
  if (relaxed_) exchange_mode()(&mode_);
  --t_local.muted;
  errno = errno_;
}

bool BesideCaptures::may_use(const void* stream, bool per_thread) const {
  const IsCapturing ask = is_capturing(per_thread);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return relaxed_ && ask != nullptr && ask(static_cast<CUstream>(const_cast<void*>(stream)), &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE;
}

bool cannot_ask_beside_captures() {
  return exchange_mode() == nullptr || is_capturing(false) == nullptr || is_capturing(true) == nullptr;
}

Captured track_capture_begun(CUresult result) {
  if (result == CUDA_SUCCESS) __atomic_fetch_add(&g_gate.captures, 1, __ATOMIC_RELAXED);
  return {};
}

// One that failed on the way is over too; one that this call may not end goes on.
Captured track_capture_ended(CUresult result) {
  const bool ended = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                     result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  std::uint32_t open = __atomic_load_n(&g_gate.captures, __ATOMIC_RELAXED);
  while (ended && captures_in(open) != 0 &&
         !__atomic_compare_exchange_n(&g_gate.captures, &open, open - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return {};
}

void mark_captured(const void* stream, bool per_thread) {
  const std::uint64_t begin = ticks();
  const bool taken = takes(stream, per_thread);
  if (ThreadEntry* entry = t_local.entry) entry->own_ticks += ticks() - begin;
  if (taken) t_local.lap_and_mark |= std::uint32_t{kRecordCaptured} << 16;
}

}  // namespace hostprobe::probe
