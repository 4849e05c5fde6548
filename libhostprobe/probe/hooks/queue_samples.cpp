// queue_samples.cpp: see queue_samples.h. Cold: some twenty times a second, on a launching thread, before its launch.
#include "probe/hooks/queue_samples.h"

#include <errno.h>

#include "probe/intercept/routes.h"
#include "probe/record/hook.h"
#include "probe/record/shelter.h"
#include "probe/runtime/of_process.h"

// What a sample was: duration = what asking took.
HP_ROW(kCuda, hostprobe_queue_sample, "", 0, 0, nullptr, "stream:hex", "empty", "", "", "")

namespace hostprobe::probe {

HP_OF_PROCESS constinit std::atomic<std::uint32_t> g_captures{0};

namespace {

using Query = CUresult (*)(CUstream);
using IsCapturing = CUresult (*)(CUstream, CUstreamCaptureStatus*);
using ExchangeMode = CUresult (*)(CUstreamCaptureMode*);

// Of stream 0 as the legacy stream, and as the thread's own.
struct Driver {
  Query query[2];
  IsCapturing is_capturing[2];
  ExchangeMode exchange_mode;
};

enum class Known : std::uint32_t { kNotYet, kAll, kNotAll };
HP_OF_PROCESS std::atomic<Known> g_known{Known::kNotYet};
HP_OF_PROCESS Driver g_driver;
HP_OF_PROCESS std::atomic<std::int32_t> g_countdown{0};  // launches until the one that is sampled
HP_OF_PROCESS std::atomic<std::uint64_t> g_taken_ticks{0};

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(routed_function(name));
  return function != nullptr;
}

// Two threads may do it at the same time: they write the same.
bool driver_is_known() {
  Known known = g_known.load(std::memory_order_acquire);
  if (known != Known::kNotYet) return known == Known::kAll;
  const bool all = find(g_driver.query[0], "cuStreamQuery") && find(g_driver.query[1], "cuStreamQuery_ptsz") &&
                   find(g_driver.is_capturing[0], "cuStreamIsCapturing") &&
                   find(g_driver.is_capturing[1], "cuStreamIsCapturing_ptsz") &&
                   find(g_driver.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  g_known.store(all ? Known::kAll : Known::kNotAll, std::memory_order_release);
  return all;
}

// Nobody else does, and no capture can begin to be harmed by it: a capture of another thread in the mode "global" forbids such
// calls to threads whose own mode is not "relaxed". What our calls do inside the driver is no wait of the program's.
class Asking {
 public:
  Asking() : errno_(errno) {
    ++t_local.muted;
    mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    relaxed_ = g_driver.exchange_mode(&mode_) == CUDA_SUCCESS;
  }
  ~Asking() {
    if (relaxed_) g_driver.exchange_mode(&mode_);
    --t_local.muted;
    errno = errno_;
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // False: no answer. An error of the context's stays there, and the launch that follows gets it.
  bool ask(CUstream stream, bool per_thread, bool& empty) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!relaxed_ || g_driver.is_capturing[per_thread](stream, &status) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_NONE)
      return false;
    const CUresult answer = g_driver.query[per_thread](stream);
    empty = answer == CUDA_SUCCESS;
    return empty || answer == CUDA_ERROR_NOT_READY;
  }

 private:
  Shelter shelter_;  // a handler's calls are recorded, after this
  int errno_;
  CUstreamCaptureMode mode_;
  bool relaxed_;
};

bool take_arm() {
  std::uint32_t armed = kSampleDue;
  return __atomic_compare_exchange_n(&g_gate.recording, &armed, kEverything, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void record_sample(std::uint64_t begin, std::uint64_t end, const void* stream, bool empty) {
  Record* r = reserve_record();
  if (r == nullptr) return;
  r->begin_ticks = begin;
  r->end_ticks = end;
  r->a = reinterpret_cast<std::uint64_t>(stream);
  r->b = empty ? 1 : 0;
  r->c = r->d = r->e = 0;
  commit_record(r, g_hook_hostprobe_queue_sample, 0, 0);
}

}  // namespace

Captured track_capture_begun(CUresult result) {
  if (result == CUDA_SUCCESS) g_captures.fetch_add(1, std::memory_order_relaxed);
  return {};
}

// One that failed on the way is over too; one that this call may not end goes on.
Captured track_capture_ended(CUresult result) {
  const bool ended = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                     result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  std::uint32_t captures = g_captures.load(std::memory_order_relaxed);
  while (ended && captures != 0 &&
         !g_captures.compare_exchange_weak(captures, captures - 1, std::memory_order_relaxed)) {
  }
  return {};
}

bool queues_cannot_be_sampled() { return g_known.load(std::memory_order_relaxed) == Known::kNotAll; }

void count_down_launches(std::uint32_t launches) {
  g_countdown.store(static_cast<std::int32_t>(launches), std::memory_order_relaxed);
}

std::uint64_t last_sample_ticks() { return g_taken_ticks.load(std::memory_order_relaxed); }

// Not in a handler that has interrupted one of our hooks: the one below finds the gate armed no more or again.
void sample_queue(const void* stream, bool per_thread) {
  ThreadLocal& t = t_local;
  if (t.filling != 0 || t.taking || g_captures.load(std::memory_order_relaxed) != 0) return;
  if (g_countdown.fetch_sub(1, std::memory_order_relaxed) != 1 || !take_arm()) return;
  const std::uint64_t begin = ticks();
  g_taken_ticks.store(begin, std::memory_order_relaxed);
  bool empty = false;
  const bool answered =
      driver_is_known() && Asking().ask(static_cast<CUstream>(const_cast<void*>(stream)), per_thread, empty);
  const std::uint64_t end = ticks();
  mark_used(g_hook_hostprobe_queue_sample);
  if (answered) record_sample(begin, end, stream, empty);
  if (t.entry != nullptr) t.entry->own_ticks += ticks() - begin;
}

}  // namespace hostprobe::probe
