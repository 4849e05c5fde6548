// table_kernel.cpp: see table_kernel.h.
#include "table_kernel.h"

#include <algorithm>
#include <charconv>

#include "trace/trace_writer.h"

namespace hostprobe::analysis {
namespace {

constexpr std::uint64_t kMostNs = std::uint64_t{1} << 62;
constexpr std::uint64_t kSecondNs = 1'000'000'000;

std::optional<std::uint64_t> number(const std::string& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && value <= most;
  return is_whole ? std::optional(value) : std::nullopt;
}

std::uint32_t what_of(const std::string& event) {
  if (event == "hardirqEntry") return kKernelIrqBegin;
  if (event == "hardirqExit") return kKernelIrqEnd;
  if (event == "softirqEntry") return kKernelSoftirqBegin;
  if (event == "softirqExit") return kKernelSoftirqEnd;
  return event == "schedSwitch" ? std::uint32_t{kKernelSwitch} : 0;
}

}  // namespace

bool TableKernel::is_kernel_event(const std::string& event) { return what_of(event) != 0; }

void TableKernel::add_process(const TableRow& row) {
  const auto real = number(row[Column::kRealtime], kMostNs), ns = number(row[Column::kTime], kMostNs);
  if (real && ns && *real > *ns) realtime_offset_ns_ = *real - *ns;
}

void TableKernel::add(const TableRow& row) {
  const auto ns = number(row[Column::kTime], kMostNs), cpu = number(row[Column::kCpu], 1 << 16);
  const auto tid = number(row[Column::kTid], 1 << 30), pid = number(row[Column::kPid], 1 << 30);
  KernelRow event{};
  event.what = static_cast<std::uint16_t>(what_of(row[Column::kEvent]));
  const auto irq = number(row[Column::kIrqNumber], UINT32_MAX);
  if (!ns || !cpu || !tid || (event.what != kKernelSwitch && !irq))
    return left_out_.add("switches and interrupts without a time, a CPU, a thread or a number");
  const auto number_of_cpu = static_cast<std::uint32_t>(*cpu);
  table_.names().add_task(static_cast<std::uint32_t>(*tid), *ns, row[Column::kThreadName],
                          static_cast<std::uint32_t>(pid.value_or(0)));
  event.tid = static_cast<std::uint32_t>(*tid);
  if (event.what != kKernelSwitch) {
    put_going();
    event.value = static_cast<std::uint32_t>(*irq);
    if (event.what == kKernelIrqBegin) table_.names().add_irq(event.value, row[Column::kIrqName]);
    return table_.add(number_of_cpu, *ns, event);
  }
  const bool goes = number(row[Column::kLastOff], UINT64_MAX).value_or(0) != 0;
  if (goes) {
    put_going();
    event.value = static_cast<std::uint32_t>(number(row[Column::kFlags], kLeftDead).value_or(kLeftSleeping));
    going_ = Going{number_of_cpu, *ns, event};
    return;
  }
  const bool is_one = going_ && going_->cpu == number_of_cpu && going_->ns == *ns;
  if (is_one) event = going_->row;
  if (is_one)
    going_.reset();
  else
    event.tid = 0;
  put_going();
  event.other = static_cast<std::uint32_t>(*tid);
  table_.add(number_of_cpu, *ns, event);
}

void TableKernel::put_going() {
  if (going_) table_.add(going_->cpu, going_->ns, going_->row);
  going_.reset();
}

std::string TableKernel::finish(const std::string& run, const std::string& source) {
  put_going();
  if (table_.rows() == 0) return {};
  const auto moment = [this](std::uint64_t ns) {
    const std::uint64_t at = std::max<std::uint64_t>(ns, 1);
    return ClockPair{at, at, realtime_offset_ns_ == 0 ? at : at + realtime_offset_ns_};
  };
  FileHeader header{};
  header.source = kFromKernel;
  header.rank = header.local_rank = header.world_size = -1;
  header.start = moment(table_.first_ticks());
  header.last = moment(table_.last_ticks());
  set_field(header.mode, "table");
  set_field(header.command, source);
  TraceWriter out(run, header);
  out.add_clock(moment(table_.last_ticks() + kSecondNs));
  table_.write(out);
  return out.finish();
}

}  // namespace hostprobe::analysis
