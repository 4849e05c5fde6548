// record_tables.cpp: see record_tables.h.
#include "record_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "answer/file_name.h"
#include "model/wake.h"
#include "trace/hook_list.h"
#include "words/words.h"

namespace hostprobe::tables {
namespace {

using analysis::Function;
using analysis::printable;

void put_number(const RecordRow& row, int word, Column& column) {
  if (word < 0)
    column.add_null();
  else
    column.add(row.word(word));
}

void put_string(const RecordRow& row, int word, Column& column) {
  const std::uint64_t id = row.word(word);
  column.add_word(id, [&] { return printable(row.of.trace().strings.text(id)); });
}

// Axis 0, 1 or 2 of a packed grid or block.
template <int axis>
void put_axis(const RecordRow& row, int word, Column& column) {
  if (word < 0) return column.add_null();
  const std::uint64_t dim = row.word(word);
  column.add(static_cast<std::uint32_t>(axis == 0 ? dim & 0xffffffffu : axis == 1 ? dim >> 32 & 0xffffu : dim >> 48));
}

template <int axis>
void put_grid(const RecordRow& row, Column& column) {
  put_axis<axis>(row, row.words->grid, column);
}
template <int axis>
void put_block(const RecordRow& row, Column& column) {
  put_axis<axis>(row, row.words->block, column);
}

template <std::uint16_t flag>
void put_flag(const RecordRow& row, Column& column) {
  column.add(row.has(flag));
}

// ---- of every record ----

void put_rank(const RecordRow& row, Column& column) {
  const int rank = row.of.trace().header.rank;
  if (rank < 0)
    column.add_null();
  else
    column.add(rank);
}

void put_thread(const RecordRow& row, Column& column) {
  const auto& tracks = row.of.open->timeline.tracks();
  column.add_word(static_cast<std::uint64_t>(&row.track - tracks.data()),
                  [&] { return printable(row.track.thread->name); });
}

void put_function(const RecordRow& row, Column& column) {
  column.add_word(row.record.hook, [&] {
    return row.function != nullptr ? printable(row.function->name) : fmt::format("hook_{}", row.record.hook);
  });
}

void put_stack(const RecordRow& row, Column& column) {
  column.add_word(row.record.stack, [&] {
    std::string text;
    const auto stack = row.of.trace().stacks.find(row.record.stack - 1u);
    if (row.record.stack == 0 || stack == row.of.trace().stacks.end()) return text;
    for (const std::string& line : analysis::stack_text(row.of.trace(), stack->second, row.of.symbols))
      text += (text.empty() ? "" : ";") + printable(line);
    return text;
  });
}

void put_caller(const RecordRow& row, Column& column) {
  const std::uint64_t site = row.word(row.words->site);
  if (site == 0) return column.add_null();
  column.add_word(site, [&] { return printable(row.of.arguments.code_text(site, true)); });
}

void put_library(const RecordRow& row, Column& column) {
  const std::uint64_t site = row.word(row.words->site);
  if (site == 0) return column.add_null();
  column.add_word(site, [&] {
    const analysis::Module* module = row.of.trace().module_at(site, row.record.end_ticks);
    return module == nullptr ? std::string() : printable(analysis::base_name(module->path));
  });
}

const RecordColumn kRank{{"rank", Type::kInt32, true, "of the job; null: the process has none"}, put_rank};
const RecordColumn kPid{{"pid", Type::kInt32, false, "process"},
                        [](const RecordRow& row, Column& column) { column.add(row.of.trace().header.pid); }};
const RecordColumn kHost{{"host", Type::kWord, true, "its host's name"}, [](const RecordRow& row, Column& column) {
                           column.add_word(0, [&] { return printable(row.of.host); });
                         }};
const RecordColumn kTid{{"tid", Type::kInt32, false, "thread that called"},
                        [](const RecordRow& row, Column& column) { column.add(row.track.key().tid); }};
const RecordColumn kThread{{"thread", Type::kWord, true, "its name"}, put_thread};
const RecordColumn kRole{{"role", Type::kWord, true, "what it is for"}, [](const RecordRow& row, Column& column) {
                           column.add_word(static_cast<std::uint64_t>(row.track.role),
                                           [&] { return std::string(role_name(row.track.role)); });
                         }};
const RecordColumn kFunction{{"function", Type::kWord, true, "what it called"}, put_function};
const RecordColumn kBegin{{"begin_ns", Type::kInt64, false, "begin of the call, since the run began"},
                          [](const RecordRow& row, Column& column) { column.add(row.begin_ns); }};
const RecordColumn kDuration{{"duration_ns", Type::kInt64, false, "from begin to return"},
                             [](const RecordRow& row, Column& column) { column.add(row.duration_ns); }};
const RecordColumn kFailed{{"failed", Type::kBool, false, "the function reported an error"}, put_flag<kRecordFailed>};
const RecordColumn kStream{{"stream", Type::kUint64, true, "the stream's handle; null: it was given none"},
                           [](const RecordRow& row, Column& column) { put_number(row, row.words->stream, column); }};
const RecordColumn kCaller{{"caller", Type::kWord, true, "code that called, as in `dump`"}, put_caller};
const RecordColumn kLibrary{{"library", Type::kWord, true, "the module of the code that called"}, put_library};
const RecordColumn kStack{
    {"stack", Type::kWord, true, "frames from the innermost on, with ; between; null: none was taken"}, put_stack};

// What every table of records begins with.
std::vector<RecordColumn> with_head(std::vector<RecordColumn> own) {
  std::vector<RecordColumn> columns{kRank, kPid, kHost, kTid, kThread, kRole, kFunction, kBegin, kDuration};
  columns.insert(columns.end(), own.begin(), own.end());
  return columns;
}

// ---- launches ----

RecordTable launches() {
  return {
      "launches", "calls that give the GPU work",
      [](const Function& function) { return function.is(analysis::kLaunches); }, false,
      with_head({kStream,
                 {{"kernel", Type::kWord, true, "its name; null: a graph, a host function, or not known"},
                  [](const RecordRow& row, Column& column) { put_string(row, row.words->kernel, column); }},
                 {{"graph", Type::kUint64, true, "handle of the graph; null: no graph"},
                  [](const RecordRow& row, Column& column) { put_number(row, row.words->graph, column); }},
                 {{"nodes", Type::kUint64, true, "of a graph; 0: its making was not seen"},
                  [](const RecordRow& row, Column& column) { put_number(row, row.words->nodes, column); }},
                 {{"kernels", Type::kUint64, true, "of a graph"},
                  [](const RecordRow& row, Column& column) { put_number(row, row.words->kernels, column); }},
                 {{"grid_x", Type::kUint32, true, "blocks"}, put_grid<0>},
                 {{"grid_y", Type::kUint32, true, "blocks"}, put_grid<1>},
                 {{"grid_z", Type::kUint32, true, "blocks"}, put_grid<2>},
                 {{"block_x", Type::kUint32, true, "threads"}, put_block<0>},
                 {{"block_y", Type::kUint32, true, "threads"}, put_block<1>},
                 {{"block_z", Type::kUint32, true, "threads"}, put_block<2>},
                 {{"shared_bytes", Type::kUint64, true, "dynamic shared memory"},
                  [](const RecordRow& row, Column& column) { put_number(row, row.words->shared_bytes, column); }},
                 {{"captured", Type::kBool, false, "a stream capture took it: nothing ran"}, put_flag<kRecordCaptured>},
                 {{"after_skipped", Type::kBool, false, "launches before it were left out, to keep to the budget"},
                  put_flag<kRecordAfterSkipped>},
                 kFailed})};
}

// ---- waits and synchronisations ----

std::optional<analysis::Wake> wake_of(const RecordRow& row) { return analysis::wake_of(*row.function, row.record); }

void put_wake(const RecordRow& row, Column& column) {
  const auto wake = wake_of(row);
  if (!wake) return column.add_null();
  column.add(
      static_cast<std::int64_t>(std::nearbyint(row.of.trace().clock.span_ns(wake->ticks, row.record.end_ticks))));
}

void put_waker(const RecordRow& row, Column& column) {
  const auto wake = wake_of(row);
  if (!wake) return column.add_null();
  column.add(wake->tid);
}

void put_waker_role(const RecordRow& row, Column& column) {
  const auto wake = wake_of(row);
  if (!wake) return column.add_null();
  const analysis::Track* track = row.of.open->timeline.track_at(wake->tid, wake->ticks);
  column.add_word(track == nullptr ? UINT64_MAX : static_cast<std::uint64_t>(track->role),
                  [&] { return std::string(track == nullptr ? "unknown" : role_name(track->role)); });
}

RecordTable waits() {
  return {
      "waits", "waits of libc that were recorded call by call",
      [](const Function& function) { return function.is(analysis::kWaits); }, false,
      with_head(
          {kLibrary,
           kCaller,
           {{"wake_ns", Type::kInt64, true, "from the waker's post to the return; null: no post is known"}, put_wake},
           {{"waker_tid", Type::kInt32, true, "thread that posted"}, put_waker},
           {{"waker_role", Type::kWord, true, "what that is for; unknown: not of this process"}, put_waker_role},
           {{"timed_out", Type::kBool, false, "ended by its time limit"}, put_flag<kRecordTimedOut>},
           {{"at_once", Type::kBool, false, "did not have to wait"}, put_flag<kRecordAtOnce>},
           {{"on_file", Type::kBool, false, "its descriptor is a file"}, put_flag<kRecordFile>},
           {{"aggregated", Type::kBool, false, "a counter counts it too"}, put_flag<kRecordAggregated>},
           kFailed,
           kStack})};
}

RecordTable syncs() {
  return {"syncs", "calls of the driver that wait for the GPU, copies that block among them",
          [](const Function& function) { return function.is(analysis::kSynchronises); }, false,
          with_head({kLibrary,
                     kCaller,
                     kStream,
                     {{"bytes", Type::kUint64, true, "of a copy, or of memory; null: neither"},
                      [](const RecordRow& row, Column& column) { put_number(row, row.words->bytes, column); }},
                     kFailed,
                     kStack})};
}

// ---- collectives ----

std::uint64_t call_of(const RecordRow& row) { return row.word(row.function->call); }

// A part of the word that says which rank it is of how many; 0 = not known.
template <unsigned shift, int less>
void put_place(const RecordRow& row, Column& column) {
  const auto value = static_cast<std::int32_t>(row.word(row.function->ranks) >> shift & 0x1fffff);
  if (value == 0)
    column.add_null();
  else
    column.add(value - less);
}

void put_communicator(const RecordRow& row, Column& column) {
  const std::uint64_t id = row.word(row.function->communicator);
  column.add_word(id, [id] { return id == 0 ? std::string() : fmt::format("{:016x}", id); });
}

void put_bytes_of_collective(const RecordRow& row, Column& column) {
  analysis::TickReader ticks(row.of.trace().clock);
  analysis::Event event;
  row.of.open->timeline.decode_collective(row.record, ticks, event);
  column.add(event.bytes);
}

template <unsigned shift, std::uint64_t mask>
void put_part_of_call(const RecordRow& row, Column& column) {
  const std::uint64_t value = call_of(row) >> shift & mask;
  if (value == 0)
    column.add_null();
  else
    column.add(static_cast<std::uint32_t>(value));
}

RecordTable collectives() {
  return {"collectives", "calls of NCCL that move data, a row for each rank and each",
          [](const Function& function) { return function.is(analysis::kCollective); }, false,
          with_head({{{"op", Type::kWord, true, "AllReduce, …"},
                      [](const RecordRow& row, Column& column) {
                        column.add_word(row.record.hook, [&] { return *row.function->operation; });
                      }},
                     {{"comm", Type::kWord, true, "the communicator, the same on all its ranks; null: not known"},
                      put_communicator},
                     {{"sequence", Type::kUint32, true, "running number on it; null: the call was not taken"},
                      put_part_of_call<0, 0xffffffff>},
                     {{"relative", Type::kBool, false,
                       "the communicator's making was not seen: comm and sequence are this rank's own"},
                      put_flag<kRecordRelative>},
                     {{"comm_rank", Type::kInt32, true, "rank on it"}, put_place<0, 1>},
                     {{"comm_size", Type::kInt32, true, "how many ranks it has"}, put_place<21, 0>},
                     {{"peer", Type::kInt32, true, "root, or the other end of a message"}, put_place<42, 1>},
                     {{"group", Type::kUint32, true, "group that it was called in; null: none"},
                      put_part_of_call<32, 0xffff>},
                     {{"data_type", Type::kWord, true, "fp32, …"},
                      [](const RecordRow& row, Column& column) {
                        const std::uint64_t call = call_of(row);
                        column.add_word(call >> 48 & 0xff, [call] { return analysis::nccl_type_name(call); });
                      }},
                     {{"reduction", Type::kWord, true, "sum, …; null: none"},
                      [](const RecordRow& row, Column& column) {
                        const std::uint64_t call = call_of(row);
                        column.add_word(call >> 56, [call] { return analysis::nccl_op_name(call); });
                      }},
                     {{"elements", Type::kUint64, false, "as the caller gave them"},
                      [](const RecordRow& row, Column& column) { column.add(row.word(row.function->elements)); }},
                     {{"bytes", Type::kUint64, false, "elements × size of the type"}, put_bytes_of_collective},
                     kStream,
                     kFailed})};
}

// ---- what the program says, and all else ----

RecordTable regions() {
  return {"regions", "parts of a thread's time that the program, PyTorch or a library named",
          [](const Function& function) { return function.is(analysis::kNamesTime); }, false,
          with_head({{{"name", Type::kWord, true, "of the region"},
                      [](const RecordRow& row, Column& column) { put_string(row, row.words->name, column); }},
                     {{"category", Type::kWord, true, "of an imported profile"},
                      [](const RecordRow& row, Column& column) { put_string(row, row.words->category, column); }}})};
}

RecordTable marks() {
  return {
      "marks", "numbers that the program named",
      [](const Function& function) { return function.is(analysis::kTellsValue); }, false,
      with_head({{{"name", Type::kWord, true, "of the number"},
                  [](const RecordRow& row, Column& column) { put_string(row, row.words->name, column); }},
                 {{"value", Type::kReal, false, "as the program gave it"}, [](const RecordRow& row, Column& column) {
                    column.add(std::bit_cast<double>(row.word(row.words->value)));
                  }}})};
}

void put_family(const RecordRow& row, Column& column) {
  const analysis::Hook* hook = row.of.trace().hook_of(row.record);
  if (hook == nullptr) return column.add_null();
  column.add_word(hook->family, [&] { return std::string(analysis::family_name(hook->family)); });
}

void put_arguments(const RecordRow& row, Column& column) {
  fmt::memory_buffer text;
  text.push_back('{');
  const analysis::Hook* hook = row.of.trace().hook_of(row.record);
  if (hook != nullptr) row.of.arguments.write(text, *hook, row.record);
  text.push_back('}');
  column.add_text({text.data(), text.size()});
}

RecordTable events() {
  return {"events", "every other record: copies, memory, modules, wakes, threads, steps, …",
          [](const Function& function) { return !function.is(analysis::kRunsOnGpu); }, true,
          with_head({{{"family", Type::kWord, true, "of the function: cuda, nccl, wake, thread, …"}, put_family},
                     {{"arguments", Type::kText, false, "a JSON object, as `args` in `dump --json`"}, put_arguments},
                     kFailed,
                     kStack})};
}

}  // namespace

const std::vector<RecordTable>& record_tables() {
  static const std::vector<RecordTable> kTables{launches(), waits(), syncs(), collectives(),
                                                regions(),  marks(), events()};
  return kTables;
}

const RecordTable* table_of(const analysis::Function& function) {
  for (const RecordTable& table : record_tables())
    if (table.takes(function)) return &table;
  return nullptr;
}

}  // namespace hostprobe::tables
