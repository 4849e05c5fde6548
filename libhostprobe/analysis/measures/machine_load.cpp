// machine_load.cpp: see machine_load.h.
#include "machine_load.h"

#include <algorithm>
#include <cstring>

#include "format/machine.h"

namespace hostprobe::analysis {
namespace {

struct Count {
  std::uint64_t MachineRow::*value;
  double unit;  // what one of it is, in the unit of the count's name
};
// By MachineCount.
constexpr Count kCounts[] = {
    {&MachineRow::steal_ns, 1e-6},       {&MachineRow::interrupt_ns, 1e-6},   {&MachineRow::soft_interrupt_ns, 1e-6},
    {&MachineRow::interrupts, 1},        {&MachineRow::soft_interrupts, 1},   {&MachineRow::cpu_some_us, 1e-3},
    {&MachineRow::memory_some_us, 1e-3}, {&MachineRow::memory_full_us, 1e-3}, {&MachineRow::io_some_us, 1e-3},
    {&MachineRow::io_full_us, 1e-3},
};
static_assert(sizeof kCounts / sizeof kCounts[0] == kMachineCounts);

struct Reading {
  double at_ns;
  MachineRow row;
};

std::vector<Reading> readings_of(const Trace& trace) {
  std::vector<Reading> readings;
  if (!trace.clock.known()) return readings;
  TickReader ticks(trace.clock);
  for (const BlockBytes& block : trace.machine)
    for (std::uint64_t at = 0; at + sizeof(MachineRow) <= block.count; at += sizeof(MachineRow)) {
      Reading& one = readings.emplace_back();
      std::memcpy(&one.row, block.bytes + at, sizeof one.row);
      one.at_ns = ticks.since_first_ns(one.row.ticks);
    }
  std::stable_sort(readings.begin(), readings.end(),
                   [](const Reading& l, const Reading& r) { return l.at_ns < r.at_ns; });
  return readings;
}

// Since the first reading, at a moment between the first and the last.
double count_at(const std::vector<Reading>& readings, const Count& count, double at_ns) {
  auto next =
      std::partition_point(readings.begin(), readings.end(), [&](const Reading& one) { return one.at_ns < at_ns; });
  const auto since_first = [&](const Reading& one) {
    return static_cast<double>(one.row.*count.value - readings.front().row.*count.value);
  };
  if (next == readings.end()) return since_first(readings.back());
  if (next == readings.begin()) return 0;
  const Reading& before = *(next - 1);
  const double part = (at_ns - before.at_ns) / (next->at_ns - before.at_ns);
  return since_first(before) + part * (since_first(*next) - since_first(before));
}

// What the kernel counts may go back a little (stolen time), or begin anew: then nothing is said of it.
bool is_readable(const std::vector<Reading>& readings, const Count& count) {
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const std::uint64_t value = readings[i].row.*count.value;
    if (value == kNotReadable || (i > 0 && value < readings[i - 1].row.*count.value)) return false;
  }
  return true;
}

}  // namespace

std::optional<MachineAnswer> answer_machine(const Trace& trace, const Window& window, const std::vector<Step>& steps) {
  const std::vector<Reading> readings = readings_of(trace);
  if (readings.size() < 2) return std::nullopt;
  const double begin_ns = std::max(window.begin_ns, readings.front().at_ns),
               end_ns = std::min(window.end_ns, readings.back().at_ns);
  if (end_ns <= begin_ns) return std::nullopt;
  std::vector<Step> whole;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(whole),
               [&](const Step& step) { return step.begin_ns >= begin_ns && step.end_ns <= end_ns; });
  MachineAnswer answer;
  answer.ms = 1e-6 * (end_ns - begin_ns);
  answer.steps = whole.size();
  for (std::size_t i = 0; i < kMachineCounts; ++i) {
    const Count& count = kCounts[i];
    if (!is_readable(readings, count)) continue;
    const auto between = [&](double from_ns, double to_ns) {
      return count.unit * (count_at(readings, count, to_ns) - count_at(readings, count, from_ns));
    };
    answer.all[i] = between(begin_ns, end_ns);
    double sum = 0;
    for (const Step& step : whole) sum += between(step.begin_ns, step.end_ns);
    if (!whole.empty()) answer.per_step[i] = sum / static_cast<double>(whole.size());
  }
  return answer;
}

}  // namespace hostprobe::analysis
