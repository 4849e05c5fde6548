// own_entry.cpp: see own_entry.h.
#include "probe/writer/own_entry.h"

#include <string.h>

#include <atomic>

#include "probe/record/thread.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS static ThreadEntry* g_entry = nullptr;
HP_OF_PROCESS static std::uint64_t g_earlier_cpu_ns = 0;  // of the threads that the writer had before

void enter_thread_table(std::uint32_t tid, const void* start_routine) {
  std::uint32_t index = 0;
  ThreadEntry* entry = g_entry = reserve_thread(index);
  if (entry == nullptr) return;
  entry->tid = tid;
  entry->start_ticks = ticks();
  entry->start_routine = reinterpret_cast<std::uint64_t>(start_routine);
  entry->creator_site = entry->start_routine;
  strncpy(entry->name, "hostprobe", sizeof entry->name - 1);
  std::atomic_ref(entry->state).store(kThreadLive, std::memory_order_release);
}

void leave_thread_table() {
  const std::uint64_t cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  g_earlier_cpu_ns += cpu_ns;
  if (g_entry == nullptr) return;
  g_entry->cpu_ns = cpu_ns;
  g_entry->end_ticks = ticks();
  std::atomic_ref(g_entry->state).store(kThreadEnded, std::memory_order_release);
}

std::uint64_t writers_cpu_ns() { return g_earlier_cpu_ns + read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace hostprobe::probe
