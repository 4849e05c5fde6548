// gpu_times.cpp: see gpu_times.h. Cold: some twenty times a second, on a thread that calls a collective.
#include "probe/hooks/gpu_times.h"

#include "probe/hooks/gpu/captures.h"
#include "probe/record/hook.h"
#include "probe/runtime/of_process.h"

// What was timed, where its time was read: duration = what asking took. The events and the pauses round the work are timed with it,
// and where the stream was empty the call too: gpu_ns is never less than the truth, and too long by slack_ns at most.
HP_ROW(kCuda, kGpuTime, hostprobe_gpu_time, "", 0, 0, "comm:hex", "gpu_ns", "slack_ns", "sequence", "stream:hex")

namespace hostprobe::probe {

HP_OF_PROCESS constinit std::atomic<std::uint64_t> g_gpu_time_interval_ns{0};
HP_OF_PROCESS constinit std::atomic<std::uint32_t> g_gpu_times_open{0};

namespace {

enum class Use : std::uint32_t { kFree, kTaken, kOpen, kPending };

// One timed collective.
struct Timed {
  std::atomic<Use> use;
  std::uint32_t tid;  // of the thread that calls it, while it is open
  CUevent begin, end;
  CUstream stream;
  std::uint64_t communicator;
  std::uint32_t sequence;
  bool behind_work;  // the stream was not empty when it was opened
  std::uint64_t begin_ns, slack_ns;
};

constexpr unsigned kPools = 8, kPairs = 8;
struct Pool : ContextPool {
  Timed pairs[kPairs];
};

HP_OF_PROCESS constinit Pool g_pools[kPools]{};
// One in mask + 1 collectives is timed, the same ones on all ranks: those of a larger mask are among those of a smaller one.
constexpr std::uint32_t kFirstMask = 15, kLargestMask = (1u << 20) - 1;
HP_OF_PROCESS std::atomic<std::uint32_t> g_mask{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_last_ns{0};

// As often as wanted, whatever the pace: more of them, or fewer, by powers of two.
void adapt(std::uint64_t now_ns) {
  const std::uint64_t interval_ns = g_gpu_time_interval_ns.load(std::memory_order_relaxed);
  const std::uint64_t since_ns = now_ns - g_last_ns.exchange(now_ns, std::memory_order_relaxed);
  std::uint32_t mask = g_mask.load(std::memory_order_relaxed);
  if (since_ns < interval_ns / 2 && mask < kLargestMask)
    mask = mask * 2 + 1;
  else if (since_ns > 2 * interval_ns)
    mask /= 2;
  g_mask.store(mask, std::memory_order_relaxed);
}

bool is_drawn(const NcclOperation& next) {
  if (next.sequence == 0) return false;
  if (g_last_ns.load(std::memory_order_relaxed) == 0) {
    g_last_ns.store(read_clock_ns(CLOCK_MONOTONIC), std::memory_order_relaxed);
    g_mask.store(kFirstMask, std::memory_order_relaxed);
  }
  const std::uint64_t drawn = (next.member.id ^ next.sequence) * 0x9e3779b97f4a7c15u >> 40;
  return (drawn & g_mask.load(std::memory_order_relaxed)) == 0;
}

bool make_events(Pool& pool) {
  for (Timed& timed : pool.pairs)
    if (g_context_driver.create(&timed.begin, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
        g_context_driver.create(&timed.end, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
      return false;
  return true;
}

// What pairs have told. Recorded where signal handlers may run again: a record may need a new chunk.
struct Told {
  Record records[kPairs];
  unsigned count = 0;

  void add(const Timed& timed, float milliseconds) {
    Record& r = records[count++];
    r.a = timed.communicator;
    r.b = static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
    r.c = timed.slack_ns;
    r.d = timed.sequence;
    r.e = reinterpret_cast<std::uint64_t>(timed.stream);
  }
  void record(std::uint64_t begin) const {
    for (unsigned i = 0; i < count; ++i) {
      const Record& r = records[i];
      write_record(g_hook_hostprobe_gpu_time, begin, ticks(), r.a, r.b, r.c, r.d, r.e);
    }
  }
};

void read_pending(Pool& pool, Told& told) {
  for (Timed& timed : pool.pairs) {
    Use pending = Use::kPending;
    if (!timed.use.compare_exchange_strong(pending, Use::kTaken, std::memory_order_acq_rel)) continue;
    float milliseconds = 0;
    const CUresult state = g_context_driver.query(timed.end);
    if (state == CUDA_SUCCESS && g_context_driver.elapsed(&milliseconds, timed.begin, timed.end) == CUDA_SUCCESS)
      told.add(timed, milliseconds);
    timed.use.store(state == CUDA_ERROR_NOT_READY ? Use::kPending : Use::kFree, std::memory_order_release);
  }
}

// nullptr: all are in use.
Timed* take_pair(Pool& pool) {
  for (Timed& timed : pool.pairs) {
    Use unused = Use::kFree;
    if (timed.use.compare_exchange_strong(unused, Use::kTaken, std::memory_order_acq_rel)) return &timed;
  }
  return nullptr;
}

// That this thread has open; nullptr: it has none.
Timed* own_pair() {
  for (Pool& pool : g_pools)
    for (Timed& timed : pool.pairs)
      if (timed.use.load(std::memory_order_acquire) == Use::kOpen && timed.tid == t_local.tid) return &timed;
  return nullptr;
}

void open_pair(Pool& pool, const NcclOperation& next, CUstream stream) {
  Timed* timed = take_pair(pool);
  if (timed == nullptr) return;
  timed->tid = t_local.tid;
  timed->stream = stream;
  timed->communicator = next.member.id;
  timed->sequence = next.sequence;
  timed->begin_ns = read_clock_ns(CLOCK_MONOTONIC);
  timed->behind_work = g_context_driver.query_stream(stream) == CUDA_ERROR_NOT_READY;
  const bool recorded = g_context_driver.record[0](timed->begin, stream) == CUDA_SUCCESS;
  if (recorded) g_gpu_times_open.fetch_add(1, std::memory_order_relaxed);
  timed->use.store(recorded ? Use::kOpen : Use::kFree, std::memory_order_release);
}

// The events themselves and the pause behind the first one, some tenths of a microsecond each, and the ticks of the device's clock.
constexpr std::uint64_t kRoundWorkNs = 2000;
// The longest that an event without work before it is on its way to the GPU, as what follows it is.
constexpr std::uint64_t kOnTheWayNs = 5000;

// From the first event until the collective had been enqueued, at most.
std::uint64_t before_work_ns(const Timed& timed) {
  const bool reached = g_context_driver.query(timed.begin) != CUDA_ERROR_NOT_READY;
  const std::uint64_t call_ns = read_clock_ns(CLOCK_MONOTONIC) - timed.begin_ns;
  if (reached) return call_ns;
  // What was there before it is still at work; or the stream was empty.
  if (timed.behind_work) return 0;
  return call_ns < kOnTheWayNs ? call_ns : kOnTheWayNs;
}

// Another call than the one that was drawn, or one that failed, is not timed.
bool close_pair(Timed& timed, const NcclOperation& operation) {
  const BesideCaptures beside;
  if (capture_is_open() || operation.sequence != timed.sequence || operation.member.id != timed.communicator ||
      !beside.may_use(timed.stream, false))
    return false;
  timed.slack_ns = kRoundWorkNs + before_work_ns(timed);
  return g_context_driver.record[0](timed.end, timed.stream) == CUDA_SUCCESS;
}

}  // namespace

void begin_gpu_time_now(const void* communicator, const void* stream) {
  ThreadLocal& t = t_local;
  if (!recording() || t.filling != 0 || t.taking || t.entry == nullptr || t.nccl_depth != 0 || capture_is_open())
    return;
  const NcclOperation next = next_collective(communicator);
  if (!is_drawn(next)) return;
  const std::uint64_t begin = ticks();
  Told told;
  adapt(read_clock_ns(CLOCK_MONOTONIC));
  if (context_driver_is_known()) {
    const BesideCaptures beside;
    Pool* pool = beside.may_use(stream, false) ? pool_of_current(g_pools, make_events) : nullptr;
    if (pool != nullptr) {
      read_pending(*pool, told);
      open_pair(*pool, next, static_cast<CUstream>(const_cast<void*>(stream)));
    }
  }
  told.record(begin);
  mark_used(g_hook_hostprobe_gpu_time);
  count_own_ticks(ticks() - begin);
}

void end_gpu_time_now(const NcclOperation& operation) {
  const std::uint64_t begin = ticks();
  Timed* timed = own_pair();
  if (timed == nullptr) return;
  g_gpu_times_open.fetch_sub(1, std::memory_order_relaxed);
  const bool closed = close_pair(*timed, operation);
  timed->use.store(closed ? Use::kPending : Use::kFree, std::memory_order_release);
  count_own_ticks(ticks() - begin);
}

void forget_gpu_times(const GoneContext& gone) {
  forget_pools(g_pools, gone, [](Pool& pool) {
    for (Timed& timed : pool.pairs) timed.use.store(Use::kFree, std::memory_order_relaxed);
  });
}

}  // namespace hostprobe::probe
