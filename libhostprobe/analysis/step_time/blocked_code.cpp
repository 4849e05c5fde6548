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

// Nothing: neither.
std::optional<Cause> cause_of(const BlockedSample& sample, std::uint32_t architecture) {
  if (sample.call < 0) return Cause::kPageFaults;
  if (is_one_of(kFileCalls, sample.call, architecture)) return Cause::kFileIo;
  if (kind_of_call(sample.call, architecture) != CallKind::kOther) return Cause::kUnexplained;
  return std::nullopt;
}

}  // namespace

BlockedCode::BlockedCode(const Timeline& timeline, const PathGraph& graph, const TimeAxis& axis,
                         const std::vector<Window>& steps, std::uint32_t number, Symbols& symbols)
    : trace_(timeline.trace()), symbols_(symbols) {
  if (trace_.samples.empty()) return;
  const std::map<ThreadKey, ThreadSamples> all = running_samples(trace_);
  for (const HostThread& thread : graph.host.threads) {
    const auto found = thread.track == nullptr || thread.process != number ? all.end() : all.find(thread.track->key());
    if (found == all.end()) continue;
    for (const BlockedSample& sample : found->second.blocked)
      if (const double at_ns = axis.of(sample.at_ns); is_in_one(steps, at_ns) && !is_in_call(thread, at_ns))
        threads_[thread.track->key().tid].push_back(sample);
  }
  // Asked for each span of a thread's own time, so worked out once.
  for (const auto& [tid, samples] : threads_) {
    if (samples.size() < kFewestOfPlace) continue;
    const auto all_samples = static_cast<double>(samples.size());
    const auto pool = std::count_if(samples.begin(), samples.end(), [this](const BlockedSample& one) {
      return one.call == kFutexCall.on(trace_.header.architecture) &&
             is_sharing_runtime(symbols_.place(trace_, one.address).library);
    });
    parts_[tid] = {static_cast<double>(samples_of(tid, Cause::kFileIo).size()) / all_samples,
                   static_cast<double>(samples_of(tid, Cause::kPageFaults).size()) / all_samples,
                   static_cast<double>(samples_of(tid, Cause::kUnexplained).size()) / all_samples,
                   static_cast<double>(pool) / all_samples};
  }
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
