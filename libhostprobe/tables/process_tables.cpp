// answer_tables.cpp: the tables of what was found out: each cell is a value of the document of `report --json`, or of the answer
// that it is made of; see batches.h.
#include <deque>

#include "batches.h"
#include "report/json_text.h"
#include "trace/roles.h"

namespace hostprobe::tables {
namespace {

using Json = analysis::JsonValue;

// Where a cell is: in the process, or the thing itself.
enum class From : std::uint8_t { kProcess, kOwn };

struct AnswerColumn {
  ColumnName name;
  From from;
  const char* pointer;
};

// What a row is about, and the process that it is of.
struct AnswerRow {
  const Json* process;
  const Json* own;
};

struct AnswerRows {
  std::shared_ptr<const Answer> answer;
  std::deque<Json> made;  // what the document lacks
  std::vector<AnswerRow> rows;
};

struct AnswerTable {
  std::string_view name;
  std::string_view meaning;
  void (*list)(const Run& run, AnswerRows& rows);
  std::vector<AnswerColumn> columns;
};

const AnswerColumn kRank{
    {"rank", Type::kInt32, true, "of the job; null: the process has none"}, From::kProcess, "/rank"};
const AnswerColumn kPid{{"pid", Type::kInt32, false, "process"}, From::kProcess, "/pid"};
const AnswerColumn kHost{{"host", Type::kWord, true, "its host's name"}, From::kProcess, "/host"};

AnswerColumn real(std::string_view name, const char* pointer, std::string_view meaning, From from = From::kOwn) {
  return {{name, Type::kReal, true, meaning}, from, pointer};
}
AnswerColumn count(std::string_view name, const char* pointer, std::string_view meaning, From from = From::kOwn) {
  return {{name, Type::kUint64, true, meaning}, from, pointer};
}
AnswerColumn whole(std::string_view name, const char* pointer, std::string_view meaning, From from = From::kOwn) {
  return {{name, Type::kInt64, true, meaning}, from, pointer};
}
AnswerColumn word(std::string_view name, const char* pointer, std::string_view meaning, From from = From::kOwn) {
  return {{name, Type::kWord, true, meaning}, from, pointer};
}

// ---- processes ----

void list_processes(const Run& run, AnswerRows& rows) {
  const auto& processes = rows.answer->run.processes;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::int64_t shift = run.shift_of(processes[i].host, processes[i].boot_id);
    rows.made.push_back({{"begin_ns", static_cast<std::int64_t>(processes[i].start_monotonic_ns) + shift},
                         {"monotonic_ns", -shift},
                         {"steps", processes[i].steps.lengths.count}});
    rows.rows.push_back({&rows.answer->report.at("processes").at(i), &rows.made.back()});
  }
}

AnswerTable processes() {
  constexpr From kHere = From::kProcess;
  return {"processes",
          "every process that recorded",
          list_processes,
          {kRank,
           kPid,
           kHost,
           word("kind", "/kind", "rank, worker, other", kHere),
           {{"parent_pid", Type::kInt32, true, "process that started it"}, kHere, "/parent_pid"},
           {{"restart", Type::kInt32, true, "which start of its rank; null: not said"}, kHere, "/restart"},
           {{"command", Type::kText, true, "its arguments"}, kHere, "/command"},
           word("task", "/task", "what it does, as far as that is known", kHere),
           whole("begin_ns", "/begin_ns", "its begin, ns since the run began"),
           whole("monotonic_ns", "/monotonic_ns",
                 "added to a begin_ns of this process: CLOCK_MONOTONIC of its host, as `dump` prints it"),
           real("wall_ms", "/wall_ms", "from its begin to its end", kHere),
           real("cpu_ms", "/cpu_ms", "CPU time of all its threads", kHere),
           count("records", "/records", "calls that are known, those of which only counters are left too", kHere),
           count("lost", "/lost", "records that could not be kept", kHere),
           count("unfinished", "/unfinished", "calls that had not returned", kHere),
           real("own_cost_pct", "/own_cost_pct", "what hostprobe cost it, of wall time", kHere),
           count("steps", "/steps", "training steps that it made"),
           count("launches", "/launches/count", "launch calls; null: no driver in it", kHere),
           count("kernels", "/launches/kernels", "kernels that these ran; null: not known", kHere),
           count("syncs", "/syncs/count", "calls that waited for the GPU", kHere),
           real("sync_ms", "/syncs/total_ms", "how long these took", kHere),
           word("gpu_source", "/gpu/source", "where the next two are from", kHere),
           count("gpu_kernels", "/gpu/kernels", "kernels that ran on its GPUs", kHere),
           real("gpu_busy_ms", "/gpu/busy_ms", "in which a stream of them was busy", kHere),
           word("end_how", "/end/how", "exited, killed, running, recovered", kHere),
           word("end_signal", "/end/signal", "that killed it", kHere),
           {{"end_status", Type::kInt32, true, "what it exited with"}, kHere, "/end/status"},
           {{"trace", Type::kText, true, "its trace file"}, kHere, "/trace"}}};
}

// ---- what a process has lists of ----

void list_all(AnswerRows& rows, const char* key) {
  for (const Json& process : rows.answer->report.at("processes").elements())
    for (const Json& own : process.at(key).elements()) rows.rows.push_back({&process, &own});
}

AnswerTable threads() {
  return {"threads",
          "every thread that made calls which are recorded",
          [](const Run&, AnswerRows& rows) { list_all(rows, "threads"); },
          {kRank,
           kPid,
           kHost,
           {{"tid", Type::kInt32, false, "thread; 0: several that ended share the row"}, From::kOwn, "/tid"},
           word("thread", "/name", "its name"),
           word("role", "/role", "what it is for"),
           real("wall_ms", "/wall_ms", "how long it lived"),
           real("cpu_ms", "/cpu_ms", "running"),
           real("preempted_ms", "/preempted_ms", "runnable, but taken off its CPU"),
           real("run_queue_ms", "/run_queue_ms", "from a wake to running again"),
           real("wait_ms", "/wait_ms", "waiting, without the delay after the wake"),
           real("unexplained_ms", "/unexplained_ms", "what is left of wall_ms"),
           real("run_delay_ms", "/run_delay_ms", "runnable and not running, as the kernel counts it"),
           count("records", "/records", "calls that are known"),
           count("lost", "/lost", "records that could not be kept"),
           count("merged", "/merged", "how many threads that ended the row stands for; null: it is one"),
           word("type", "/type", "C++ type of a std::thread"),
           word("runs", "/runs", "what it was started to do"),
           word("open_wait_function", "/open_wait/function", "the wait it is in, or was in when its process ended"),
           real("open_wait_ms", "/open_wait/ms", "for so long")}};
}

AnswerTable wait_sites() {
  return {"wait_sites",
          "waits by function, calling library and role: all of them, exactly, those without a record too",
          [](const Run&, AnswerRows& rows) { list_all(rows, "waits"); },
          {kRank,
           kPid,
           kHost,
           word("function", "/function", "that was called"),
           word("library", "/library", "that called it"),
           word("role", "/role", "of the threads"),
           count("count", "/count", "calls that blocked"),
           real("total_ms", "/total_ms", "all of them together"),
           real("p50_us", "/p50_us", "median"),
           real("p99_us", "/p99_us", "99 of 100 are shorter"),
           real("max_us", "/max_us", "the longest"),
           count("wake_count", "/wake/count", "of them with a post that is known"),
           real("wake_total_ms", "/wake/total_ms", "from the post to the return, all together"),
           real("wake_p50_us", "/wake/p50_us", "median of that"),
           real("wake_p99_us", "/wake/p99_us", "99 of 100 are shorter"),
           real("wake_max_us", "/wake/max_us", "the longest"),
           word("waker_role", "/wake/waker_role", "who woke most often"),
           {{"waker_tid", Type::kInt32, true, "which thread of these"}, From::kOwn, "/wake/waker_tid"},
           count("timed_out", "/timed_out", "ended by their time limit"),
           real("own_ms", "/own_ms", "waiting, without what was behind a wake"),
           real("share_pct", "/share_pct", "of the lives of its threads"),
           real("gil_ms", "/gil_ms", "of total_ms, proven to be for the interpreter lock"),
           count("open", "/open", "threads that are in it now, or were at the end"),
           real("open_ms", "/open_ms", "for so long, all together")}};
}

void list_steps(const Run& run, AnswerRows& rows) {
  const auto& processes = rows.answer->run.processes;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const analysis::ProcessAnswer& process = processes[i];
    const double begin_ns = static_cast<double>(static_cast<std::int64_t>(process.start_monotonic_ns) +
                                                run.shift_of(process.host, process.boot_id));
    for (const analysis::Step& step : process.steps.steps) {
      const double at_ns = begin_ns + (step.begin_ns - process.start_since_first_ns);
      rows.made.push_back({{"number", step.number},
                           {"type", process.steps.types[step.type].name},
                           {"source", step_source_name(process.steps)},
                           {"begin_ns", std::llround(at_ns)},
                           {"duration_ns", std::llround(step.length_ns())}});
      rows.rows.push_back({&rows.answer->report.at("processes").at(i), &rows.made.back()});
    }
  }
}

