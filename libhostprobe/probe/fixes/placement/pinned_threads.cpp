// pinned_threads.cpp: see pinned_threads.h.
#include "probe/fixes/placement/pinned_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "probe/fixes/placement/machine.h"
#include "probe/fixes/row/hook_by_name.h"
#include "probe/hooks/thread_begin.h"
#include "probe/record/progress.h"
#include "probe/record/replaced.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"

namespace hostprobe::probe {
namespace {

// One after the other; a reader is done with one long before it is used again.
HP_KEPT_BY_CHILDREN PinnedMasks g_slots[4];
HP_KEPT_BY_CHILDREN unsigned g_next_slot = 0;
HP_KEPT_BY_CHILDREN std::atomic<const PinnedMasks*> g_published{nullptr};
// Which thread has which progress CPU. The writer's.
HP_OF_PROCESS int g_progress_tids[kMostProgress]{};

// 0: the calling one.
bool is_ours(int tid) { return tid == 0 || is_own_thread(tid); }

// Threads with a mask of the program's own, which may be the same as one of ours. Where there are more, the mask alone tells.
constexpr unsigned kMostOwn = 256;
HP_OF_PROCESS std::atomic<int> g_own_tids[kMostOwn]{};

void add_own(int tid) {
  if (has_own_mask(tid)) return;
  for (std::atomic<int>& entry : g_own_tids) {
    int none = 0;
    if (entry.compare_exchange_strong(none, tid, std::memory_order_acq_rel)) return;
  }
}

void remove_own(int tid) {
  for (std::atomic<int>& entry : g_own_tids) {
    int expected = tid;
    entry.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  }
}

void forget_ended() {
  for (std::atomic<int>& entry : g_own_tids)
    if (const int tid = entry.load(std::memory_order_relaxed); tid != 0 && !is_ours(tid)) remove_own(tid);
}

// The program has set a mask. One that is what it was told before is none of its own: that is how libraries put masks back.
void note_set(int tid, std::size_t bytes, const void* cpus) {
  const PinnedMasks* masks = published_masks();
  if (masks == nullptr || !is_ours(tid)) return;
  if (tid == 0) tid = own_task();
  CpuSet set{};
  memcpy(&set, cpus, bytes < sizeof set ? bytes : sizeof set);
  masks->base.without(set).empty() ? remove_own(tid) : add_own(tid);
}

// On the new thread, before its first instruction of the program's.
void begin_thread() {
  const PinnedMasks* masks = published_masks();
  CpuSet mask;
  if (masks == nullptr || cpus_of_thread(0, mask) != 0) return;
  if (mask == masks->main || masks->gave(mask, masks->base)) set_cpus_of_thread(0, masks->others);
}

// What the program would have been told.
void answer_as_before(int tid, std::size_t bytes, void* cpus) {
  const PinnedMasks* masks = published_masks();
  if (masks == nullptr || !is_ours(tid)) return;
  CpuSet told{};
  const std::size_t known = bytes < sizeof told ? bytes : sizeof told;
  memcpy(&told, cpus, known);
  if (has_own_mask(tid == 0 ? own_task() : tid)) return;
  if (masks->gave(told, masks->base)) memcpy(cpus, &masks->base, known);
}

using GetOfTid = int (*)(pid_t, std::size_t, cpu_set_t*);
using GetOfThread = int (*)(pthread_t, std::size_t, cpu_set_t*);

using SetOfTid = int (*)(pid_t, std::size_t, const cpu_set_t*);
using SetOfThread = int (*)(pthread_t, std::size_t, const cpu_set_t*);

enum Asked { kGetOfTid, kGetOfThread, kSetOfTid, kSetOfThread, kFunctions };
HP_KEPT_BY_CHILDREN Hook* g_hooks[kFunctions]{};

template <class Real>
Real real_of(Asked function) {
  return reinterpret_cast<Real>(original_of(*g_hooks[function], 0));
}

int tell_of_tid(pid_t tid, std::size_t bytes, cpu_set_t* cpus) {
  const int result = real_of<GetOfTid>(kGetOfTid)(tid, bytes, cpus);
  if (result == 0) answer_as_before(tid, bytes, cpus);
  return result;
}

int tell_of_thread(pthread_t thread, std::size_t bytes, cpu_set_t* cpus) {
  const int result = real_of<GetOfThread>(kGetOfThread)(thread, bytes, cpus);
  if (result == 0) answer_as_before(0, bytes, cpus);
  return result;
}

int set_of_tid(pid_t tid, std::size_t bytes, const cpu_set_t* cpus) {
  const int result = real_of<SetOfTid>(kSetOfTid)(tid, bytes, cpus);
  if (result == 0) note_set(tid, bytes, cpus);
  return result;
}

// Of another thread there is only a handle, so its mask tells.
int set_of_thread(pthread_t thread, std::size_t bytes, const cpu_set_t* cpus) {
  const int result = real_of<SetOfThread>(kSetOfThread)(thread, bytes, cpus);
  if (result == 0 && pthread_equal(thread, pthread_self())) note_set(0, bytes, cpus);
  return result;
}

void stand_in_front() {
  struct Function {
    const char* name;
    FixOfCopy fix;
  };
  constexpr Function kNames[kFunctions] = {
      {"sched_getaffinity", [](unsigned) { return reinterpret_cast<void*>(&tell_of_tid); }},
      {"pthread_getaffinity_np", [](unsigned) { return reinterpret_cast<void*>(&tell_of_thread); }},
      {"sched_setaffinity", [](unsigned) { return reinterpret_cast<void*>(&set_of_tid); }},
      {"pthread_setaffinity_np", [](unsigned) { return reinterpret_cast<void*>(&set_of_thread); }},
  };
  for (unsigned i = 0; i < kFunctions; ++i) {
    g_hooks[i] = hook_by_name(kNames[i].name);
    if (g_hooks[i] != nullptr) replace_target(*g_hooks[i], kNames[i].fix);
  }
}

bool is_progress_thread(int tid) {
  char path[48], name[32];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  return read_small_file(path, name, sizeof name) && is_progress_name(name);
}

// Which of the progress CPUs: one that no living thread has, as long as there is one.
unsigned progress_cpu_of(int tid, const Placement& placement) {
  for (unsigned i = 0; i < placement.progress_count; ++i)
    if (g_progress_tids[i] == tid) return placement.progress[i];
  for (unsigned i = 0; i < placement.progress_count; ++i) {
    if (g_progress_tids[i] != 0 && is_ours(g_progress_tids[i])) continue;
    g_progress_tids[i] = tid;
    return placement.progress[i];
  }
  return placement.progress[static_cast<unsigned>(tid) % placement.progress_count];
}

struct Given {
  const PinnedMasks& masks;
  const PinnedMasks* before;
  bool has(const CpuSet& mask) const {
    return mask == masks.base || masks.gave(mask, masks.base) || (before != nullptr && before->gave(mask, masks.base));
  }
};

}  // namespace

bool PinnedMasks::gave(const CpuSet& mask, const CpuSet& allowed) const {
  if (mask == main || mask == others || mask == others.both(allowed)) return true;
  return mask.count() == 1 && progress.has(mask.next(0));
}

bool has_own_mask(int tid) {
  for (const std::atomic<int>& entry : g_own_tids)
    if (entry.load(std::memory_order_relaxed) == tid) return true;
  return false;
}

void note_own_masks(const CpuSet& base) {
  const int self = own_task();
  for (std::atomic<int>& entry : g_own_tids) entry.store(0, std::memory_order_relaxed);
  for_each_thread([&](int tid) {
    CpuSet mask;
    if (tid != self && cpus_of_thread(tid, mask) == 0 && !(mask == base)) add_own(tid);
  });
}

PinnedMasks masks_of(const CpuSet& base, const Placement& placement) {
  PinnedMasks masks{base, placement.main_cpus(), placement.progress_cpus(), base};
  const CpuSet left = base.without(masks.main).without(masks.progress);
  if (!left.empty()) masks.others = left;
  return masks;
}

void publish_masks(const PinnedMasks& masks) {
  PinnedMasks& slot = g_slots[g_next_slot++ % 4];
  slot = masks;
  g_published.store(&slot, std::memory_order_release);
  stand_in_front();
  g_thread_begins.store(begin_thread, std::memory_order_release);
}

const PinnedMasks* published_masks() { return g_published.load(std::memory_order_acquire); }

void withdraw_masks() {
  g_thread_begins.store(nullptr, std::memory_order_release);
  for (Hook* hook : g_hooks)
    if (hook != nullptr) restore_target(*hook);
  g_published.store(nullptr, std::memory_order_release);
  memset(g_progress_tids, 0, sizeof g_progress_tids);
}

void leave_pinned_cpus() {
  const PinnedMasks* masks = published_masks();
  CpuSet mask;
  if (masks == nullptr || has_own_mask(own_task()) || cpus_of_thread(0, mask) != 0) return;
  if (masks->gave(mask, masks->base)) set_cpus_of_thread(0, masks->base);
}

unsigned progress_threads() {
  unsigned count = 0;
  for_each_thread([&](int tid) { count += is_progress_thread(tid); });
  return count;
}

ThreadCount place_threads(const PinnedMasks& masks, const Placement& placement, const PinnedMasks* gave) {
  ThreadCount count{};
  const Given given{masks, gave};
  const int self = own_task(), first = own_process();
  forget_ended();
  for_each_thread([&](int tid) {
    CpuSet mask;
    if (tid == self || tid == first || cpus_of_thread(tid, mask) != 0) return;
    const bool polls = is_progress_thread(tid);
    count.progress += polls;
    if (has_own_mask(tid) || !given.has(mask)) {
      ++count.own;
      return;
    }
    const CpuSet wanted = polls ? only(progress_cpu_of(tid, placement)) : masks.others;
    if (!(mask == wanted) && set_cpus_of_thread(tid, wanted) == 0) ++count.moved;
  });
  return count;
}

// Until a look finds none: a thread with such a mask may just be making another one.
unsigned restore_threads(const PinnedMasks& gave, const CpuSet& base) {
  unsigned all = 0;
  const int self = own_task();
  for (int looks = 0, found = 1; looks < 8 && found != 0; ++looks) {
    found = 0;
    for_each_thread([&](int tid) {
      CpuSet mask;
      if (tid == self || has_own_mask(tid) || cpus_of_thread(tid, mask) != 0 || mask == base || !gave.gave(mask, base))
        return;
      if (set_cpus_of_thread(tid, base) == 0) ++found;
    });
    all += static_cast<unsigned>(found);
  }
  return all;
}

}  // namespace hostprobe::probe
