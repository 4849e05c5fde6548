// hooks/progress.cpp: see progress.h. Other threads that yield pay one load.
#include <sched.h>
#include <string.h>

#include <initializer_list>

#include "probe/record/progress.h"
#include "probe/record/short_waits.h"
#include "probe/record/wait.h"

namespace hostprobe::probe {

bool is_progress_name(const char* name) {
  for (const char* each : {"NCCL Progress", "NCCL GIN Progre", "NCCL RMA Proxy"})
    if (strncmp(name, each, strlen(each)) == 0) return true;
  return false;
}

}  // namespace hostprobe::probe

using namespace hostprobe;
using namespace hostprobe::probe;

HP_ROW(kThread, kYield, sched_yield, "GLIBC_2.2.5", 0, 0, "cpu", "cpu_before", "site:code", "", "")

namespace {

void record_stall(std::uint64_t begin, std::uint64_t end, std::uint32_t cpu, std::uint32_t before, const void* site) {
  write_record(g_hook_sched_yield, begin, end, cpu, before, reinterpret_cast<std::uint64_t>(site));
}

void note_poll(const void* site) {
  if (!recording()) return;
  ThreadLocal& t = t_local;
  mark_used(g_hook_sched_yield);
  std::uint64_t now = ticks(), last = t.last_poll_ticks;
  auto cpu = static_cast<std::uint32_t>(sched_getcpu()), before = t.poll_cpu;
  t.last_poll_ticks = now;
  t.poll_cpu = cpu;
  if (last == 0) return;
  ThreadEntry* entry = t.entry;
  if (HP_UNLIKELY(cpu != before) && entry != nullptr) ++entry->migrations;
  SiteCounter* counter = t.poll_counter;
  if (HP_UNLIKELY(counter == nullptr)) counter = t.poll_counter = short_waits_of(g_hook_sched_yield, site);
  if (HP_UNLIKELY(now - last >= g_limits.stall_ticks) || counter == nullptr)
    record_stall(last, now, cpu, before, site);
  else
    add_span(counter->time, now - last);
}

}  // namespace

extern "C" HP_EXPORT int hp_sched_yield() __asm__("sched_yield");
extern "C" int hp_sched_yield() {
  auto real = libc_target<int (*)()>(g_hook_sched_yield);
  if (HP_UNLIKELY(t_local.polls)) note_poll(HP_SITE);
  return real();
}
