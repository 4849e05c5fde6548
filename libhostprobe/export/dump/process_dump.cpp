// process_dump.cpp: every record of a process; see dump_output.h.
#include <unordered_map>

#include "dump_output.h"
#include "model/ordered_records.h"
#include "model/switches.h"
#include "tables/record_arguments.h"
#include "trace/roles.h"
#include "words/json_string.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

struct FlagName {
  std::uint16_t flag;
  const char* name;
};
constexpr FlagName kFlags[] = {{kRecordFailed, "failed"},
                               {kRecordCancelled, "cancelled"},
                               {kRecordTimedOut, "timed_out"},
                               {kRecordAtOnce, "at_once"},
                               {kRecordFile, "file"},
                               {kRecordAggregated, "summed"},
                               {kRecordAfterSkipped, "after_skipped"},
                               {kRecordRelative, "relative"},
                               {kRecordCaptured, "captured"}};

class Dump : DumpOutput {
 public:
  Dump(const Trace& trace, Symbols& symbols, DumpForm form, const Sink& sink, bool switches)
      : DumpOutput(sink),
        trace_(trace),
        switches_(switches ? Switches(trace) : Switches()),
        symbols_(symbols),
        json_(form == DumpForm::kJson),
        roles_(roles_of(trace, symbols)),
        arguments_(trace, symbols, roles_, json_) {}

  void write() {
    for (const auto& [key, thread] : trace_.threads) write_thread(thread);
    write_lost_of_nobody();
    flush(0);
  }

 private:
  void write_thread(const Thread& thread) {
    const char* role = role_name(roles_.at(thread.key));
    head_ = json_ ? fmt::format(R"({{"pid":{},"tid":{},"role":"{}")", trace_.header.pid, thread.key.tid, role)
                  : fmt::format("{:>7} {:>7} {:<13} ", trace_.header.pid, thread.key.tid, role);
    OrderedRecords records(
        thread, [this](const Record& record) { write_record(record); },
        [this](std::uint64_t count) { write_lost(count); }, [this](std::uint64_t count) { write_summed(count); });
    records.walk();
    for (const OffCpu& span : switches_.of(thread.key).spans()) write_switch(span);
  }

  void write_switch(const OffCpu& span) {
    const char* why = span.runnable ? "preempted" : "waits";
    const std::uint64_t begin = trace_.clock.monotonic_ns_of(span.out_ns);
    const double length = span.in_ns - span.out_ns;
    if (json_)
      print(R"({},"off_cpu":"{}","begin_ns":{},"duration_ns":{:.0f},"cpu":{},"next_cpu":{}}})"
            "\n",
            head_, why, begin, length, span.out_cpu, span.in_cpu);
    else
      print("{}{:>16.6f} {:>10} off CPU {}: {}\n", head_, 1e-9 * static_cast<double>(begin), duration_text(length),
            span.out_cpu, why);
    flush(kFlushBytes);
  }

  // Losses the process counted that belong to no thread in the trace: of threads that got no entry, or of the last
  // chunks of a file that could not be written.
  void write_lost_of_nobody() {
    if (trace_.lost_without_thread == 0) return;
    head_ = json_ ? fmt::format(R"({{"pid":{},"tid":null,"role":null)", trace_.header.pid)
                  : fmt::format("{:>7} {:>7} {:<13} ", trace_.header.pid, "-", "-");
    write_lost(trace_.lost_without_thread);
  }

  void write_record(const Record& record) {
    const Hook* hook = trace_.hook_of(record);
    const std::string& name = hook != nullptr ? hook->name : unknown_hook(record.hook);
    const std::uint64_t begin = trace_.clock.monotonic_ns(record.begin_ticks);
    const double length = trace_.clock.span_ns(record.begin_ticks, record.end_ticks);
    if (json_) {
      print(R"({},"function":{},"begin_ns":{},"duration_ns":{:.0f},"args":{{)", head_, arguments_.json_name(name),
            begin, length);
    } else {
      print("{}{:>16.6f} {:>10} {}(", head_, 1e-9 * static_cast<double>(begin),
            is_end_seen(record) ? duration_text(length) : "no end", printable(name));
    }
    if (hook != nullptr) arguments_.write(buffer(), *hook, record);
    print("{}", json_ ? "}" : ")");
    if (json_ && !is_end_seen(record)) print(R"(,"no_end":true)");
    write_flags(record);
    if (json_ && record.stack != 0) write_stack(record.stack);
    print("{}", json_ ? "}\n" : "\n");
    flush(kFlushBytes);
  }

  // A dump of the Flight Recorder has operations that go on, and some whose end PyTorch did not look for.
  bool is_end_seen(const Record& record) const {
    return trace_.header.source != kFromDump || record.end_ticks != record.begin_ticks;
  }

  void write_lost(std::uint64_t count) {
    if (json_) {
      print(R"({},"lost":{}}})"
            "\n",
            head_, count);
    } else {
      print("{}{} records lost here\n", head_, count);
    }
    flush(kFlushBytes);
  }

  // Nothing is missing there; a person may wonder all the same.
  void write_summed(std::uint64_t count) {
    if (!json_) print("{}{} records are in counters only\n", head_, count);
  }

  void write_flags(const Record& record) {
    for (const FlagName& flag : kFlags) {
      if ((record.flags & flag.flag) == 0) continue;
      if (json_) {
        print(R"(,"{}":true)", flag.name);
      } else {
        print(" {}", flag.name);
      }
    }
  }

  void write_stack(std::uint16_t id) {
    const auto stack = trace_.stacks.find(id - 1u);
    if (stack == trace_.stacks.end()) return;
    std::string& text = stacks_[id];
    if (text.empty()) {
      for (const std::string& line : stack_text(trace_, stack->second, symbols_)) {
        if (!text.empty()) text += ',';
        text += json_text(line);
      }
    }
    print(R"(,"stack":[{}])", text);
  }

  const std::string& unknown_hook(std::uint16_t hook) {
    std::string& name = unknown_[hook];
    if (name.empty()) name = fmt::format("hook_{}", hook);
    return name;
  }

  const Trace& trace_;
  const Switches switches_;
  Symbols& symbols_;
  const bool json_;
  const ThreadRoles roles_;
  RecordArguments arguments_;
  std::string head_;
  std::unordered_map<std::uint16_t, std::string> stacks_, unknown_;
};

}  // namespace

void dump_process(const Trace& trace, Symbols& symbols, DumpForm form, const Sink& sink, bool switches) {
  Dump(trace, symbols, form, sink, switches).write();
}

}  // namespace hostprobe::analysis
