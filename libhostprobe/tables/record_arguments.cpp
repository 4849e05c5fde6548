// record_arguments.cpp: see record_arguments.h.
#include "record_arguments.h"

#include <bit>

#include "words/json_string.h"
#include "words/words.h"

namespace hostprobe::analysis {

ThreadRoles roles_of(const Trace& trace, Symbols& symbols) {
  ThreadRoles roles;
  for (const auto& [key, thread] : trace.threads) roles[key] = role_of(trace, thread, symbols);
  return roles;
}

std::string_view nccl_type_name(std::uint64_t call) {
  static constexpr std::string_view kTypes[] = {"int8", "uint8", "int32", "uint32", "int64",    "uint64",
                                                "fp16", "fp32",  "fp64",  "bf16",   "fp8_e4m3", "fp8_e5m2"};
  const std::uint64_t type = call >> 48 & 0xff;
  return type < std::size(kTypes) ? kTypes[type] : std::string_view();
}

// 255 stands for none.
std::string_view nccl_op_name(std::uint64_t call) {
  static constexpr std::string_view kOps[] = {"sum", "prod", "max", "min", "avg"};
  const std::uint64_t op = call >> 56;
  return op < std::size(kOps) ? kOps[op] : op == 0xff ? std::string_view() : "custom";
}

void RecordArguments::write(fmt::memory_buffer& out, const Hook& hook, const Record& record) {
  out_ = &out;
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

void RecordArguments::write_word(const Label& label, std::uint64_t value, const Record& record) {
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

void RecordArguments::write_nccl_call(std::uint64_t call) {
  const std::string_view type = nccl_type_name(call), op = nccl_op_name(call);
  if (json_) {
    print(R"({{"sequence":{},"group":{},"type":)", call & 0xffffffffu, call >> 32 & 0xffffu);
    write_text(type);
    print(R"(,"op":)");
    write_text(op);
    print("}}");
  } else {
    print("#{} group {} {} {}", call & 0xffffffffu, call >> 32 & 0xffffu, type.empty() ? "-" : type,
          op.empty() ? "-" : op);
  }
}

void RecordArguments::write_ranks(std::uint64_t ranks) {
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

void RecordArguments::write_text(std::string_view text) {
  if (text.empty()) {
    print("{}", json_ ? "null" : "?");
  } else {
    print("{}", json_ ? json_text(text) : printable(text));
  }
}

void RecordArguments::write_post(std::uint64_t post, const Record& record) {
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

const std::string& RecordArguments::json_name(const std::string& name) {
  std::string& text = json_names_[name];
  if (text.empty()) text = json_text(name);
  return text;
}

const std::string& RecordArguments::code_text(std::uint64_t address, bool is_return_address) {
  std::string& text = places_[{address, is_return_address}];
  if (text.empty()) text = symbols_.place(trace_, address, is_return_address).text();
  return text;
}

}  // namespace hostprobe::analysis
