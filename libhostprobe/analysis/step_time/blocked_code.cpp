// blocked_code.cpp: see blocked_code.h.
#include "blocked_code.h"

#include <algorithm>
#include <utility>

#include "analysis/measures/pools.h"
#include "analysis/measures/wait_purpose.h"
#include "call_numbers.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

constexpr double kSlowestDiskNs = 10e6;  // for a page

// Nothing: neither.
std::optional<Cause> cause_of(const BlockedSample& sample, std::uint32_t architecture) {
  if (sample.call < 0) return Cause::kPageFaults;
  if (is_one_of(kFileCalls, sample.call, architecture)) return Cause::kFileIo;
  if (kind_of_call(sample.call, architecture) != CallKind::kOther) return Cause::kUnexplained;
  return std::nullopt;
}

}  // namespace

BlockedCode::BlockedCode(const Timeline& timeline, const PathGraph& graph, const TimeAxis& axis,
                         const std::map<ThreadKey, ThreadSamples>& all, const std::vector<Window>& steps,
                         std::uint32_t number, Symbols& symbols)
    : trace_(timeline.trace()), symbols_(symbols) {
  for (const HostThread& thread : graph.host.threads) {
    const auto found = thread.track == nullptr || thread.process != number ? all.end() : all.find(thread.track->key());
    if (found == all.end()) continue;
    for (const BlockedSample& sample : found->second.blocked)
      if (const double at_ns = axis.of(sample.at_ns); is_in_one(steps, at_ns) && !is_in_call(thread, at_ns))
        threads_[thread.track->key().tid].push_back(sample);
    count_faults(thread, found->second, timeline.switches(), axis, steps);
  }
  // Asked for each span of a thread's own time, so worked out once.
  for (const auto& [tid, samples] : threads_) {
    if (samples.size() < kFewestOfPlace) continue;
    const auto all_samples = static_cast<double>(samples.size());
    const auto pool = std::count_if(samples.begin(), samples.end(), [this](const BlockedSample& one) {
      return one.call == kFutexCall.on(trace_.header.architecture) &&
             is_sharing_runtime(symbols_.place(trace_, one.address).library);
    });
    const std::uint32_t thread = tid;
    const auto part = [&](Cause cause) { return static_cast<double>(samples_of(thread, cause).size()) / all_samples; };
    parts_[tid] = {part(Cause::kFileIo), part(Cause::kPageFaults), part(Cause::kUnexplained),
                   static_cast<double>(pool) / all_samples, parts_[tid].disk_of_own};
  }
}

// Between two rows of the kernel's counts: what of its own time was on no CPU, as far as a disk takes so long for so many pages. Nothing
// else is known of a thread that switches too often for records of it.
double BlockedCode::off_for_disk(const HostThread& thread, const ThreadSamples& samples, const TimeAxis& axis,
                                 const std::vector<Window>& steps) const {
  double own_ns = 0, off_ns = 0, most_ns = 0;
  for (std::size_t i = 1; i < samples.faults.size(); ++i) {
    const Window between{axis.of(samples.faults[i - 1].at_ns), axis.of(samples.faults[i].at_ns)};
    if (!is_in_one(steps, between.begin_ns) || !is_in_one(steps, between.end_ns)) continue;
    const double here_ns = between.length_ns() - thread.in_calls_ns(between);
    own_ns += here_ns;
    off_ns += std::max(0.0, here_ns - samples.faults[i].cpu_ns);
    most_ns += kSlowestDiskNs * static_cast<double>(samples.faults[i].of_disk);
  }
  const auto found = threads_.find(thread.track->key().tid);
  const double blocked = found == threads_.end() ? 0 : static_cast<double>(found->second.size());
  const double faults = static_cast<double>(samples_of(thread.track->key().tid, Cause::kPageFaults).size());
  return own_ns > 0 ? std::min(off_ns, most_ns) / own_ns * (blocked > 0 ? faults / blocked : 1) : 0;
}

// A fault for which the disk is asked blocks once at most. What comes of samples, where there are enough, stands instead.
void BlockedCode::count_faults(const HostThread& thread, const ThreadSamples& samples, const Switches& switches,
                               const TimeAxis& axis, const std::vector<Window>& steps) {
  const std::uint64_t faults = disk_faults(samples, axis, steps);
  if (faults < kFewestSamples) return;
  double spans = 0;
  for (const OffCpu& one : switches.of(thread.track->key()).spans()) {
    const double at_ns = axis.of(one.out_ns);
    spans += !one.runnable && is_in_one(steps, at_ns) && !is_in_call(thread, at_ns);
  }
  BlockedParts& parts = parts_[thread.track->key().tid];
  parts.faults = spans > 0 ? std::min(1.0, static_cast<double>(faults) / spans) : 0;
  parts.disk_of_own = off_for_disk(thread, samples, axis, steps);
}

std::vector<const BlockedSample*> BlockedCode::samples_of(std::uint32_t tid, Cause cause) const {
  std::vector<const BlockedSample*> some;
  if (const auto found = threads_.find(tid); found != threads_.end())
    for (const BlockedSample& sample : found->second)
      if (cause_of(sample, trace_.header.architecture) == cause) some.push_back(&sample);
  return some;
}

std::optional<BlockedParts> BlockedCode::parts(const HostThread& thread) const {
  const auto found = thread.track == nullptr ? parts_.end() : parts_.find(thread.track->key().tid);
  if (found == parts_.end()) return std::nullopt;
  return found->second;
}

std::optional<OwnSite> BlockedCode::site(std::uint32_t tid, Cause cause) const {
  const std::vector<const BlockedSample*> samples = samples_of(tid, cause);
  if (samples.size() < kFewestOfPlace) return std::nullopt;
  std::map<std::pair<std::string, std::string>, std::vector<const BlockedSample*>> places;  // Python's frame, else code
  for (const BlockedSample* sample : samples) {
    const std::string frame(innermost_frame(trace_, sample->stack));
    places[{frame, frame.empty() ? symbols_.place(trace_, sample->address).function : ""}].push_back(sample);
  }
  const auto most = std::max_element(places.begin(), places.end(),
                                     [](const auto& l, const auto& r) { return l.second.size() < r.second.size(); });
  const BlockedSample& one = *most->second.front();
  const CodePlace code = symbols_.place(trace_, one.address);
  OwnSite site{one.call < 0 ? kPageFault : code.function,
               code.library,
               {},
               samples.size(),
               share_of_samples(most->second.size(), samples.size()),
               kind_of_call(one.call, trace_.header.architecture)};
  if (const auto frames = trace_.stacks.find(one.stack - 1u); one.stack != 0 && frames != trace_.stacks.end())
    site.stack = stack_text(trace_, frames->second, symbols_);
  return site;
}

}  // namespace hostprobe::analysis
