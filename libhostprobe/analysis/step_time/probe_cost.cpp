// probe_cost.cpp: see probe_cost.h.
#include "probe_cost.h"

#include <algorithm>
#include <string>

#include "format/own_cost.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

std::ptrdiff_t begun_before(const HostThread& thread, double ns) {
  return std::partition_point(thread.calls.begin(), thread.calls.end(),
                              [ns](const HostCall& call) { return call.begin_ns < ns; }) -
         thread.calls.begin();
}

bool holds_up(const LostPart& part) {
  return !part.waits && !part.is_repeated && part.cause != Cause::kGpuBound && part.cause != Cause::kTransfer &&
         part.cause != Cause::kUnknown && part.spot.thread != nullptr && part.window.length_ns() > 0;
}

// Of the time, how long a thread of hostprobe's own ran while steps were made: the trace ends behind them.
double own_thread_part(const StepTimeMember& member) {
  const ProcessAnswer& answer = *member.answer;
  if (!answer.own_cost || answer.wall_ms <= 0) return 0;
  const double end_ms =
      member.timeline == nullptr ? 0 : 1e-6 * static_cast<double>(member.timeline->trace().header.own_end_ns);
  return std::max(0.0, answer.own_cost->writer_ms - end_ms) / answer.wall_ms;
}

}  // namespace

ProbeCost::ProbeCost(const std::vector<StepTimeMember>& members) : members_(members), ns_(members.size()) {
  std::map<std::string, double> of_hosts;
  for (const StepTimeMember& member : members) of_hosts[member.answer->host] += own_thread_part(member);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].answer->own_cost) ns_[i] = -1;
    own_threads_part_.push_back(std::min(1.0, of_hosts[members[i].answer->host]));
  }
}

const ProbeCost::Thread& ProbeCost::cost_of(const StepTimeProcess& process, const HostThread& thread) {
  const auto [at, is_new] = threads_.try_emplace(&thread);
  if (!is_new || thread.track == nullptr || process.answer->wall_ms <= 0) return at->second;
  const Trace& trace = process.timeline->trace();
  const FileHeader& header = trace.header;
  const auto& entry = thread.track->thread->entry;
  std::uint64_t merged = 0;
  for (const auto& [place, sum] : thread.track->thread->short_waits)
    if (sum_site(place) != kSiteSkipped) merged += sum.time.count();
  const double beside = recording_ticks(0, merged, header.record_cost_ticks) +
                        quiet_ticks(entry.quiet_calls, entry.skipped, header.quiet_cost_ticks) +
                        static_cast<double>(entry.own_ticks);
  at->second.rate = std::min(1.0, trace.clock.length_ns(beside) / (1e6 * process.answer->wall_ms));
  at->second.record_ns = trace.clock.length_ns(recording_ticks(1, 0, header.record_cost_ticks));
  return at->second;
}

double ProbeCost::inside_ns(const StepTimeProcess& process, const HostThread& thread, const Window& window) {
  const Thread& cost = cost_of(process, thread);
  const auto records = static_cast<double>(begun_before(thread, window.end_ns) - begun_before(thread, window.begin_ns));
  return std::min(window.length_ns(), records * cost.record_ns + cost.rate * window.length_ns());
}

void ProbeCost::add_step(const std::vector<std::vector<LostPart>>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ns_[i] < 0) continue;
    for (const LostPart& part : ranks[i]) {
      if (!holds_up(part) || part.member != i) continue;
      // A thread that lacks a CPU may lack the one on which a thread of ours runs, and then no more often than one of them runs.
      if (part.cause == Cause::kCpuContention) {
        ns_[i] += own_threads_part_[i] * part.ns;
        continue;
      }
      const HostThread& thread = part.spot.holder != nullptr ? *part.spot.holder : *part.spot.thread;
      ns_[i] +=
          inside_ns(members_[i].process_of(thread), thread, part.own_window()) * part.ns / part.window.length_ns();
    }
  }
}

}  // namespace hostprobe::analysis
