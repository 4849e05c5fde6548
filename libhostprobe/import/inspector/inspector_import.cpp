// inspector_import.cpp: see inspector_import.h.
#include "inspector_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include "import/input/call_trace.h"
#include "import/input/json_values.h"
#include "import/kineto/collective_names.h"
#include "object_text.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostProcesses = 4096;
constexpr std::int64_t kMostMicros = std::int64_t{1} << 52;
constexpr int kByte = 1;  // as in nccl.h: sizes of messages are given in bytes

std::optional<std::int64_t> number_of(const PlainValue* map, std::string_view name) {
  const PlainValue* value = map == nullptr ? nullptr : map->find(name);
  return value == nullptr ? std::nullopt : value->number();
}

std::optional<std::int64_t> micros_of(const PlainValue* map, std::string_view name) {
  const auto us = number_of(map, name);
  return us && *us > 0 && *us < kMostMicros ? us : std::nullopt;
}

std::string text_of(const PlainValue* map, std::string_view name) {
  const PlainValue* value = map == nullptr ? nullptr : map->find(name);
  return value == nullptr ? "" : value->text;
}

// "0x7f8c496ae9f661"; 0: it is no number.
std::uint64_t communicator_of(const std::string& id) {
  const std::string_view digits = std::string_view(id).substr(id.starts_with("0x") ? 2 : 0);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
}

int small_of(const PlainValue* map, std::string_view name) {
  const auto number = number_of(map, name);
  return number && *number >= 0 && *number < 1 << 20 ? static_cast<int>(*number) : -1;
}

struct Operation {
  std::string name;
  std::uint64_t communicator = 0, bytes = 0;
  std::uint32_t sequence = 0;
  int rank = -1, ranks = 0, peer = -1;
  std::int64_t begin_us = 0, end_us = 0;                // of the call
  std::int64_t kernel_begin_us = 0, kernel_end_us = 0;  // 0 = not known
  bool is_placed = true;                                // by a time of its own
};

// "event_trace_ts" of verbose files: when the call began and ended, and its kernel in each channel.
void set_times(const PlainValue* work, std::string_view kind, Operation& operation) {
  const PlainValue* times = work->find("event_trace_ts");
  const auto begin = micros_of(times, std::string(kind) + "_start_ts");
  if (!begin) return;
  operation.begin_us = *begin;
  operation.end_us = std::max(*begin, micros_of(times, std::string(kind) + "_stop_ts").value_or(*begin));
  operation.is_placed = true;
  operation.kernel_begin_us = operation.kernel_end_us = 0;
  const PlainValue* kernels = times->find("kernel_events");
  if (kernels == nullptr) return;
  for (const PlainValue* one : kernels->items) {
    const auto from = micros_of(one, "kernel_start_ts"), to = micros_of(one, "kernel_stop_ts");
    if (!from || !to || *to < *from) continue;
    operation.kernel_begin_us = operation.kernel_begin_us == 0 ? *from : std::min(operation.kernel_begin_us, *from);
    operation.kernel_end_us = std::max(operation.kernel_end_us, *to);
  }
}

// Nothing: it lacks what is needed.
std::optional<Operation> operation_of(const PlainValue& object) {
  const PlainValue* header = object.find("header");
  const PlainValue* coll = object.find("coll_perf");
  const PlainValue* work = coll != nullptr ? coll : object.find("p2p_perf");
  const std::string kind = coll != nullptr ? "coll" : "p2p";
  const auto dumped = micros_of(object.find("metadata"), "dump_timestamp_us");
  Operation operation;
  operation.name = collective_operation(text_of(work, kind));
  if (work == nullptr || !dumped || operation.name.empty()) return std::nullopt;
  operation.communicator = communicator_of(text_of(header, "id"));
  operation.rank = small_of(header, "rank");
  operation.ranks = std::max(small_of(header, "n_ranks"), 0);
  operation.peer = coll != nullptr ? -1 : small_of(work, "p2p_peer");
  operation.sequence =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(work, kind + "_sn").value_or(0), 0, UINT32_MAX));
  operation.bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(work, kind + "_msg_size_bytes").value_or(0), 0));
  // Without times of its own it ended by then, and nothing says when.
  const std::int64_t lasted = micros_of(work, kind + "_exec_time_us").value_or(0);
  operation.begin_us = operation.end_us = operation.kernel_begin_us = std::max<std::int64_t>(*dumped - lasted, 1);
  operation.kernel_end_us = *dumped;
  operation.is_placed = false;
  set_times(work, kind, operation);
  return operation;
}

