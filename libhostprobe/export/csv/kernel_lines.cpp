// kernel_lines.cpp: see kernel_lines.h.
#include "kernel_lines.h"

#include <fmt/format.h>

#include <map>

#include "trace/kernel_rows.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostNested = 64;

class KernelLines {
 public:
  KernelLines(const Trace& trace, const std::function<void(const TableRow&)>& put)
      : trace_(trace), names_(trace), put_(put) {}

  void write() {
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) add(step);
  }

 private:
  struct OpenIrq {
    bool soft;
    std::uint32_t number;
    std::uint64_t begin_ns;
  };

  void begin(const KernelStep& step, std::string_view event, std::string_view type, std::uint32_t tid) {
    row_.clear();
    row_[Column::kEvent] = event;
    row_[Column::kType] = type;
    row_[Column::kTime] = fmt::to_string(now_);
    row_[Column::kPid] = fmt::to_string(names_.process_of(tid));
    row_[Column::kTid] = fmt::to_string(tid);
    row_[Column::kThreadName] = names_.task(tid, step.row.ticks).name;
    row_[Column::kCpu] = fmt::to_string(step.cpu);
  }

  void add(const KernelStep& step) {
    const KernelRow& row = step.row;
    now_ = trace_.clock.monotonic_ns(row.ticks);
    if (row.what == kKernelSwitch) return add_switch(step);
    const bool soft = row.what == kKernelSoftirqBegin || row.what == kKernelSoftirqEnd;
    const bool starts = row.what == kKernelIrqBegin || row.what == kKernelSoftirqBegin;
    if (!starts && row.what != kKernelIrqEnd && row.what != kKernelSoftirqEnd) return;
    begin(step, soft ? (starts ? "softirqEntry" : "softirqExit") : (starts ? "hardirqEntry" : "hardirqExit"),
          row_type::kInterrupt, row.tid);
    row_[Column::kIrqNumber] = fmt::to_string(row.value);
    row_[Column::kIrqName] = soft ? KernelNames::softirq(row.value) : names_.irq(row.value);
    std::vector<OpenIrq>& open = open_[step.cpu];
    if (starts && open.size() < kMostNested) open.push_back({soft, row.value, now_});
    if (!starts) set_duration(open, soft, row.value);
    put_(row_);
  }

  void set_duration(std::vector<OpenIrq>& open, bool soft, std::uint32_t number) {
    std::size_t at = open.size();
    while (at > 0 && (open[at - 1].soft != soft || open[at - 1].number != number)) --at;
    if (at == 0) return;
    row_[Column::kDuration] = fmt::to_string(now_ - open[at - 1].begin_ns);
    open.resize(at - 1);
  }

  // Of a CPU that has nothing to do there is no line.
  void add_switch(const KernelStep& step) {
    if (step.row.tid != 0) {
      begin(step, "schedSwitch", row_type::kSwitch, step.row.tid);
      row_[Column::kLastOff] = fmt::to_string(now_);
      row_[Column::kLastOn] = "0";
      row_[Column::kFlags] = fmt::to_string(step.row.value);
      put_(row_);
    }
    if (step.row.other == 0) return;
    begin(step, "schedSwitch", row_type::kSwitch, step.row.other);
    row_[Column::kLastOff] = "0";
    row_[Column::kLastOn] = fmt::to_string(now_);
    put_(row_);
  }

  const Trace& trace_;
  const KernelNames names_;
  const std::function<void(const TableRow&)>& put_;
  TableRow row_;
  std::uint64_t now_ = 0;
  std::map<std::uint32_t, std::vector<OpenIrq>> open_;
};

}  // namespace

void write_kernel_lines(const Trace& trace, const std::function<void(const TableRow&)>& put) {
  KernelLines(trace, put).write();
}

}  // namespace hostprobe::analysis
