// cpu_rows.cpp: CPUs as rows of slices: who ran, and below it which interrupts came; see timeline.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "timeline.h"
#include "trace/kernel_rows.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::size_t kMostNested = 64;

class CpuRows {
 public:
  CpuRows(const Trace& trace, TimelineWriter& out) : trace_(trace), names_(trace), pauses_(trace), out_(out) {}

  void write() {
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) add(step);
    end_slices();
  }

 private:
  struct OpenIrq {
    bool soft;
    std::uint32_t number;
    std::int64_t begin_ns;
  };
  struct Cpu {
    std::uint32_t tid = kNobody;
    std::int64_t since_ns = 0, last_ns = 0;
    std::uint64_t since_ticks = 0;
    std::optional<Flow> wake = {};  // why it is there
    std::vector<OpenIrq> irqs;
  };

  void add(const KernelStep& step) {
    const auto [found, fresh] = cpus_.try_emplace(step.cpu);
    Cpu& cpu = found->second;
    if (fresh) {
      out_.add_row(row_of(step.cpu, false), fmt::format("CPU {:03}", step.cpu));
      out_.add_row(row_of(step.cpu, true), fmt::format("CPU {:03} interrupts", step.cpu));
    }
    const std::int64_t now = static_cast<std::int64_t>(trace_.clock.monotonic_ns(step.row.ticks));
    const bool paused = pauses_.passed(step.row.ticks);
    if (paused) end_slices();
    if (step.lost > 0) cpu = {};
    if (paused || step.lost > 0) wakes_.clear();
    cpu.last_ns = now;
    const KernelRow& row = step.row;
    if (row.what == kKernelSwitch) {
      end_slice(step.cpu, cpu, row.tid, now);
      cpu.tid = row.other;
      cpu.since_ns = now;
      cpu.since_ticks = row.ticks;
      cpu.wake = taken_wake(row.other);
    } else if (row.what == kKernelWake) {
      add_wake(step.cpu, cpu, row, now);
    } else if (row.what == kKernelIrqBegin || row.what == kKernelSoftirqBegin) {
      if (cpu.irqs.size() < kMostNested) cpu.irqs.push_back({row.what == kKernelSoftirqBegin, row.value, now});
    } else if (row.what == kKernelIrqEnd || row.what == kKernelSoftirqEnd) {
      end_irq(step.cpu, cpu, row, now);
    }
  }

  // From whoever ran there, or from the interrupt if one is known; who was on the CPU then has nothing to do with it.
  void add_wake(std::uint32_t number, const Cpu& cpu, const KernelRow& row, std::int64_t now) {
    if (row.context == kContextUnknown) return;
    const bool interrupt = row.context != kContextTask;
    if (interrupt ? !cpu.irqs.empty() : row.tid != 0 && cpu.tid == row.tid)
      wakes_.insert_or_assign(row.other, Flow{"wake", row_of(number, interrupt), now});
    else
      wakes_.erase(row.other);
  }

  std::optional<Flow> taken_wake(std::uint32_t tid) {
    const auto found = wakes_.find(tid);
    if (found == wakes_.end()) return std::nullopt;
    const Flow wake = found->second;
    wakes_.erase(found);
    return wake;
  }

  static std::uint64_t row_of(std::uint32_t cpu, bool of_irqs) {
    return 2 * std::uint64_t{cpu} + 1 + (of_irqs ? 1 : 0);
  }

  std::string task_name(std::uint32_t tid, std::uint64_t ticks) const {
    const std::string comm = names_.task(tid, ticks).name;
    return comm.empty() ? std::to_string(tid) : comm;
  }

  // What goes on behind the last row of each CPU nobody knows.
  void end_slices() {
    for (auto& [number, cpu] : cpus_) {
      end_slice(number, cpu, cpu.tid, cpu.last_ns);
      cpu = {};
    }
  }

  // Of a CPU that has nothing to do there is no slice. `last` was on it in the end; where that is another one than in the
  // beginning, the switches between were not kept.
  void end_slice(std::uint32_t number, Cpu& cpu, std::uint32_t last, std::int64_t now) {
    if (cpu.tid == kNobody || (cpu.tid == 0 && last == 0)) return;
    std::string text = cpu.tid == 0 ? "idle" : task_name(cpu.tid, cpu.since_ticks);
    if (cpu.tid != last) text += " … " + (last == 0 ? "idle" : task_name(last, cpu.since_ticks));
    out_.put({.row = row_of(number, false),
              .name = text,
              .category = "cpu",
              .begin_ns = cpu.since_ns,
              .end_ns = std::max(cpu.since_ns, now),
              .arguments = {{"tid", fmt::to_string(cpu.tid)}, {"pid", fmt::to_string(names_.process_of(cpu.tid))}},
              .to_begin = cpu.tid == 0 ? std::nullopt : cpu.wake});
  }

  void end_irq(std::uint32_t number, Cpu& cpu, const KernelRow& row, std::int64_t now) {
    const bool soft = row.what == kKernelSoftirqEnd;
    std::size_t at = cpu.irqs.size();
    while (at > 0 && (cpu.irqs[at - 1].soft != soft || cpu.irqs[at - 1].number != row.value)) --at;
    if (at == 0) return;
    const std::int64_t begin = cpu.irqs[at - 1].begin_ns;
    cpu.irqs.resize(at - 1);
    std::string text = soft ? KernelNames::softirq(row.value) : names_.irq(row.value);
    if (text.empty()) text = fmt::format("{} {}", soft ? "softirq" : "IRQ", row.value);
    out_.put({.row = row_of(number, true),
              .name = text,
              .category = soft ? "softirq" : "irq",
              .begin_ns = begin,
              .end_ns = std::max(begin, now),
              .arguments = {{"number", fmt::to_string(row.value)}, {"interrupted", fmt::to_string(row.tid)}}});
  }

  const Trace& trace_;
  const KernelNames names_;
  KernelPauses pauses_;
  TimelineWriter& out_;
  std::map<std::uint32_t, Cpu> cpus_;
  std::unordered_map<std::uint32_t, Flow> wakes_;  // of tasks that have not run since
};

}  // namespace

void write_cpu_rows(const Trace& trace, TimelineWriter& out) { CpuRows(trace, out).write(); }

}  // namespace hostprobe::analysis
