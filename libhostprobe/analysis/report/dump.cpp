// dump.cpp: see dump.h.
#include "dump.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <system_error>
#include <unordered_map>

#include "analysis/timeline/ordered_records.h"
#include "analysis/trace/reader.h"
#include "analysis/trace/roles.h"
#include "analysis/trace/symbols.h"
#include "words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

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

class Dump {
 public:
  Dump(const Trace& trace, Symbols& symbols, DumpForm form, const Sink& sink)
      : trace_(trace), symbols_(symbols), json_(form == DumpForm::kJson), sink_(sink) {
    for (const auto& [key, thread] : trace.threads) roles_[key] = role_of(trace, thread, symbols);
  }

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
      print(R"({},"function":{},"begin_ns":{},"duration_ns":{:.0f},"args":{{)", head_, json_name(name), begin, length);
    } else {
      print("{}{:>16.6f} {:>10} {}(", head_, 1e-9 * static_cast<double>(begin), duration_text(length), printable(name));
    }
    if (hook != nullptr) write_arguments(*hook, record);
    print("{}", json_ ? "}" : ")");
    write_flags(record);
    if (json_ && record.stack != 0) write_stack(record.stack);
    print("{}", json_ ? "}\n" : "\n");
    flush(kFlushBytes);
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

  void write_arguments(const Hook& hook, const Record& record) {
    const char* separator = "";
    for (int i = 0; i < 5; ++i) {
      const Label& label = hook.labels[i];
      if (label.name.empty()) continue;
      if (json_) {
        print("{}{}:", separator, json_name(label.name));
      } else {
        print("{}{}=", separator, printable(label.name));
      }
      write_word(label, word(record, i), record);
      separator = json_ ? "," : ", ";
    }
  }

  void write_word(const Label& label, std::uint64_t value, const Record& record) {
    switch (label.form) {
      case Form::kDecimal:
      case Form::kMicroseconds:
        print("{}", value);
        break;
      case Form::kSigned:
        print("{}", static_cast<std::int64_t>(value));
        break;
      case Form::kHex:
        print("{}{:#x}{}", quote(), value, quote());
        break;
      case Form::kCode:
        write_text(value == 0 ? std::string() : code_text(value, label.name == "site"));
        break;
      case Form::kString:
        write_text(trace_.strings.text(value));
        break;
      case Form::kDim:
        print("[{},{},{}]", value & 0xffffffffu, value >> 32 & 0xffffu, value >> 48);
        break;
      case Form::kPost:
        write_post(value, record);
        break;
      case Form::kNcclCall:
        write_nccl_call(value);
        break;
      case Form::kRanks:
        write_ranks(value);
        break;
      case Form::kReal:
        print("{}", real_text(std::bit_cast<double>(value)));
        break;
    }
  }

  // Numbers of nccl.h's enumerations; 255 stands for none.
  void write_nccl_call(std::uint64_t call) {
    static constexpr const char* kTypes[] = {"int8", "uint8", "int32", "uint32", "int64",    "uint64",
                                             "fp16", "fp32",  "fp64",  "bf16",   "fp8_e4m3", "fp8_e5m2"};
    static constexpr const char* kOps[] = {"sum", "prod", "max", "min", "avg"};
    const std::uint64_t type = call >> 48 & 0xff, op = call >> 56;
    const std::string type_text = type < std::size(kTypes) ? kTypes[type] : "";
    const std::string op_text = op < std::size(kOps) ? kOps[op] : op == 0xff ? "" : "custom";
    if (json_) {
      print(R"({{"sequence":{},"group":{},"type":)", call & 0xffffffffu, call >> 32 & 0xffffu);
      write_text(type_text);
      print(R"(,"op":)");
      write_text(op_text);
      print("}}");
    } else {
      print("#{} group {} {} {}", call & 0xffffffffu, call >> 32 & 0xffffu, type_text.empty() ? "-" : type_text,
            op_text.empty() ? "-" : op_text);
    }
  }

  void write_ranks(std::uint64_t ranks) {
    const auto part = [ranks](unsigned shift) { return ranks >> shift & 0x1fffffu; };
    const auto number = [](std::uint64_t plus_one) {
      return plus_one == 0 ? std::string("null") : std::to_string(plus_one - 1);
    };
    if (json_) {
      print(R"({{"rank":{},"size":{},"peer":{}}})", number(part(0)), part(21) == 0 ? "null" : std::to_string(part(21)),
            number(part(42)));
    } else {
      print("rank {} of {}{}", part(0) == 0 ? "?" : number(part(0)), part(21) == 0 ? "?" : std::to_string(part(21)),
            part(42) == 0 ? "" : " peer " + number(part(42)));
    }
  }

  void write_text(std::string_view text) {
    if (text.empty()) {
      print("{}", json_ ? "null" : "?");
    } else {
      print("{}", json_ ? json_text(text) : printable(text));
    }
  }

  void write_post(std::uint64_t post, const Record& record) {
    const std::uint64_t ticks = post_ticks(post, record.end_ticks);
    if (post == 0 || ticks < record.begin_ticks) {
      print("{}", json_ ? "null" : "?");
      return;
    }
    const Thread* waker = trace_.thread_at(post_tid(post), ticks);
    const char* role = waker == nullptr ? "unknown" : role_name(roles_.at(waker->key));
    const double wake = trace_.clock.span_ns(ticks, record.end_ticks);
    if (json_) {
      print(R"({{"tid":{},"role":"{}","wake_ns":{:.0f}}})", post_tid(post), role, wake);
    } else {
      print("{} {} {} before the return", role, post_tid(post), duration_text(wake));
    }
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

  // A site is a return address, one behind its call; a start routine is where a function begins.
  const std::string& code_text(std::uint64_t address, bool is_return_address) {
    std::string& text = places_[{address, is_return_address}];
    if (text.empty()) text = symbols_.place(trace_, address, is_return_address).text();
    return text;
  }

  // Names repeat for every record of a hook; escaping each anew would be most of the work.
  const std::string& json_name(const std::string& name) {
    std::string& text = json_names_[name];
    if (text.empty()) text = json_text(name);
    return text;
  }

  const std::string& unknown_hook(std::uint16_t hook) {
    std::string& name = unknown_[hook];
    if (name.empty()) name = fmt::format("hook_{}", hook);
    return name;
  }

  const char* quote() const { return json_ ? "\"" : ""; }

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
  }

  void flush(std::size_t from_bytes) {
    if (buffer_.size() < from_bytes || buffer_.size() == 0) return;
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

  const Trace& trace_;
  Symbols& symbols_;
  const bool json_;
  const Sink& sink_;
  std::map<ThreadKey, Role> roles_;
  std::string head_;
  fmt::memory_buffer buffer_;
  std::map<std::pair<std::uint64_t, bool>, std::string> places_;
  std::unordered_map<std::string, std::string> json_names_;
  std::unordered_map<std::uint16_t, std::string> stacks_, unknown_;
};

}  // namespace

std::vector<std::string> dump_run(const std::string& path, DumpForm form, const Sink& sink) {
  std::vector<std::string> problems;
  Symbols symbols;
  for (const std::string& file : trace_paths(path)) {
    try {
      const Trace trace = read_trace(file);
      Dump(trace, symbols, form, sink).write();
      for (const Damage& damage : trace.damages) {
        problems.push_back(
            fmt::format("{}: {} bytes at offset {}: {}", file, damage.bytes, damage.offset, damage.what));
      }
    } catch (const TraceError& error) {
      problems.push_back(fmt::format("{}: offset {}: {}", file, error.offset, error.what()));
    } catch (const std::system_error& error) {
      problems.push_back(fmt::format("{}: {}", file, error.what()));
    }
  }
  return problems;
}

}  // namespace hostprobe::analysis