AnswerTable steps() {
  return {"steps",
          "every training step with a place in time, of each process that made steps",
          list_steps,
          {kRank,
           kPid,
           kHost,
           {{"number", Type::kUint64, false, "as the program gave it, else counted from 0"}, From::kOwn, "/number"},
           word("type", "/type", "train, warm_up, evaluation, checkpoint, other"),
           word("source", "/source", "marks, detected"),
           {{"begin_ns", Type::kInt64, false, "ns since the run began"}, From::kOwn, "/begin_ns"},
           {{"duration_ns", Type::kInt64, false, "ns"}, From::kOwn, "/duration_ns"}}};
}

// ---- of the run ----

void list_own(AnswerRows& rows, const char* key) {
  static const Json kNobody = Json::object();
  for (const Json& own : rows.answer->report.at(key).elements()) rows.rows.push_back({&kNobody, &own});
}

AnswerTable collective_sites() {
  return {"collective_sites",
          "collectives by communicator and operation: all of them, those without a record too",
          [](const Run&, AnswerRows& rows) { list_own(rows, "collectives"); },
          {word("comm", "/comm", "the communicator; null: not known"),
           {{"ranks", Type::kInt32, true, "how many ranks it has"}, From::kOwn, "/ranks"},
           word("op", "/op", "AllReduce, …"),
           count("count", "/count", "of them"),
           count("bytes", "/bytes", "that a rank passed, all together"),
           count("failed", "/failed", "calls that were not taken"),
           real("host_p50_us", "/host_p50_us", "time of the call, median"),
           real("host_p99_us", "/host_p99_us", "99 of 100 are shorter"),
           real("host_max_us", "/host_max_us", "the longest"),
           real("skew_p50_us", "/skew_p50_us", "from the first arrival to the last, median"),
           real("skew_p99_us", "/skew_p99_us", "99 of 100 are shorter"),
           real("skew_max_us", "/skew_max_us", "the longest"),
           {{"last_rank", Type::kInt32, true, "who was last most often"}, From::kOwn, "/last/rank"},
           real("last_share_pct", "/last/share_pct", "in so many of them"),
           real("gpu_wait_p50_us", "/gpu_wait_p50_us", "what a rank's kernel waited for the last, median"),
           real("bus_gb_s", "/bus_gb_s", "bus bandwidth, where GPU times are known")}};
}

