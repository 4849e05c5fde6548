// launches.cpp: see launches.h.
#include "launches.h"

namespace hostprobe::analysis {
namespace {

// Of the launching functions, those that put exactly one kernel on the GPU.
bool launches_one_kernel(const std::string& name) {
  return name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel") || name == "cuLaunch" ||
         name.starts_with("cuLaunchGrid");
}

}  // namespace

Launches::Launches(const Trace& trace, const std::map<ThreadKey, Role>& roles) : trace_(trace), roles_(roles) {
  for (const Hook& hook : trace.hooks) answer_.hooked = answer_.hooked || (hook.launch && hook.found);
}

void Launches::add(const Thread& thread, const Hook& hook, const Record& record) {
  PerThread& own = threads_[thread.key];
  if (is_summed(record)) {
    own.last_end_ticks = record.end_ticks;
    return;
  }
  ++counts_[&hook];
  ++own.count;
  if (own.first_ticks == 0) own.first_ticks = record.begin_ticks;
  answer_.call.add(trace_.clock.span_ns(record.begin_ticks, record.end_ticks));
  if (own.last_end_ticks != 0) answer_.gap.add(trace_.clock.span_ns(own.last_end_ticks, record.begin_ticks));
  own.last_end_ticks = own.end_ticks = record.end_ticks;
}

void Launches::add_sum(const Thread& thread, const Hook& hook, const SiteSum& sum) {
  PerThread& own = threads_[thread.key];
  counts_[&hook] += sum.time.count();
  own.count += sum.time.count();
  own.summed_ns += trace_.clock.length_ns(static_cast<double>(sum.time.ticks)) +
                   trace_.clock.length_ns(static_cast<double>(sum.wake.ticks));
  sum.time.add_to(answer_.call, trace_.clock);
  sum.wake.add_to(answer_.gap, trace_.clock);
}

void Launches::add_skipped(const Hook& hook, std::uint64_t count) { counts_[&hook] += count; }

void Launches::summed(const Thread& thread) {
  if (const auto own = threads_.find(thread.key); own != threads_.end()) own->second.last_end_ticks = 0;
}

void Launches::missing(const Thread& thread) {
  const auto own = threads_.find(thread.key);
  if (own == threads_.end() || own->second.last_end_ticks == 0) return;
  own->second.last_end_ticks = 0;
  ++answer_.gaps_unknown;
}

LaunchAnswer Launches::finish() {
  for (const auto& [hook, count] : counts_) {
    answer_.hooked = true;
    answer_.by_function[hook->name] += count;
    if (launches_one_kernel(hook->name)) answer_.kernels += count;
  }
  std::uint64_t most = 0;
  for (const auto& [key, own] : threads_) {
    if (own.count <= most) continue;
    most = own.count;
    answer_.role = roles_.at(key);
    answer_.span_ms = 1e-6 * (own.summed_ns + trace_.clock.span_ns(own.first_ticks, own.end_ticks));
  }
  return std::move(answer_);
}

}  // namespace hostprobe::analysis
