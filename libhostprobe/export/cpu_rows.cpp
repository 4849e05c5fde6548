// chrome_kernel.cpp: see chrome_kernel.h.
#include "chrome_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "report/json_text.h"
#include "trace/kernel_rows.h"
#include "trace/trace_head.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::size_t kMostNested = 64;
constexpr std::uint64_t kMostArrows = 100'000'000;  // of one file; their numbers are others than those of processes

std::string micros(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

class CpuRows {
 public:
  CpuRows(const Trace& trace, std::uint64_t pid, std::int64_t shift_ns,
          const std::function<void(std::string_view)>& add)
      : trace_(trace), names_(trace), pauses_(trace), pid_(pid), shift_ns_(shift_ns), add_(add) {}

  void write() {
    const std::string host = host_of(trace_.header);
    name("process_name", 0, host.empty() ? "CPUs" : "CPUs of " + host);
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
  struct Wake {
    std::uint64_t row;
    std::int64_t ns;
  };
  struct Cpu {
    std::uint32_t tid = kNobody;
    std::int64_t since_ns = 0, last_ns = 0;
    std::uint64_t since_ticks = 0;
    std::optional<Wake> wake = {};  // why it is there
    std::vector<OpenIrq> irqs;
  };

  void name(const char* what, std::uint64_t tid, const std::string& text) {
    add_(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, pid_, tid,
                     json_text(text)));
  }

  void add(const KernelStep& step) {
    const auto [found, fresh] = cpus_.try_emplace(step.cpu);
    Cpu& cpu = found->second;
    if (fresh) {
      name("thread_name", row_of(step.cpu, false), fmt::format("CPU {:03}", step.cpu));
      name("thread_name", row_of(step.cpu, true), fmt::format("CPU {:03} interrupts", step.cpu));
    }
    const std::int64_t now = static_cast<std::int64_t>(trace_.clock.monotonic_ns(step.row.ticks)) + shift_ns_;
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
      wakes_.insert_or_assign(row.other, Wake{row_of(number, interrupt), now});
    else
      wakes_.erase(row.other);
  }

  std::optional<Wake> taken_wake(std::uint32_t tid) {
    const auto found = wakes_.find(tid);
    if (found == wakes_.end()) return std::nullopt;
    const Wake wake = found->second;
    wakes_.erase(found);
    return wake;
  }

  void lead(const Wake& from, std::uint64_t to, std::int64_t to_ns) {
    if (arrows_ == kMostArrows) return;
    const std::uint64_t id = pid_ * kMostArrows + arrows_++;
    add_(fmt::format(R"({{"ph":"s","name":"wake","cat":"wake","id":{},"pid":{},"tid":{},"ts":{}}})", id, pid_, from.row,
                     micros(from.ns)));
    add_(fmt::format(R"({{"ph":"f","bp":"e","name":"wake","cat":"wake","id":{},"pid":{},"tid":{},"ts":{}}})", id, pid_,
                     to, micros(to_ns)));
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
    slice("cpu", row_of(number, false), text, cpu.since_ns, now,
          fmt::format(R"("tid":{},"pid":{})", cpu.tid, names_.process_of(cpu.tid)));
    if (cpu.wake && cpu.tid != 0) lead(*cpu.wake, row_of(number, false), cpu.since_ns);
  }

  void end_irq(std::uint32_t number, Cpu& cpu, const KernelRow& row, std::int64_t now) {
    const bool soft = row.what == kKernelSoftirqEnd;
    std::size_t at = cpu.irqs.size();
    while (at > 0 && (cpu.irqs[at - 1].soft != soft || cpu.irqs[at - 1].number != row.value)) --at;
    if (at == 0) return;
    const std::int64_t begin = cpu.irqs[at - 1].begin_ns;
    cpu.irqs.resize(at - 1);
    const std::string known = soft ? KernelNames::softirq(row.value) : names_.irq(row.value);
    slice(soft ? "softirq" : "irq", row_of(number, true),
          known.empty() ? fmt::format("{} {}", soft ? "softirq" : "IRQ", row.value) : known, begin, now,
          fmt::format(R"("number":{},"interrupted":{})", row.value, row.tid));
  }

  void slice(const char* category, std::uint64_t tid, const std::string& text, std::int64_t begin, std::int64_t end,
             const std::string& arguments) {
    add_(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                     json_text(text), category, pid_, tid, micros(begin),
                     micros(std::max<std::int64_t>(0, end - begin)), arguments));
  }

  const Trace& trace_;
  const KernelNames names_;
  KernelPauses pauses_;
  const std::uint64_t pid_;
  const std::int64_t shift_ns_;
  const std::function<void(std::string_view)>& add_;
  std::map<std::uint32_t, Cpu> cpus_;
  std::unordered_map<std::uint32_t, Wake> wakes_;  // of tasks that have not run since
  std::uint64_t arrows_ = 0;
};

}  // namespace

void write_chrome_kernel(const Trace& trace, std::uint64_t pid, std::int64_t shift_ns,
                         const std::function<void(std::string_view)>& add) {
  CpuRows(trace, pid, shift_ns, add).write();
}

}  // namespace hostprobe::analysis
