// kernel_dump.cpp: what the kernel told of a machine; see dump_output.h.
#include "dump_output.h"
#include "trace/kernel_rows.h"
#include "trace/kernel_totals.h"
#include "words/json_string.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

class KernelDump : DumpOutput {
 public:
  KernelDump(const Trace& trace, DumpForm form, const Sink& sink)
      : DumpOutput(sink), trace_(trace), names_(trace), json_(form == DumpForm::kJson) {}

  void write() {
    KernelWalk walk(trace_);
    KernelStep step;
    while (walk.next(step)) {
      if (step.lost > 0) write_lost(step.cpu, step.lost);
      write_row(step);
      flush(kFlushBytes);
    }
    for (const KernelPart& part : kernel_parts(trace_))
      if (part.head.count == 0 && part.head.lost > 0) write_lost(part.head.cpu, part.head.lost);
    for (const KernelTotalsPart& part : kernel_totals(trace_)) {
      for (std::uint32_t i = 0; i < part.head.threads; ++i) write_totals(part.head, part.thread(i));
      flush(kFlushBytes);
    }
    flush(0);
  }

 private:
  std::string name_of(std::uint32_t tid, std::uint64_t ticks) const {
    return tid == 0 ? "idle" : names_.task(tid, ticks).name;
  }

  void write_row(const KernelStep& step) {
    const KernelRow& row = step.row;
    const std::uint64_t at = trace_.clock.monotonic_ns(row.ticks);
    const std::string event =
        kernel_event_name(row.what)[0] != '\0' ? kernel_event_name(row.what) : fmt::format("kernel_event_{}", row.what);
    const std::string comm = name_of(row.tid, row.ticks);
    if (json_)
      print(
          R"({{"pid":{},"tid":{},"role":null,"function":"{}","begin_ns":{},"duration_ns":0,"args":{{"cpu":{},"comm":{})",
          names_.process_of(row.tid), row.tid, event, at, step.cpu, json_text(comm));
    else
      print("{:>7} {:>7} {:<13} {:>16.6f} {:>10} {}(cpu={}, comm={}", names_.process_of(row.tid), row.tid, "-",
            1e-9 * static_cast<double>(at), "-", event, step.cpu, printable(comm));
    write_arguments(row);
    print("{}", json_ ? "}}\n" : ")\n");
  }

  // What was added up of a thread between two moments.
  void write_totals(const KernelTotalsHead& head, const KernelThreadTotals& totals) {
    const std::uint64_t begin = trace_.clock.monotonic_ns(head.begin_ticks);
    const std::uint64_t length = trace_.clock.monotonic_ns(head.end_ticks) - begin;
    const std::string comm = name_of(totals.process, head.end_ticks);
    if (json_)
      print(
          R"({{"pid":{},"tid":{},"role":null,"function":"kernel_totals","begin_ns":{},"duration_ns":{},"args":{{"comm":{})",
          totals.process, totals.tid, begin, length, json_text(comm));
    else
      print("{:>7} {:>7} {:<13} {:>16.6f} {:>10.3f} kernel_totals(comm={}", totals.process, totals.tid, "-",
            1e-9 * static_cast<double>(begin), 1e-3 * static_cast<double>(length), printable(comm));
    number("switches", totals.switches);
    number("woken_ns", totals.woken_ns);
    number("preempted_ns", totals.preempted_ns);
    number("own_took_ns", totals.own_ns);
    number("unknown_ns", totals.unknown_ns);
    print("{}", json_ ? "}}\n" : ")\n");
  }

  void write_arguments(const KernelRow& row) {
    switch (row.what) {
      case kKernelSwitch:
        number("next", row.other);
        text("next_comm", name_of(row.other, row.ticks));
        return text("left", kernel_left_name(row.value));
      case kKernelWake:
      case kKernelMigrate:
        number(row.what == kKernelWake ? "woken" : "moved", row.other);
        text(row.what == kKernelWake ? "woken_comm" : "moved_comm", name_of(row.other, row.ticks));
        return number("target_cpu", row.value);
      case kKernelIrqBegin:
      case kKernelIrqEnd:
        number("irq", row.value);
        return text("name", names_.irq(row.value));
      case kKernelSoftirqBegin:
      case kKernelSoftirqEnd:
        number("vector", row.value);
        return text("name", KernelNames::softirq(row.value));
      case kKernelFork:
        return number("child", row.other);
      default:
        return;
    }
  }

  void number(const char* name, std::uint64_t value) {
    if (json_)
      print(",\"{}\":{}", name, value);
    else
      print(", {}={}", name, value);
  }
  void text(const char* name, std::string_view value) {
    if (json_)
      print(",\"{}\":{}", name, json_text(value));
    else
      print(", {}={}", name, printable(value));
  }

  void write_lost(std::uint32_t cpu, std::uint64_t count) {
    if (json_)
      print(R"({{"pid":null,"tid":null,"role":null,"cpu":{},"lost":{}}})"
            "\n",
            cpu, count);
    else
      print("{} events of CPU {} lost here\n", count, cpu);
  }

  const Trace& trace_;
  const KernelNames names_;
  const bool json_;
};

}  // namespace

void dump_kernel(const Trace& trace, DumpForm form, const Sink& sink) { KernelDump(trace, form, sink).write(); }

}  // namespace hostprobe::analysis
