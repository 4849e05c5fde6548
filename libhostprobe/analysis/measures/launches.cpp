// launches.cpp: see launches.h.
#include "launches.h"

#include <algorithm>
#include <array>
#include <span>

namespace hostprobe::analysis {

namespace {

std::optional<GapSwitches> switches_of(const Event& launch) {
  if (launch.gap_switches < 0) return std::nullopt;
  return GapSwitches{static_cast<std::uint32_t>(launch.gap_switches), launch.gap_no_cpu_ns};
}

}  // namespace

Launches::Launches(const Timeline& timeline) : counts_(timeline.functions().size()) {
  for (const Function& function : timeline.functions()) {
    functions_.push_back(&function);
    answer_.hooked = answer_.hooked || (function.is(kLaunches) && function.found);
  }
}

void Launches::count(const Event& event) {
  counts_[event.function->row] += event.count;
  if (event.captured) answer_.captured += event.count;
  if (event.kernels < 0)
    kernels_known_ = false;
  else
    kernels_ += static_cast<std::uint64_t>(event.kernels);
}

// What a capture took gives the GPU nothing: the gap goes on to the next launch that does.
void Launches::add_call(const Event& event) {
  if (event.counted) return;
  count(event);
  if (event.captured) return;
  PerThread& own = thread(event.track);
  ++own.count;
  own.begin_ns = std::min(own.begin_ns, event.begin_ns);
  own.end_ns = event.end_ns;
  answer_.call.add(event.duration_ns);
  if (event.has_gap) pairs_.add(event.gap_ns, switches_of(event));
  answer_.gaps_unknown += event.gap_lost;
}

void Launches::add(const LaunchRun& run) {
  PerThread& own = thread(run.track);
  own.count += run.launches.size();
  own.begin_ns = std::min(own.begin_ns, run.begin_ns());
  own.end_ns = run.launches.back().end_ns;
  std::array<double, kMostOfRun> durations_ns;
  for (std::size_t i = 0; i < run.launches.size(); ++i) {
    const PlainLaunch& launch = run.launches[i];
    const Function& function = *launch.function;
    ++counts_[function.row];
    kernels_known_ = kernels_known_ && function.kernels_of_call >= 0;
    kernels_ += static_cast<std::uint64_t>(std::max<std::int64_t>(0, function.kernels_of_call));
    durations_ns[i] = launch.duration_ns();
  }
  answer_.call.add(std::span(durations_ns.data(), run.launches.size()));
  add_gaps(run);
}

void Launches::add_gaps(const LaunchRun& run) {
  std::array<double, kMostOfRun> gaps_ns;
  std::size_t count = 0;
  for (const PlainLaunch& launch : run.launches) {
    answer_.gaps_unknown += launch.gap_lost;
    if (!launch.has_gap) continue;
    gaps_ns[count++] = launch.gap_ns;
    if (launch.gap_switches >= 0)
      pairs_.add_switches(launch.gap_ns, {static_cast<std::uint32_t>(launch.gap_switches), launch.gap_no_cpu_ns});
  }
  pairs_.add(std::span(gaps_ns.data(), count));
}

void Launches::add_counter(const Event& event) {
  count(event);
  if (event.captured || event.below_limit) return;  // they were counted and nothing else, to keep to the budget
  PerThread& own = thread(event.track);
  own.count += event.count;
  own.counted_ns += event.duration_ns + event.distribution->wake_ns;
  answer_.call.add(event.distribution->time);
  pairs_.add(event.distribution->wake);
}

void Launches::merge(const Launches& other) {
  for (const auto& [key, more] : other.threads_) {
    PerThread& own = threads_[key];
    own.role = more.role;
    own.count += more.count;
    own.begin_ns = std::min(own.begin_ns, more.begin_ns);
    own.end_ns = std::max(own.end_ns, more.end_ns);
    own.counted_ns += more.counted_ns;
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  answer_.call.add(other.answer_.call);
  pairs_.merge(other.pairs_);
  answer_.captured += other.answer_.captured;
  kernels_ += other.kernels_;
  kernels_known_ = kernels_known_ && other.kernels_known_;
  answer_.gaps_unknown += other.answer_.gaps_unknown;
}

LaunchAnswer Launches::finish(double run_ns) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    answer_.hooked = true;
    answer_.by_function[functions_[i]->name] += counts_[i];
  }
  if (kernels_known_) answer_.kernels = kernels_;
  std::uint64_t most = 0, all = 0;
  for (const auto& [key, own] : threads_) {
    all += own.count;
    if (own.count <= most) continue;
    most = own.count;
    answer_.role = own.role;
    answer_.span_ms = 1e-6 * (own.counted_ns + std::max(0.0, own.end_ns - own.begin_ns));
  }
  answer_.gap = pairs_.gaps();
  answer_.pairs = pairs_.finish(run_ns, all);
  return std::move(answer_);
}

}  // namespace hostprobe::analysis
