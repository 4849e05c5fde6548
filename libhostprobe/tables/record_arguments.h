// record_arguments.h: the five words of a record, each as its label says, in text or as members of a JSON object.
//
// Room 3.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/roles.h"
#include "trace/symbols.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

using ThreadRoles = std::map<ThreadKey, Role>;
ThreadRoles roles_of(const Trace& trace, Symbols& symbols);

// By the numbers of nccl.h's enumerations; "" where there is none.
std::string_view nccl_type_name(std::uint64_t call);
std::string_view nccl_op_name(std::uint64_t call);

class RecordArguments {
 public:
  // All of them must outlive it.
  RecordArguments(const Trace& trace, Symbols& symbols, const ThreadRoles& roles, bool json)
      : trace_(trace), symbols_(symbols), roles_(roles), json_(json) {}

  // Without brackets; nothing where no word is used.
  void write(fmt::memory_buffer& out, const Hook& hook, const Record& record);

  // Names repeat for every record of a hook; escaping each anew would be most of the work.
  const std::string& json_name(const std::string& name);
  // A site is a return address, one behind its call; a start routine is where a function begins.
  const std::string& code_text(std::uint64_t address, bool is_return_address);

 private:
  void write_word(const Label& label, std::uint64_t value, const Record& record);
  void write_nccl_call(std::uint64_t call);
  void write_ranks(std::uint64_t ranks);
  void write_text(std::string_view text);
  void write_post(std::uint64_t post, const Record& record);
  const char* quote() const { return json_ ? "\"" : ""; }

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(*out_), format, std::forward<Args>(args)...);
  }

  const Trace& trace_;
  Symbols& symbols_;
  const ThreadRoles& roles_;
  const bool json_;
  fmt::memory_buffer* out_ = nullptr;
  std::map<std::pair<std::uint64_t, bool>, std::string> places_;
  std::unordered_map<std::string, std::string> json_names_;
};

}  // namespace hostprobe::analysis
