// gpu_ends.cpp: see gpu_ends.h. Cold: some hundred times a second, on a thread that has just put work into a stream.
//
// Threads meet in a pool's slots only: each slot is taken, used and given back by atomic steps. One thread at a time prepares a pool.
#include "probe/hooks/gpu/gpu_ends.h"

#include <sys/mman.h>

#include "probe/hooks/gpu/captures.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/tick_rate.h"

// Work that was timed, when its event was read.
// `base`: its number in bits 0-31; in 32-63 how many ticks after launch_ticks the event was in the stream. Of two for one call the second tells
// what an event takes of its stream.
HP_ROW(kCuda, kGpuEnd, hostprobe_gpu_end, "", 0, 0, "launch_ticks", "device_ns", "base", "stream:hex", "launch_tid")
// An event from which others are measured; it was reached between the two. `base`: its number in bits 0-31; in 32-63 how many ticks before the
// later one the call had returned that put it into its stream, which was empty.
HP_ROW(kCuda, kGpuClock, hostprobe_gpu_clock, "", 0, 0, "base", "earliest_ticks", "latest_ticks", "since_ns", "device")

namespace hostprobe::probe {
namespace {

struct StreamDriver {
  CUresult (*create)(CUstream*, unsigned);
  CUresult (*context[2])(CUstream, CUcontext*);  // the second: stream 0 is the thread's own
};

enum class Known : std::uint32_t { kNotYet, kAll, kNotAll };
enum class Use : std::uint32_t { kFree, kTaken, kPending };

// One timed piece of work.
struct End {
  std::atomic<Use> use;
  std::uint32_t base;  // its place among the pool's
  CUevent event;
  CUstream stream;
  std::uint64_t launch_ticks, launch_tid;
  std::uint32_t behind_ticks;  // from the call's begin until the event was recorded
};

struct Base {
  CUevent event;
  std::uint64_t number;  // 0: nothing was recorded into it
  std::uint64_t earliest_ticks, recorded_ticks, since_ns;
  bool reached;
};

constexpr unsigned kPools = 8, kBases = 4;
constexpr std::uint32_t kMostEnds = 4 * (kStretch + 1);
constexpr std::uint64_t kPollUs = 20;            // for a new base
constexpr std::uint64_t kBaseUs = 1000000;       // then a new one: milliseconds are floats
constexpr std::uint64_t kFirstBaseUs = 100000;   // the second one: two clocks drift apart in short programs too
constexpr std::uint64_t kStuckUs = 10000000;     // what has not been reached by then
constexpr std::uint64_t kLookAgainUs = 1000000;  // is looked at so seldom

struct Pool : ContextPool {
  std::atomic<bool> preparing;
  std::atomic<bool> failed;             // the driver refused something: it is left alone
  std::atomic<std::uint32_t> prepared;  // the newest stretch that it was prepared for
  std::atomic<std::uint32_t> timed;     // the newest whose work is timed
  std::atomic<std::uint32_t> base;
  std::atomic<std::uint32_t> next;  // where a free slot is looked for first
  std::uint32_t number;
  std::uint32_t made;  // slots that have an event
  CUstream stream;     // our own, for bases
  std::uint64_t stuck_ticks, first_base_ticks;
  Base bases[kBases];
  End* ends;  // kMostEnds; what a child inherits of them is never used
};

HP_OF_PROCESS constinit Pool g_pools[kPools]{};
HP_OF_PROCESS StreamDriver g_driver;
HP_OF_PROCESS std::atomic<Known> g_known{Known::kNotYet};
HP_OF_PROCESS std::atomic<std::int32_t> g_left{0};  // calls until the stretch is over
HP_OF_PROCESS std::atomic<std::uint32_t> g_stretch{0};
HP_OF_PROCESS std::atomic<std::uint32_t> g_contexts{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_bases{0};
HP_OF_PROCESS std::atomic<std::uint64_t> g_spent_ticks{0}, g_last_ticks{0};

// Two threads may do it at the same time: they write the same.
bool driver_is_known() {
  const Known known = g_known.load(std::memory_order_acquire);
  if (known != Known::kNotYet) return known == Known::kAll;
  const bool all = context_driver_is_known() && find_routed(g_driver.create, "cuStreamCreate") &&
                   find_routed(g_driver.context[0], "cuStreamGetCtx") &&
                   find_routed(g_driver.context[1], "cuStreamGetCtx_ptsz");
  g_known.store(all ? Known::kAll : Known::kNotAll, std::memory_order_release);
  return all;
}

std::uint64_t nanoseconds(float milliseconds) {
  return milliseconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

// ---- what is recorded: where signal handlers may run again, because a record may need a new chunk -------------------------------

struct ToldEnd {
  std::uint64_t launch_ticks, device_ns, base, stream, launch_tid;
};

struct Told {
  static constexpr unsigned kMost = kStretch + kStretch / 2;
  ToldEnd ends[kMost];
  unsigned count = 0;
  bool has_base = false;
  std::uint64_t base = 0, earliest_ticks = 0, latest_ticks = 0, since_ns = 0, device = 0;

  bool is_full() const { return count == kMost; }
  void add(const End& end, const Base& from, float milliseconds) {
    ends[count++] = {end.launch_ticks, nanoseconds(milliseconds),
                     (from.number & 0xffffffff) | std::uint64_t{end.behind_ticks} << 32,
                     reinterpret_cast<std::uint64_t>(end.stream), end.launch_tid};
  }
  void add(const Pool& pool, const Base& from, std::uint64_t not_yet, std::uint64_t latest) {
    has_base = true;
    const std::uint64_t waited = latest > from.recorded_ticks ? latest - from.recorded_ticks : 0;
    base = (from.number & 0xffffffff) | (waited < UINT32_MAX ? waited : 0) << 32;
    earliest_ticks = not_yet != 0 ? not_yet : from.earliest_ticks, latest_ticks = latest, since_ns = from.since_ns;
    device = static_cast<std::uint32_t>(pool.device) | std::uint64_t{pool.number} << 32;
  }
  // As of the begin of the call in which they were read: its own record comes behind them, with the marks that are its own.
  void record(std::uint64_t at) const {
    const std::uint32_t marks = t_local.lap_and_mark & 0xffff0000;
    t_local.lap_and_mark &= 0xffff;
    if (has_base) {
      write_record(g_hook_hostprobe_gpu_clock, at, at, base, earliest_ticks, latest_ticks, since_ns, device);
      mark_used(g_hook_hostprobe_gpu_clock);
    }
    for (unsigned i = 0; i < count; ++i) {
      const ToldEnd& e = ends[i];
      write_record(g_hook_hostprobe_gpu_end, at, at, e.launch_ticks, e.device_ns, e.base, e.stream, e.launch_tid);
    }
    if (count != 0) mark_used(g_hook_hostprobe_gpu_end);
    t_local.lap_and_mark |= marks;
  }
};

// ---- pools --------------------------------------------------------------------------------------------------------------------

// Some more, where few are free. What cannot be had is done without.
bool make_ends(Pool& pool) {
  for (const std::uint32_t most = pool.made + kStretch + 1; pool.made < most && pool.made < kMostEnds; ++pool.made)
    if (g_context_driver.create(&pool.ends[pool.made].event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return false;
  return true;
}

bool have_slots(Pool& pool) {
  if (pool.ends != nullptr) return true;
  const long at = system_call_of_six(SYS_mmap, 0, kMostEnds * sizeof(End), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 && at > -4096) return false;
  pool.ends = reinterpret_cast<End*>(at);
  return true;
}

bool make_pool(Pool& pool) {
  if (!have_slots(pool) || g_driver.create(&pool.stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return false;
  for (Base& base : pool.bases)
    if (g_context_driver.create(&base.event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return false;
  pool.number = g_contexts.fetch_add(1, std::memory_order_relaxed) + 1;
  return make_ends(pool);
}

void forget(Pool& pool) {
  for (std::uint32_t i = 0; pool.ends != nullptr && i < kMostEnds; ++i)
    pool.ends[i].use.store(Use::kFree, std::memory_order_relaxed);
  for (Base& base : pool.bases) base = {};
  pool.made = 0;
  pool.stream = nullptr;
  pool.base.store(0, std::memory_order_relaxed);
  pool.prepared.store(0, std::memory_order_relaxed);
  pool.timed.store(0, std::memory_order_relaxed);
  pool.failed.store(false, std::memory_order_relaxed);
}

bool may_be_zero(const void* stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// A stream may be of another context than the current one, where nothing of ours can be made.
bool is_of(const Pool& pool, CUstream stream, bool per_thread) {
  CUcontext context = nullptr;
  return may_be_zero(stream) ||
         (g_driver.context[per_thread](stream, &context) == CUDA_SUCCESS && context == pool.context);
}

// ---- bases --------------------------------------------------------------------------------------------------------------------

bool is_measured_from(const Pool& pool, std::uint32_t base) {
  for (std::uint32_t i = 0; i < pool.made; ++i) {
    const Use use = pool.ends[i].use.load(std::memory_order_acquire);
    if (use == Use::kTaken || (use == Use::kPending && pool.ends[i].base == base)) return true;
  }
  return false;
}

// `latest`: of now, where it is looked at at once.
void look_at_base(Pool& pool, std::uint32_t place, bool at_once, Told& told) {
  Base& base = pool.bases[place];
  const Base& before = pool.bases[(place + kBases - 1) % kBases];
  const std::uint64_t until = base.earliest_ticks + ticks_of(kPollUs);
  CUresult state;
  std::uint64_t asked = ticks(), not_yet = 0;
  while ((state = g_context_driver.query(base.event)) == CUDA_ERROR_NOT_READY && at_once && asked < until) {
    not_yet = asked;
    asked = ticks();
  }
  const std::uint64_t latest = at_once ? ticks() : 0;
  float milliseconds = 0;
  if (state == CUDA_SUCCESS && before.number != 0)
    state = g_context_driver.elapsed(&milliseconds, before.event, base.event);
  if (state == CUDA_ERROR_NOT_READY) return;
  if (state != CUDA_SUCCESS) return pool.failed.store(true, std::memory_order_relaxed);
  base.since_ns = nanoseconds(milliseconds);
  base.reached = true;
  told.add(pool, base, not_yet, latest);
}

void renew_base(Pool& pool, Told& told) {
  const std::uint32_t now = pool.base.load(std::memory_order_relaxed);
  const bool first = pool.bases[now].number == 0;
  const std::uint32_t place = first ? now : (now + 1) % kBases;
  if (is_measured_from(pool, place)) return;
  Base& base = pool.bases[place];
  base.reached = false;
  base.number = g_bases.fetch_add(1, std::memory_order_relaxed) + 1;
  base.earliest_ticks = ticks();
  if (first) pool.first_base_ticks = base.earliest_ticks;
  if (g_context_driver.record[0](base.event, pool.stream) != CUDA_SUCCESS)
    return pool.failed.store(true, std::memory_order_relaxed);
  base.recorded_ticks = ticks();
  pool.base.store(place, std::memory_order_release);
  look_at_base(pool, place, true, told);
}

// Each time twice as long.
std::uint64_t base_interval(const Pool& pool, const Base& newest) {
  const std::uint64_t age = newest.earliest_ticks - pool.first_base_ticks + ticks_of(kFirstBaseUs);
  return age < ticks_of(kBaseUs) ? age : ticks_of(kBaseUs);
}

void tend_base(Pool& pool, Told& told) {
  const Base& base = pool.bases[pool.base.load(std::memory_order_relaxed)];
  if (base.number != 0 && !base.reached)
    look_at_base(pool, pool.base.load(std::memory_order_relaxed), false, told);
  else if (base.number == 0 || ticks() - base.earliest_ticks > base_interval(pool, base))
    renew_base(pool, told);
}

// ---- reading ------------------------------------------------------------------------------------------------------------------

// Streams that have not come to some event yet: nor have they to later ones.
struct Behind {
  static constexpr unsigned kMost = 8;
  CUstream streams[kMost];
  unsigned count = 0;
  bool has(CUstream stream) const {
    for (unsigned i = 0; i < count && i < kMost; ++i)
      if (streams[i] == stream) return true;
    return false;
  }
  void add(CUstream stream) { streams[count++ % kMost] = stream; }
};

// False: the driver refuses.
bool read_end(Pool& pool, End& end, Behind& behind, Told& told) {
  Use pending = Use::kPending;
  if (!end.use.compare_exchange_strong(pending, Use::kTaken, std::memory_order_acq_rel)) return true;
  float milliseconds = 0;
  const Base& base = pool.bases[end.base];
  const CUresult state = g_context_driver.elapsed(&milliseconds, base.event, end.event);
  if (state == CUDA_SUCCESS) told.add(end, base, milliseconds);
  if (state == CUDA_ERROR_NOT_READY) behind.add(end.stream);
  end.use.store(state == CUDA_ERROR_NOT_READY ? Use::kPending : Use::kFree, std::memory_order_release);
  return state == CUDA_SUCCESS || state == CUDA_ERROR_NOT_READY;
}

void read_ends(Pool& pool, Told& told) {
  const std::uint64_t now = ticks(), stuck = ticks_of(kStuckUs);
  const bool all = now - pool.stuck_ticks > ticks_of(kLookAgainUs);
  if (all) pool.stuck_ticks = now;
  Behind behind;
  const std::uint32_t first = pool.next.load(std::memory_order_relaxed);  // where the oldest are
  for (std::uint32_t i = 0; i < pool.made && !told.is_full(); ++i) {
    End& end = pool.ends[(first + i) % pool.made];
    if (end.use.load(std::memory_order_relaxed) != Use::kPending || behind.has(end.stream)) continue;
    if (!all && now - end.launch_ticks > stuck) continue;
    if (!read_end(pool, end, behind, told)) return pool.failed.store(true, std::memory_order_relaxed);
  }
}

std::uint32_t free_ends(const Pool& pool) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < pool.made; ++i) count += pool.ends[i].use.load(std::memory_order_relaxed) == Use::kFree;
  return count;
}

// Once per stretch and context, by the first thread that comes. Its call is not timed: this takes long enough for a stream to run empty.
void prepare(Pool& pool, std::uint32_t stretch, Told& told) {
  if (pool.preparing.exchange(true, std::memory_order_acquire)) return;
  read_ends(pool, told);
  if (!pool.failed.load(std::memory_order_relaxed)) tend_base(pool, told);
  if (free_ends(pool) < kStretch && pool.made < kMostEnds && !pool.failed.load(std::memory_order_relaxed))
    if (!make_ends(pool)) pool.failed.store(true, std::memory_order_relaxed);
  if (free_ends(pool) >= kStretch && pool.bases[pool.base.load(std::memory_order_relaxed)].reached)
    pool.timed.store(stretch, std::memory_order_release);
  pool.prepared.store(stretch, std::memory_order_release);
  pool.preparing.store(false, std::memory_order_release);
}

// ---- one call -----------------------------------------------------------------------------------------------------------------

// nullptr: all are in use.
End* take_end(Pool& pool) {
  for (std::uint32_t tried = 0; tried < pool.made; ++tried) {
    End& end = pool.ends[pool.next.fetch_add(1, std::memory_order_relaxed) % pool.made];
    Use unused = Use::kFree;
    if (end.use.compare_exchange_strong(unused, Use::kTaken, std::memory_order_acq_rel)) return &end;
  }
  return nullptr;
}

struct Enqueueing {
  CUstream stream;
  bool per_thread;
  std::uint64_t begin_ticks;
  unsigned events;  // that it gets
};

void time_end(Pool& pool, const Enqueueing& call) {
  End* end = take_end(pool);
  if (end == nullptr) return;
  end->base = pool.base.load(std::memory_order_acquire);
  end->stream = call.stream;
  end->launch_ticks = call.begin_ticks;
  end->launch_tid = t_local.tid | std::uint64_t{call.per_thread} << 32;
  const bool recorded = g_context_driver.record[call.per_thread](end->event, call.stream) == CUDA_SUCCESS;
  if (!recorded) pool.failed.store(true, std::memory_order_relaxed);
  const std::uint64_t behind_ticks = ticks() - call.begin_ticks;
  end->behind_ticks = static_cast<std::uint32_t>(behind_ticks < UINT32_MAX ? behind_ticks : UINT32_MAX);
  end->use.store(recorded ? Use::kPending : Use::kFree, std::memory_order_release);
}

// True: the context of the call was met for the first time, and what it needs was made.
bool time_or_prepare(const Enqueueing& call, Told& told) {
  const BesideCaptures beside;
  if (!beside.may_use(call.stream, call.per_thread)) return false;
  const std::uint32_t stretch = g_stretch.load(std::memory_order_relaxed),
                      contexts = g_contexts.load(std::memory_order_relaxed);
  Pool* pool = pool_of_current(g_pools, make_pool);
  if (pool == nullptr || pool->failed.load(std::memory_order_relaxed) || !is_of(*pool, call.stream, call.per_thread))
    return false;
  if (pool->timed.load(std::memory_order_acquire) == stretch)
    for (unsigned i = 0; i < call.events; ++i) time_end(*pool, call);
  else if (pool->prepared.load(std::memory_order_acquire) != stretch)
    prepare(*pool, stretch, told);
  return contexts != g_contexts.load(std::memory_order_relaxed);
}

// Not in a handler that has interrupted one of our hooks, and not while launches wait for a thread of ours to submit them: they are in
// no stream yet.
void count_down(Enqueueing call) {
  ThreadLocal& t = t_local;
  if (t.filling != 0 || t.taking || t.muted != 0 || t.entry == nullptr || launch_bits() != 0) return;
  const std::int32_t left = g_left.fetch_sub(1, std::memory_order_relaxed);
  if (left > static_cast<std::int32_t>(kStretch) + 1) return;
  if (left == static_cast<std::int32_t>(kStretch)) call.events = 2;
  const std::uint64_t begin = ticks();
  Told told;
  const bool first = left > 0 && driver_is_known() && time_or_prepare(call, told);
  told.record(call.begin_ticks);
  const std::uint64_t end = ticks();
  count_own_ticks(end - begin);
  if (!first) g_spent_ticks.fetch_add(end - begin, std::memory_order_relaxed);
  if (left > 1) return;
  g_last_ticks.store(end, std::memory_order_relaxed);
  close_stretch();
}

}  // namespace

void open_stretch(std::uint32_t let_by) {
  g_left.store(static_cast<std::int32_t>(let_by + 1 + kStretch), std::memory_order_relaxed);
  // 0 stands for none.
  if (g_stretch.fetch_add(1, std::memory_order_relaxed) == UINT32_MAX) g_stretch.store(1, std::memory_order_relaxed);
  __atomic_fetch_or(&g_gate.captures, kStretchOpen, __ATOMIC_RELEASE);
}

bool stretch_is_open() { return (__atomic_load_n(&g_gate.captures, __ATOMIC_RELAXED) & kStretchOpen) != 0; }
void close_stretch() { __atomic_fetch_and(&g_gate.captures, ~kStretchOpen, __ATOMIC_RELAXED); }
std::uint64_t take_stretch_ticks() { return g_spent_ticks.exchange(0, std::memory_order_relaxed); }
std::uint64_t last_stretch_ticks() { return g_last_ticks.load(std::memory_order_relaxed); }
bool gpu_ends_cannot_be_timed() { return g_known.load(std::memory_order_relaxed) == Known::kNotAll; }
void forget_gpu_ends(const GoneContext& gone) { forget_pools(g_pools, gone, forget); }

void look_at_enqueued(WorkQueue work, std::uint64_t begin_ticks) {
  if (capture_is_open()) {
    if (work.what != Enqueued::kTransfer) mark_captured(work.stream, work.per_thread);
  } else if (work.what != Enqueued::kCallback) {
    count_down({static_cast<CUstream>(const_cast<void*>(work.stream)), work.per_thread, begin_ticks, 1});
  }
}

}  // namespace hostprobe::probe
