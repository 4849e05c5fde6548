// gpu_time.cpp: how far the GPU's reconstructed time is from the account of the simulated driver, for each process of a run.
//
// usage: hostprobe_gpu_time TRACE… ; one JSON object a line. bench/gpu_time.py puts them together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "account.h"
#include "analysis/measures/steps.h"
#include "analysis/process.h"
#include "model/busy_time.h"
#include "model/gpu_timeline.h"
#include "model/timeline.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

constexpr double kGapNs = 50'000;  // from so long on a gap is to be found, with what ended it

struct Process {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Timeline> timeline;
  DeviceTimeline account, device;
};

struct Figures {
  std::vector<double> step_errors_pct;
  double time_ns = 0, busy_called_idle_ns = 0, unknown_ns = 0;
  std::size_t gaps = 0, found = 0, ended_right = 0;
};

// Where the reconstruction says that nothing ran: its gaps, but for what each may be wrong by.
std::vector<Window> idle_windows(const DeviceTimeline& device, const std::vector<BusySpan>& spans) {
  std::vector<Window> idle;
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
    const Activity& last = device.activities[spans[i].last];
    const double error_ns = last.unknown ? 0 : static_cast<double>(last.error_ns);
    const Window gap{spans[i].end_ns + (error_ns > 1000 ? error_ns : 0), spans[i + 1].begin_ns};
    if (gap.length_ns() > 0) idle.push_back(gap);
  }
  return idle;
}

void look_for_gap(const Process& one, const BusySpan& before, const BusySpan& after, const std::vector<BusySpan>& own,
                  Figures& all) {
  const Window gap{before.end_ns, after.begin_ns};
  if (gap.length_ns() < kGapNs) return;
  ++all.gaps;
  // The reconstructed gap that shares most with it.
  const auto next = std::partition_point(own.begin(), own.end(),
                                         [&](const BusySpan& span) { return span.end_ns <= gap.begin_ns - kGapNs; });
  double most_ns = 0;
  const BusySpan* ended_by = nullptr;
  for (auto span = next; span != own.end() && std::next(span) != own.end() && span->end_ns < gap.end_ns; ++span) {
    const double shared = std::min(std::next(span)->begin_ns, gap.end_ns) - std::max(span->end_ns, gap.begin_ns);
    if (shared > most_ns) most_ns = shared, ended_by = &*std::next(span);
  }
  if (most_ns < 0.5 * gap.length_ns()) return;
  ++all.found;
  // The call that launched holds the moment of the account, or ends just before it.
  const Activity &truth = one.account.activities[after.first], &told = one.device.activities[ended_by->first];
  all.ended_right += truth.launch_tid == told.launch_tid && std::abs(truth.launch_ns - told.launch_ns) < kGapNs;
}

Figures compare(const Process& one, const std::vector<Window>& steps) {
  Figures all;
  const std::vector<BusySpan> truth = without_hand_overs(busy_spans(one.account)),
                              own = without_hand_overs(busy_spans(one.device)),
                              known = without_hand_overs(busy_spans(one.device, std::nullopt, Certainty::kKnown));
  const std::vector<Window> idle = idle_windows(one.device, own);
  for (const Window& step : steps) {
    const double is = busy_ns(truth, step), told = busy_ns(known, step), any = busy_ns(own, step);
    all.step_errors_pct.push_back(100 * std::abs((told + (any - told) / 2) - is) / step.length_ns());
    all.time_ns += step.length_ns();
    all.unknown_ns += any - told;
  }
  if (steps.empty()) return all;
  const Window whole{steps.front().begin_ns, steps.back().end_ns};
  for (const Window& gap : idle)
    if (gap.begin_ns >= whole.begin_ns && gap.end_ns <= whole.end_ns) all.busy_called_idle_ns += busy_ns(truth, gap);
  for (std::size_t i = 0; i + 1 < truth.size(); ++i)
    if (truth[i].end_ns >= whole.begin_ns && truth[i + 1].begin_ns <= whole.end_ns)
      look_for_gap(one, truth[i], truth[i + 1], own, all);
  return all;
}

double percentile(std::vector<double> some, double share) {
  if (some.empty()) return 0;
  std::sort(some.begin(), some.end());
  return some[std::min(some.size() - 1, static_cast<std::size_t>(share * static_cast<double>(some.size())))];
}

void print(const Process& one, const Figures& all) {
  fmt::print(
      "{{\"pid\": {}, \"rank\": {}, \"source\": \"{}\", \"steps\": {}, \"busy_error_p50\": {:.3f}, \"busy_error_p95\": "
      "{:.3f}, "
      "\"gaps\": {}, \"gaps_found\": {}, \"gaps_ended_right\": {}, \"busy_called_idle_pct\": {:.3f}, \"unknown_pct\": "
      "{:.3f}, "
      "\"activities\": {}, \"account\": {}, \"busy_errors\": [{:.2f}]}}\n",
      one.trace->header.pid, one.trace->header.rank, activity_source_name(one.device.source),
      all.step_errors_pct.size(), percentile(all.step_errors_pct, 0.5), percentile(all.step_errors_pct, 0.95), all.gaps,
      all.found, all.ended_right, all.time_ns > 0 ? 100 * all.busy_called_idle_ns / all.time_ns : 0,
      all.time_ns > 0 ? 100 * all.unknown_ns / all.time_ns : 0, one.device.activities.size(),
      one.account.activities.size(), fmt::join(all.step_errors_pct, ", "));
}

int look(const std::vector<std::string>& paths) {
  Symbols symbols;
  std::vector<Process> processes;
  for (const std::string& path : paths) {
    Process one;
    one.trace = std::make_unique<Trace>(read_trace(path));
    one.timeline = std::make_unique<Timeline>(*one.trace, symbols);
    read_accounts();
    one.account = exact_timeline(*one.trace);
    set_account_reader(nullptr);
    if (one.account.source == ActivitySource::kAccount) processes.push_back(std::move(one));
  }
  if (processes.empty()) return 1;
  const std::uint64_t base_ns = processes[0].trace->clock.monotonic_ns_of(0);
  std::vector<GpuMember> members;
  for (const Process& one : processes) {
    const auto offset = static_cast<std::int64_t>(one.trace->clock.monotonic_ns_of(0) - base_ns);
    members.push_back({gpu_work(*one.timeline), static_cast<double>(offset)});
  }
  std::vector<DeviceTimeline> devices = gpu_timelines(std::move(members));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Process& one = processes[i];
    one.device = std::move(devices[i]);
    const ProcessAnswer answer =
        analyse_process(*one.timeline, symbols, 1, plan_steps(*one.timeline, StepChoice::kAuto), {}, &one.device);
    std::vector<Window> steps;
    for (const Step& step : answer.steps.steps) steps.push_back({step.begin_ns, step.end_ns});
    print(one, compare(one, steps));
  }
  return 0;
}

}  // namespace
}  // namespace hostprobe::analysis

int main(int count, char** words) {
  if (count < 2) {
    fmt::print(stderr, "usage: hostprobe_gpu_time TRACE...\n");
    return 2;
  }
  return hostprobe::analysis::look({words + 1, words + count});
}