AnswerTable findings() {
  return {
      "findings",
      "what costs the job time, the heaviest first",
      [](const Run&, AnswerRows& rows) { list_own(rows, "findings"); },
      {word("cause", "/cause", "an id of [findings.md](findings.md)"),
       {{"rank", Type::kInt32, true, "where the cause sits; null: the whole job, or no rank"}, From::kOwn, "/rank"},
       {{"pid", Type::kInt32, true, "of a process that is no rank"}, From::kOwn, "/pid"},
       {{"text", Type::kText, true, "in a sentence"}, From::kOwn, "/text"},
       real("share_pct", "/share_pct", "of the time of share_of"),
       word("share_of", "/share_of", "steps, run, read_part"),
       real("ms_per_step", "/ms_per_step", "of a step; null: not computed"),
       real("gain_pct", "/gain_pct", "expected of the fix; null: not computed"),
       real("gain_low_pct", "/gain_low_pct", "at least"),
       real("gain_high_pct", "/gain_high_pct", "at most"),
       word("fix", "/fix/name", "its id; null: nothing is known to help"),
       {{"fix_how", Type::kText, true, "what to do"}, From::kOwn, "/fix/how"},
       word("site_function", "/site/function", "call that it was seen in"),
       word("site_library", "/site/library", "that called it"),
       word("site_role", "/site/role", "of the thread"),
       {{"site_stack", Type::kText, true, "frames from the innermost on, with ; between"}, From::kOwn, "/site/stack"},
       {{"evidence", Type::kText, true, "a JSON object: counts, percentiles, examples"}, From::kOwn, "/evidence"}}};
}

