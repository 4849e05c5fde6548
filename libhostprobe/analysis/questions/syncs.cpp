// syncs.cpp: see syncs.h.
#include "syncs.h"

namespace hostprobe::analysis {

Syncs::Syncs(const Trace& trace, const std::map<ThreadKey, Role>& roles) : trace_(trace), roles_(roles) {
  for (const Hook& hook : trace.hooks) {
    const bool synchronises = hook.family == static_cast<std::uint8_t>(Family::kCuda) && hook.blocking;
    answer_.hooked = answer_.hooked || (synchronises && hook.found);
  }
}

void Syncs::add(const Thread& thread, const Hook& hook, const Record& record) {
  answer_.hooked = true;
  if (is_summed(record)) return;
  const double ns = trace_.clock.span_ns(record.begin_ticks, record.end_ticks);
  answer_.time.add(ns);
  ++answer_.by_function[hook.name];
  answer_.total_ms_by_role[roles_.at(thread.key)] += 1e-6 * ns;
}

void Syncs::add_sum(const Thread& thread, const Hook& hook, const SiteSum& sum) {
  answer_.hooked = true;
  sum.time.add_to(answer_.time, trace_.clock);
  answer_.by_function[hook.name] += sum.time.count();
  answer_.total_ms_by_role[roles_.at(thread.key)] += 1e-6 * trace_.clock.length_ns(static_cast<double>(sum.time.ticks));
}

}  // namespace hostprobe::analysis
