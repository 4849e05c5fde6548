// launches.cpp: see launches.h.
#include "launches.h"

#include "analysis/import/call_traits.h"

namespace hostprobe::analysis {
namespace {

// Of the launching functions, those that put exactly one kernel on the GPU. Other than the driver's are a profile's.
bool launches_one_kernel(const std::string& name) {
  if (!name.starts_with("cu") || name.starts_with("cuda")) return is_kernel_launch_name(name);
  return name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel") || name == "cuLaunch" ||
         name.starts_with("cuLaunchGrid");
}

}  // namespace

Launches::Launches(const Timeline& timeline)
    : counts_(timeline.functions().size()), called_(timeline.functions().size()) {
  for (const Function& function : timeline.functions()) {
    functions_.push_back(&function);
    answer_.hooked = answer_.hooked || (function.is(kLaunches) && function.found);
  }
}

Launches::PerThread& Launches::thread(const Event& event) {
  if (event.track != last_track_) last_ = &threads_[event.track->key()];
  last_track_ = event.track;
  last_->role = event.track->role;
  return *last_;
}

void Launches::add_call(const Event& event) {
  PerThread& own = thread(event);
  if (event.counted) {
    own.after_launch = true;
    own.last_end_ns = event.end_ns;
    return;
  }
  ++counts_[event.function->row];
  called_[event.function->row] = true;
  ++own.count;
  if (!own.any) own.first_ns = event.begin_ns;
  own.any = true;
  answer_.call.add(event.duration_ns);
  if (own.after_launch) pairs_.add(event.begin_ns - own.last_end_ns, std::nullopt);
  own.after_launch = true;
  own.last_end_ns = own.end_ns = event.end_ns;
}

void Launches::add_counter(const Event& event) {
  counts_[event.function->row] += event.count;
  called_[event.function->row] = true;
  if (event.below_limit) return;  // they were counted and nothing else, to keep to the budget
  PerThread& own = thread(event);
  own.count += event.count;
  own.counted_ns += event.duration_ns + event.distribution->wake_ns;
  answer_.call.add(event.distribution->time);
  pairs_.add(event.distribution->wake);
}

// Where counters know the calls that are missing, they know the gaps between them too.
void Launches::miss(const Event& event) {
  const auto own = threads_.find(event.track->key());
  if (own == threads_.end() || !own->second.after_launch) return;
  own->second.after_launch = false;
  answer_.gaps_unknown += event.type == EventType::kLost;
}

void Launches::merge(const Launches& other) {
  threads_.insert(other.threads_.begin(), other.threads_.end());  // threads are walked whole: none is in both
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
    called_[i] = called_[i] || other.called_[i];
  }
  answer_.call.add(other.answer_.call);
  pairs_.merge(other.pairs_);
  answer_.gaps_unknown += other.answer_.gaps_unknown;
}

LaunchAnswer Launches::finish(double run_ns) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (!called_[i]) continue;
    answer_.hooked = true;
    answer_.by_function[functions_[i]->name] += counts_[i];
    if (launches_one_kernel(functions_[i]->name)) answer_.kernels += counts_[i];
  }
  std::uint64_t most = 0, all = 0;
  for (const auto& [key, own] : threads_) {
    all += own.count;
    if (own.count <= most) continue;
    most = own.count;
    answer_.role = own.role;
    answer_.span_ms = 1e-6 * (own.counted_ns + (own.any ? own.end_ns - own.first_ns : 0));
  }
  answer_.gap = pairs_.gaps();
  answer_.pairs = pairs_.finish(run_ns, all);
  return std::move(answer_);
}

}  // namespace hostprobe::analysis