class Import {
 public:
  Import(const std::string& path, const std::string& run, const ReadProgress& progress)
      : text_(path, progress), path_(path), run_(run) {}

  InspectorImport make() {
    std::string object;
    std::uint64_t begin = 0;
    while (text_.next(object, begin)) add(object, begin);
    if (made_.problem.empty()) made_.problem = text_.problem();
    for (auto& [key, process] : processes_)
      made_.traces.push_back(process->finish(made_.left_out, text_.problem(), text_.taken(), 0));
    if (made_.traces.empty() && made_.problem.empty()) made_.problem = "no collective of NCCL's Inspector is in it";
    return std::move(made_);
  }

 private:
  void add(const std::string& object, std::uint64_t begin) {
    PlainDocument document;
    const PlainReading reading = read_json_values(object, document);
    if (!reading.problem.empty() || reading.value == nullptr)
      return made_.left_out.add_at("objects that are damaged", begin);
    const auto operation = operation_of(*reading.value);
    if (!operation) return made_.left_out.add_at("objects without a collective, or a time", begin);
    if (CallTrace* process = process_of(*reading.value, *operation)) add_to(*process, *operation);
  }

  CallTrace* process_of(const PlainValue& object, const Operation& operation) {
    const PlainValue* metadata = object.find("metadata");
    const auto pid =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(metadata, "pid").value_or(0), 0, 1 << 30));
    const std::string host = text_of(metadata, "hostname");
    auto& own = processes_[{host, pid}];
    if (own) return own.get();
    if (processes_.size() > kMostProcesses) {
      processes_.erase({host, pid});
      made_.left_out.add("collectives of more processes than can be imported at once");
      return nullptr;
    }
    TracedOrigin origin;
    origin.source = kFromTable;
    origin.mode = "inspector";
    origin.pid = pid;
    origin.host = host;
    origin.rank = operation.rank;
    origin.world_size = operation.ranks > 0 ? operation.ranks : -1;
    origin.command = path_.substr(path_.rfind('/') + 1);
    origin.is_rank_guessed = operation.rank >= 0;
    origin.note = fmt::format("rank {} guessed from the first communicator in the file", operation.rank);
    if (made_.note.empty() && operation.rank >= 0) made_.note = origin.note;
    own = std::make_unique<CallTrace>(run_, origin);
    return own.get();
  }

  void add_to(CallTrace& process, const Operation& operation) {
    if (!operation.is_placed)
      made_.left_out.add("collectives without a time of their own, placed at when they were written");
    TimedCall call;
    call.tid = 1;
    call.begin_ns = 1000 * operation.begin_us;
    call.end_ns = 1000 * operation.end_us;
    call.hook = process.hook({.name = operation.name,
                              .family = Family::kNccl,
                              .labels = {"comm:hex", "count", "call:nccl", "", "place:ranks"}});
    call.flags = operation.sequence == 0 || operation.communicator == 0 ? kRecordRelative : 0;
    call.a = operation.communicator;
    call.b = operation.bytes;
    call.c = pack_nccl_call(operation.sequence, 0, kByte, kNcclNoOp);
    call.e = pack_nccl_ranks(operation.rank, operation.ranks, operation.peer);
    process.add(call);
    if (operation.kernel_end_us > operation.kernel_begin_us) add_kernel(process, operation, call.begin_ns);
  }

  void add_kernel(CallTrace& process, const Operation& operation, std::int64_t launched_ns) {
    TimedCall kernel;
    kernel.tid = kStreamTid;
    kernel.begin_ns = 1000 * operation.kernel_begin_us;
    kernel.end_ns = 1000 * operation.kernel_end_us;
    kernel.hook = process.hook({.name = "kernel",
                                .family = Family::kGpu,
                                .type = kRowKernel,
                                .labels = {"name:str", "stream", "launch", "bytes", "call"}});
    kernel.a = process.text("ncclDevKernel_" + operation.name);
    kernel.c = process.ticks(launched_ns);
    kernel.e = pack_pair(0, 1);
    process.add(kernel);
  }

  ObjectText text_;
  const std::string& path_;
  const std::string& run_;
  InspectorImport made_;
  std::map<std::pair<std::string, std::uint32_t>, std::unique_ptr<CallTrace>> processes_;
};

}  // namespace

InspectorImport import_inspector(const std::string& path, const std::string& run, const ReadProgress& progress) {
  return Import(path, run, progress).make();
}

}  // namespace hostprobe::analysis