const std::vector<AnswerTable>& all_tables() {
  static const std::vector<AnswerTable> kTables{processes(), threads(),    steps(),
                                                findings(),  wait_sites(), collective_sites()};
  return kTables;
}

// ---- cells ----

std::string text_of(const Json& value) {
  if (const auto* text = std::get_if<std::string>(&value.content())) return analysis::valid_utf8(*text);
  const auto* list = std::get_if<Json::Array>(&value.content());
  if (list == nullptr) return json_text(value, analysis::kOneLine);
  std::string text;
  for (const Json& one : *list) text += (text.empty() ? "" : ";") + text_of(one);
  return text;
}

// Of a path such as "/launches/count"; null where there is none.
const Json& value_at(const Json& json, std::string_view pointer) {
  static const Json kNull;
  const Json* value = &json;
  while (value != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view name = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(name.size());
    value = value->find(name);
  }
  return value == nullptr ? kNull : *value;
}

void put(const Json& value, Column& column) {
  if (value.is_null()) return column.add_null();
  switch (column.type()) {
    case Type::kReal:
      return column.add(value.real());
    case Type::kUint64:
      return column.add(value.count());
    case Type::kBool:
      return column.add(value.flag());
    case Type::kText:
    case Type::kWord:
      return column.add_text(text_of(value));
    default:
      return column.add(value.whole());
  }
}

class AnswerBatches : public Batches {
 public:
  AnswerBatches(std::shared_ptr<Run> run, const AnswerTable& table, const TableName& name,
                const std::vector<std::size_t>& columns)
      : run_(std::move(run)), table_(table), columns_(name, columns) {
    for (const std::size_t column : columns) {
      const AnswerColumn& one = table.columns[column];
      cells_.push_back({one.from, one.pointer});
    }
  }

  bool next(ArrowArray* out) override {
    if (rows_.answer == nullptr) {
      rows_.answer = run_->answer();
      table_.list(*run_, rows_);
    }
    columns_.begin();
    for (; at_ < rows_.rows.size() && !columns_.is_full(); ++at_) add(rows_.rows[at_]);
    return columns_.publish(out);
  }

 private:
  struct Cell {
    From from;
    const char* pointer;
  };

  void add(const AnswerRow& row) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Json& json = cells_[i].from == From::kProcess ? *row.process : *row.own;
      put(value_at(json, cells_[i].pointer), columns_[i]);
    }
    columns_.end_row();
  }

  const std::shared_ptr<Run> run_;
  const AnswerTable& table_;
  ColumnSet columns_;
  std::vector<Cell> cells_;
  AnswerRows rows_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<TableName> answer_tables() {
  std::vector<TableName> names;
  for (const AnswerTable& table : all_tables()) {
    names.push_back({table.name, table.meaning, {}, false});
    for (const AnswerColumn& column : table.columns) names.back().columns.push_back(column.name);
  }
  return names;
}

std::unique_ptr<Batches> answer_batches(std::shared_ptr<Run> run, const TableName& name,
                                        std::vector<std::size_t> columns) {
  for (const AnswerTable& table : all_tables())
    if (table.name == name.name) return std::make_unique<AnswerBatches>(std::move(run), table, name, columns);
  throw BadRequest("no such table");
}

}  // namespace hostprobe::tables
