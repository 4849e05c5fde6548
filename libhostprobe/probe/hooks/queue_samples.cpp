// queue_samples.cpp: see queue_samples.h. Cold: some twenty times a second, on a launching thread, before its launch.
#include "probe/hooks/queue_samples.h"

#include <cuda.h>

#include <atomic>

#include "probe/hooks/gpu/captures.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"
#include "probe/runtime/of_process.h"

// What a sample was: duration = what asking took.
HP_ROW(kCuda, kQueueSample, hostprobe_queue_sample, "", 0, 0, "stream:hex", "empty", "", "", "")

namespace hostprobe::probe {

namespace {

using Query = CUresult (*)(CUstream);

// Of stream 0 as the legacy stream, and as the thread's own.
struct Driver {
  Query query[2];
};

enum class Known : std::uint32_t { kNotYet, kAll, kNotAll };
HP_OF_PROCESS std::atomic<Known> g_known{Known::kNotYet};
HP_OF_PROCESS Driver g_driver;
HP_OF_PROCESS std::atomic<std::int32_t> g_countdown{0};  // launches until the one that is sampled
HP_OF_PROCESS std::atomic<std::uint64_t> g_taken_ticks{0};

// Two threads may do it at the same time: they write the same.
bool driver_is_known() {
  Known known = g_known.load(std::memory_order_acquire);
  if (known != Known::kNotYet) return known == Known::kAll;
  const bool all = find_routed(g_driver.query[0], "cuStreamQuery") &&
                   find_routed(g_driver.query[1], "cuStreamQuery_ptsz") && !cannot_ask_beside_captures();
  g_known.store(all ? Known::kAll : Known::kNotAll, std::memory_order_release);
  return all;
}

// False: no answer. An error of the context's stays there, and the launch that follows gets it.
bool ask(CUstream stream, bool per_thread, bool& empty) {
  const BesideCaptures beside;
  if (!beside.may_use(stream, per_thread)) return false;
  const CUresult answer = g_driver.query[per_thread](stream);
  empty = answer == CUDA_SUCCESS;
  return empty || answer == CUDA_ERROR_NOT_READY;
}

bool take_arm() {
  std::uint32_t armed = kSampleDue;
  return __atomic_compare_exchange_n(&g_gate.recording, &armed, kEverything, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void record_sample(std::uint64_t begin, std::uint64_t end, const void* stream, bool empty) {
  write_record(g_hook_hostprobe_queue_sample, begin, end, reinterpret_cast<std::uint64_t>(stream), empty ? 1 : 0, 0);
}

}  // namespace

bool queues_cannot_be_sampled() { return g_known.load(std::memory_order_relaxed) == Known::kNotAll; }

void count_down_launches(std::uint32_t launches) {
  g_countdown.store(static_cast<std::int32_t>(launches), std::memory_order_relaxed);
}

std::uint64_t last_sample_ticks() { return g_taken_ticks.load(std::memory_order_relaxed); }

// Not in a handler that has interrupted one of our hooks: the one below finds the gate armed no more or again.
void sample_queue(const void* stream, bool per_thread) {
  ThreadLocal& t = t_local;
  if (t.filling != 0 || t.taking || capture_is_open()) return;
  if (g_countdown.fetch_sub(1, std::memory_order_relaxed) != 1 || !take_arm()) return;
  launches_first();
  const std::uint64_t begin = ticks();
  g_taken_ticks.store(begin, std::memory_order_relaxed);
  bool empty = false;
  const bool answered = driver_is_known() && ask(static_cast<CUstream>(const_cast<void*>(stream)), per_thread, empty);
  const std::uint64_t end = ticks();
  mark_used(g_hook_hostprobe_queue_sample);
  if (answered) record_sample(begin, end, stream, empty);
  count_own_ticks(ticks() - begin);
}

}  // namespace hostprobe::probe
