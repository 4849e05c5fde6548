// one_step.cpp: see one_step.h.
#include "one_step.h"

#include <algorithm>

#include "analysis/measures/steps.h"
#include "analysis/process.h"
#include "analysis/ranks/process_work.h"
#include "model/timeline.h"
#include "number_ranges.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

// Of the ranks of one host, in CLOCK_MONOTONIC.
struct Meanwhile {
  double begin_ns = 1e300;
  double end_ns = -1e300;
};

double monotonic_of(const Timeline& timeline, double ns) {
  return static_cast<double>(timeline.trace().clock.monotonic_ns_of(ns));
}

bool lived(const ProcessAnswer& process, const Meanwhile& meanwhile) {
  const auto begin_ns = static_cast<double>(process.start_monotonic_ns);
  return begin_ns < meanwhile.end_ns && begin_ns + 1e6 * process.wall_ms > meanwhile.begin_ns;
}

Window window_of(const Timeline& timeline, const Meanwhile& meanwhile) {
  const double first_ns = monotonic_of(timeline, 0);
  return {meanwhile.begin_ns - first_ns, meanwhile.end_ns - first_ns};
}

StepAnswer only(const StepAnswer& all, const Step& step) {
  StepAnswer one = all;
  one.steps = {step};
  one.steps[0].type = 0;
  one.types = {all.types[step.type]};
  one.lengths = lengths_of({step.length_ns()});
  one.types[0].lengths = one.lengths;
  one.begin_ns = step.begin_ns;
  one.end_ns = step.end_ns;
  return one;
}

void add_longest(const ProcessAnswer& process, const Step& step, std::optional<OneStep>& longest) {
  const double ms = 1e-6 * step.length_ns();
  if (!longest || ms > longest->ms)
    longest = OneStep{step.number, process.steps.types[step.type].name, ms, process.trace_path};
}

}  // namespace

std::string known_steps_text(const std::vector<SteppedProcess>& processes) {
  std::set<std::uint64_t> numbers;
  for (const SteppedProcess& process : processes)
    for (const Step& step : process.answer->steps.steps) numbers.insert(step.number);
  return ranges_text(numbers);
}

std::optional<std::uint64_t> slowest_step(const std::vector<SteppedProcess>& processes) {
  std::optional<SlowStep> worst;
  for (const SteppedProcess& process : processes)
    for (const SlowStep& slow : process.answer->steps.slowest(1))
      if (!worst || slow.excess_ns > worst->excess_ns) worst = slow;
  return worst ? std::optional(worst->step.number) : std::nullopt;
}

std::optional<OneStep> limit_to_step(std::vector<SteppedProcess>& processes, std::uint64_t number, Symbols& symbols,
                                     unsigned cores) {
  std::optional<OneStep> longest;
  std::map<std::string, Meanwhile> hosts;
  for (const SteppedProcess& process : processes) {
    const Step* step = process.answer->steps.numbered(number);
    if (step == nullptr) continue;
    add_longest(*process.answer, *step, longest);
    Meanwhile& host = hosts[process.answer->host];
    host.begin_ns = std::min(host.begin_ns, monotonic_of(*process.timeline, step->begin_ns));
    host.end_ns = std::max(host.end_ns, monotonic_of(*process.timeline, step->end_ns));
  }
  if (!longest) return std::nullopt;
  for (SteppedProcess& process : processes) {
    const StepAnswer steps = std::move(process.answer->steps);
    const Step* step = steps.numbered(number);
    const auto host = hosts.find(process.answer->host);
    const Window window = step != nullptr       ? Window{step->begin_ns, step->end_ns}
                          : host != hosts.end() ? window_of(*process.timeline, host->second)
                                                : Window{0, 0};
    process.lived_then = step != nullptr || (host != hosts.end() && lived(*process.answer, host->second));
    StepPlan plan;
    plan.choice = StepChoice::kOff;
    for (const Track& track : process.timeline->tracks())
      if (step != nullptr && track.key() == steps.thread) plan.track = &track;
    *process.answer = analyse_process(*process.timeline, symbols, cores, plan, window, process.device, process.work);
    process.work->collective_records.reset();  // those of the whole are held
    if (step != nullptr) process.answer->steps = only(steps, *step);
  }
  return longest;
}

}  // namespace hostprobe::analysis
