// watched_threads.cpp: see watched_threads.h.
#include "probe/sources/watched_threads.h"

#include <string.h>
#include <unistd.h>

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/safe_memory.h"

namespace hostprobe::probe {
namespace {

constexpr std::uint32_t kEntriesARound = 256;
constexpr std::uint64_t kRunsNs =
    2500000;  // in a quarter of a second: one that uses a hundredth of a CPU is worth a look
HP_KEPT_BY_CHILDREN std::uint64_t
    g_cpu_ns[kThreads];  // of each thread entry, a round ago; another process's do no harm
HP_OF_RECORDING std::uint32_t g_next_entry = 0;

Watched* watched_of(const Watched* all, const ThreadEntry& entry) {
  for (unsigned i = 0; i < kWatchedThreads; ++i)
    if (all[i].entry != 0 && all[i].tid == entry.tid && all[i].start_ticks == entry.start_ticks)
      return const_cast<Watched*>(&all[i]);
  return nullptr;
}

// Into its place among those that used most, behind the main thread.
void insert(Watched* all, const Watched& one, std::uint32_t main_tid) {
  for (unsigned i = 0; i < kWatchedThreads; ++i) {
    const bool is_before = all[i].tid == main_tid || (one.tid != main_tid && all[i].used_ns >= one.used_ns);
    if (all[i].entry != 0 && is_before) continue;
    memmove(all + i + 1, all + i, (kWatchedThreads - 1 - i) * sizeof *all);
    all[i] = one;
    return;
  }
}

void consider(std::uint32_t index, const Watched* before, Watched* after, std::uint32_t main_tid) {
  const ThreadEntry& entry = g_segment.threads[index];
  if (!is_recorded(entry) || entry.tid == static_cast<std::uint32_t>(own_thread())) return;
  const std::uint64_t now_ns = cpu_ns_of(entry.tid), then_ns = g_cpu_ns[index];
  g_cpu_ns[index] = now_ns;
  if (now_ns < then_ns + kRunsNs) return;
  const std::uint64_t since_ns =
      then_ns == 0 ? now_ns : then_ns;  // of what a thread did before it was known nothing can be told
  Watched one{index + 1, entry.tid, entry.start_ticks, now_ns - then_ns, now_ns, since_ns, 0, {entry.tid, 0, 0}, 0};
  if (const Watched* same = watched_of(before, entry)) {
    one = *same;
    one.used_ns = now_ns - then_ns;
  }
  insert(after, one, main_tid);
}

}  // namespace

HP_OF_RECORDING Watched g_watched[kWatchedThreads];

bool is_recorded(const ThreadEntry& entry) {
  return __atomic_load_n(&entry.state, __ATOMIC_ACQUIRE) == kThreadLive && entry.tid != 0;
}

void choose_watched_threads() {
  Watched chosen[kWatchedThreads] = {};
  const std::uint32_t all = threads_used(), most = all < kEntriesARound ? all : kEntriesARound;
  const auto main_tid = static_cast<std::uint32_t>(getpid());
  for (std::uint32_t i = 0; i < most; ++i) consider((g_next_entry + i) % all, g_watched, chosen, main_tid);
  g_next_entry = all <= kEntriesARound ? 0 : (g_next_entry + most) % all;
  memcpy(g_watched, chosen, sizeof g_watched);
}

std::uint32_t watched_thread(unsigned number) { return g_watched[number].entry == 0 ? 0 : g_watched[number].tid; }

}  // namespace hostprobe::probe
