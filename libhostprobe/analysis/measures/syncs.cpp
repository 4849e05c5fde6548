// syncs.cpp: see syncs.h.
#include "syncs.h"

namespace hostprobe::analysis {

Syncs::Syncs(const Timeline& timeline) {
  for (const Function& function : timeline.functions())
    answer_.hooked = answer_.hooked || (function.is(kSynchronises) && function.found);
}

void Syncs::add_sync(const Event& event) {
  if (event.below_limit) return;
  answer_.hooked = true;
  if (event.counted) return;
  if (event.distribution != nullptr)
    answer_.time.add(event.distribution->time);
  else
    answer_.time.add(event.duration_ns);
  answer_.by_function[event.function->name] += event.count;
  if (!event.is(kMemory)) answer_.total_ms_by_role[event.track->role] += 1e-6 * event.duration_ns;
}

void Syncs::add_stall(const Event& event) {
  if (event.below_limit || event.counted) return;
  GpuStall& stall = event.is(kMemory) ? answer_.memory : answer_.copies;
  stall.count += event.count;
  stall.ms_by_role[event.track->role] += 1e-6 * event.duration_ns;
}

void Syncs::merge(const Syncs& other) {
  answer_.hooked = answer_.hooked || other.answer_.hooked;
  answer_.time.add(other.answer_.time);
  for (const auto& [name, count] : other.answer_.by_function) answer_.by_function[name] += count;
  answer_.memory.add(other.answer_.memory);
  answer_.copies.add(other.answer_.copies);
  for (const auto& [role, ms] : other.answer_.total_ms_by_role) answer_.total_ms_by_role[role] += ms;
}

}  // namespace hostprobe::analysis
