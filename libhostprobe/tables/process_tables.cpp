// process_tables.cpp: the processes of a run, their threads, their steps and where they wait; see answer_tables.h.
#include "answer/process.h"
#include "answer_table.h"
#include "answer_tables.h"
#include "words/words.h"

namespace hostprobe::tables {
namespace {

using analysis::ProcessAnswer, analysis::ThreadAnswer, analysis::WaitSite;

template <typename Row>
AnswerColumn<Row> rank_column() {
  return Columns<Row>::small("rank", "of the job; null: the process has none",
                             [](const Row& row) { return row.process->rank; });
}
template <typename Row>
AnswerColumn<Row> pid_column() {
  return column_of<Row>("pid", Type::kInt32, false, "process", [](const Row& row) { return row.process->pid; });
}
template <typename Row>
AnswerColumn<Row> host_column() {
  return Columns<Row>::word("host", "its host's name",
                            [](const Row& row) -> const std::string& { return row.process->host; });
}

// What a process has a list of: a row for each.
template <typename Row, auto list>
std::vector<Row> rows_of(const Run&, const analysis::RunAnswer& answer) {
  std::vector<Row> rows;
  for (const ProcessAnswer& process : answer.processes)
    for (const auto& one : process.*list) rows.push_back({&process, &one});
  return rows;
}

// ---- processes ----

struct ProcessRow {
  const ProcessAnswer* process;
  std::int64_t shift_ns;  // of CLOCK_MONOTONIC

  bool launches() const { return process->launches.hooked; }
  bool has_gpu() const { return launches() && process->gpu.source != analysis::ActivitySource::kNone; }
};

std::vector<ProcessRow> process_rows(const Run& run, const analysis::RunAnswer& answer) {
  std::vector<ProcessRow> rows;
  for (const ProcessAnswer& process : answer.processes)
    rows.push_back({&process, run.shift_of(process.host, process.boot_id)});
  return rows;
}

std::optional<std::string> gpu_source(const ProcessRow& row) {
  if (row.has_gpu()) return analysis::activity_source_name(row.process->gpu.source);
  return some_if<std::string>(row.launches() && row.process->queue, "sampled");
}

using OfProcess = Columns<ProcessRow>;

// Who it is.
std::vector<AnswerColumn<ProcessRow>> identity_columns() {
  using Row = ProcessRow;
  return {
      rank_column<Row>(),
      pid_column<Row>(),
      host_column<Row>(),
      OfProcess::word("kind", "rank, worker, other",
                      [](const Row& row) { return analysis::kind_name(row.process->kind); }),
      OfProcess::small("parent_pid", "process that started it", [](const Row& row) { return row.process->parent_pid; }),
      OfProcess::small("restart", "which start of its rank; null: not said",
                       [](const Row& row) { return row.process->restart; }),
      OfProcess::text("command", "its arguments",
                      [](const Row& row) -> const std::string& { return row.process->command; }),
      OfProcess::word("task", "what it does, as far as that is known",
                      [](const Row& row) { return analysis::task_name(row.process->task); }),
      column_of<Row>(
          "begin_ns", Type::kInt64, true, "its begin, since the run began",
          [](const Row& row) { return static_cast<std::int64_t>(row.process->start_monotonic_ns) + row.shift_ns; }),
      column_of<Row>("monotonic_ns", Type::kInt64, true,
                     "added to a begin_ns of this process: CLOCK_MONOTONIC of its host, as `dump` prints it",
                     [](const Row& row) { return -row.shift_ns; })};
}

// What it did.
std::vector<AnswerColumn<ProcessRow>> work_columns() {
  using Row = ProcessRow;
  return {
      OfProcess::real("wall_ms", "from its begin to its end", [](const Row& row) { return row.process->wall_ms; }),
      OfProcess::real("cpu_ms", "CPU time of all its threads", [](const Row& row) { return row.process->cpu_ms; }),
      OfProcess::count("records", "calls that are known, those of which only counters are left too",
                       [](const Row& row) { return row.process->records; }),
      OfProcess::count("lost", "records that could not be kept", [](const Row& row) { return row.process->lost; }),
      OfProcess::count("unfinished", "calls that had not returned",
                       [](const Row& row) { return row.process->unfinished; }),
      OfProcess::real("own_cost_pct", "what hostprobe cost it, of wall time",
                      [](const Row& row) { return row.process->own_cost_pct(); }),
      OfProcess::count("steps", "training steps that it made",
                       [](const Row& row) { return row.process->steps.lengths.count; }),
      OfProcess::count("launches", "launch calls; null: no driver in it",
                       [](const Row& row) { return some_if(row.launches(), row.process->launches.count()); }),
      OfProcess::count("kernels", "kernels that these ran; null: not known",
                       [](const Row& row) { return row.launches() ? row.process->launches.kernels : std::nullopt; }),
      OfProcess::count(
          "syncs", "calls that waited for the GPU",
          [](const Row& row) { return some_if(row.process->syncs.hooked, row.process->syncs.time.count()); }),
      OfProcess::real("sync_ms", "how long these took", [](const Row& row) {
        return some_if(row.process->syncs.hooked, row.process->syncs.time.total_ns() * 1e-6);
      })};
}

// What its GPUs did, and how it ended.
std::vector<AnswerColumn<ProcessRow>> end_columns() {
  using Row = ProcessRow;
  return {OfProcess::word("gpu_source", "where the next two are from", [](const Row& row) { return gpu_source(row); }),
          OfProcess::count("gpu_kernels", "kernels that ran on its GPUs",
                           [](const Row& row) { return some_if(row.has_gpu(), row.process->gpu.kernels); }),
          OfProcess::real("gpu_busy_ms", "in which a stream of them was busy",
                          [](const Row& row) { return row.has_gpu() ? row.process->gpu.busy_ms : std::nullopt; }),
          OfProcess::word("end_how", "exited, killed, running, recovered",
                          [](const Row& row) { return analysis::end_name(row.process->end); }),
          OfProcess::word("end_signal", "that killed it",
                          [](const Row& row) {
                            const auto& signal = row.process->end_signal;
                            return signal ? std::optional(analysis::signal_name(*signal)) : std::nullopt;
                          }),
          OfProcess::small("end_status", "what it exited with", [](const Row& row) { return row.process->end_status; }),
          OfProcess::text("trace", "its trace file",
                          [](const Row& row) -> const std::string& { return row.process->trace_path; })};
}

std::vector<AnswerColumn<ProcessRow>> process_columns() {
  std::vector<AnswerColumn<ProcessRow>> columns = identity_columns();
  for (const auto& more : {work_columns(), end_columns()}) columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

// ---- threads ----

struct ThreadRow {
  const ProcessAnswer* process;
  const ThreadAnswer* thread;

  const analysis::ThreadTime& time() const { return thread->time; }
  bool is_timed() const { return time().wall_ms > 0; }
};

std::vector<AnswerColumn<ThreadRow>> thread_columns() {
  using Row = ThreadRow;
  using Of = Columns<Row>;
  return {
      rank_column<Row>(),
      pid_column<Row>(),
      host_column<Row>(),
      column_of<Row>("tid", Type::kInt32, false, "thread; 0: several that ended share the row",
                     [](const Row& row) { return row.thread->tid; }),
      Of::word("thread", "its name", [](const Row& row) -> const std::string& { return row.thread->name; }),
      Of::word("role", "what it is for", [](const Row& row) { return role_name(row.thread->role); }),
      Of::real("wall_ms", "how long it lived",
               [](const Row& row) { return some_if(row.is_timed(), row.time().wall_ms); }),
      Of::real("cpu_ms", "running", [](const Row& row) { return row.time().cpu_ms; }),
      Of::real("preempted_ms", "runnable, but taken off its CPU",
               [](const Row& row) { return row.time().preempted_ms; }),
      Of::real("run_queue_ms", "from a wake to running again", [](const Row& row) { return row.time().run_queue_ms; }),
      Of::real("wait_ms", "waiting, without the delay after the wake",
               [](const Row& row) { return row.time().wait_ms; }),
      Of::real("unexplained_ms", "what is left of wall_ms",
               [](const Row& row) { return some_if(row.is_timed(), row.time().unexplained_ms); }),
      Of::real("run_delay_ms", "runnable and not running, as the kernel counts it",
               [](const Row& row) { return row.time().run_delay_ms; }),
      Of::count("records", "calls that are known", [](const Row& row) { return row.thread->records; }),
      Of::count("lost", "records that could not be kept", [](const Row& row) { return row.thread->lost; }),
      Of::count("merged", "how many threads that ended the row stands for; null: it is one",
                [](const Row& row) { return some_if(row.thread->merged > 0, row.thread->merged); }),
      Of::word("type", "C++ type of a std::thread",
               [](const Row& row) -> const std::string& { return row.thread->type; }),
      Of::word("runs", "what it was started to do",
               [](const Row& row) -> const std::string& { return row.thread->runs; }),
      Of::word("open_wait_function", "the wait it is in, or was in when its process ended",
               [](const Row& row) {
                 const auto& open = row.thread->open_wait;
                 return open ? std::optional(open->function) : std::nullopt;
               }),
      Of::real("open_wait_ms", "for so long", [](const Row& row) {
        const auto& open = row.thread->open_wait;
        return open ? std::optional(open->ms) : std::nullopt;
      })};
}

// ---- waits ----

struct WaitRow {
  const ProcessAnswer* process;
  const WaitSite* site;
};

std::vector<AnswerColumn<WaitRow>> wait_columns() {
  using Row = WaitRow;
  using Of = Columns<Row>;
  return {
      rank_column<Row>(),
      pid_column<Row>(),
      host_column<Row>(),
      Of::word("function", "that was called", [](const Row& row) -> const std::string& { return row.site->function; }),
      Of::word("library", "that called it", [](const Row& row) -> const std::string& { return row.site->library; }),
      Of::word("role", "of the threads", [](const Row& row) { return role_name(row.site->role); }),
      Of::count("count", "calls that blocked", [](const Row& row) { return row.site->time.count(); }),
      Of::real("total_ms", "all of them together", [](const Row& row) { return row.site->time.total_ns() * 1e-6; }),
      Of::real("p50_us", "median", [](const Row& row) { return percentile_us(row.site->time, 50); }),
      Of::real("p99_us", "99 of 100 are shorter", [](const Row& row) { return percentile_us(row.site->time, 99); }),
      Of::real("max_us", "the longest", [](const Row& row) { return us_of(row.site->time, row.site->time.max_ns()); }),
      Of::count("wake_count", "of them with a post that is known",
                [](const Row& row) { return row.site->wake.count(); }),
      Of::real("wake_total_ms", "from the post to the return, all together",
               [](const Row& row) { return ms_of(row.site->wake, row.site->wake.total_ns()); }),
      Of::real("wake_p50_us", "median of that", [](const Row& row) { return percentile_us(row.site->wake, 50); }),
      Of::real("wake_p99_us", "99 of 100 are shorter",
               [](const Row& row) { return percentile_us(row.site->wake, 99); }),
      Of::real("wake_max_us", "the longest",
               [](const Row& row) { return us_of(row.site->wake, row.site->wake.max_ns()); }),
      Of::word("waker_role", "who woke most often",
               [](const Row& row) {
                 return row.site->wakers.empty() ? std::nullopt : std::optional(role_name(row.site->main_waker()));
               }),
      Of::small(
          "waker_tid", "which thread of these",
          [](const Row& row) { return some_if(!row.site->waker_threads.empty(), row.site->main_waker_thread().tid); }),
      Of::count("timed_out", "ended by their time limit", [](const Row& row) { return row.site->timed_out; }),
      Of::real("own_ms", "waiting, without what was behind a wake", [](const Row& row) { return row.site->own_ms; }),
      Of::real("share_pct", "of the lives of its threads", [](const Row& row) { return row.site->share_pct; }),
      Of::real("gil_ms", "of total_ms, proven to be for the interpreter lock",
               [](const Row& row) {
                 const double ms = row.site->ms_for(analysis::WaitPurpose::kGil);
                 return some_if(ms > 0, ms);
               }),
      Of::count("open", "threads that are in it now, or were at the end",
                [](const Row& row) { return some_if(row.site->open > 0, row.site->open); }),
      Of::real("open_ms", "for so long, all together",
               [](const Row& row) { return some_if(row.site->open > 0, row.site->open_ms); })};
}

// ---- steps ----

struct StepRow {
  const ProcessAnswer* process;
  const analysis::Step* step;
  std::int64_t begin_ns;
};

std::vector<StepRow> step_rows(const Run& run, const analysis::RunAnswer& answer) {
  std::vector<StepRow> rows;
  for (const ProcessAnswer& process : answer.processes) {
    const double begin_ns = static_cast<double>(static_cast<std::int64_t>(process.start_monotonic_ns) +
                                                run.shift_of(process.host, process.boot_id));
    for (const analysis::Step& step : process.steps.steps)
      rows.push_back({&process, &step, std::llround(begin_ns + (step.begin_ns - process.start_since_first_ns))});
  }
  return rows;
}

std::vector<AnswerColumn<StepRow>> step_columns() {
  using Row = StepRow;
  using Of = Columns<Row>;
  return {rank_column<Row>(),
          pid_column<Row>(),
          host_column<Row>(),
          column_of<Row>("number", Type::kUint64, false, "as the program gave it, else counted from 0",
                         [](const Row& row) { return row.step->number; }),
          Of::word("type", "train, warm_up, evaluation, checkpoint, other",
                   [](const Row& row) -> const std::string& { return row.process->steps.types[row.step->type].name; }),
          Of::word("source", "marks, detected", [](const Row& row) { return step_source_name(row.process->steps); }),
          column_of<Row>("begin_ns", Type::kInt64, false, "since the run began",
                         [](const Row& row) { return row.begin_ns; }),
          column_of<Row>("duration_ns", Type::kInt64, false, "from its begin to its end",
                         [](const Row& row) { return std::int64_t{std::llround(row.step->length_ns())}; })};
}

}  // namespace

Table processes_table() {
  return table_of_answer<ProcessRow>({"processes", "every process that recorded", process_rows, process_columns()});
}

Table threads_table() {
  return table_of_answer<ThreadRow>({"threads", "every thread that made calls which are recorded",
                                     rows_of<ThreadRow, &ProcessAnswer::threads>, thread_columns()});
}

Table wait_sites_table() {
  return table_of_answer<WaitRow>(
      {"wait_sites", "waits by function, calling library and role: all of them, exactly, those without a record too",
       rows_of<WaitRow, &ProcessAnswer::waits>, wait_columns()});
}

Table steps_table() {
  return table_of_answer<StepRow>({"steps", "every training step with a place in time, of each process that made steps",
                                   step_rows, step_columns()});
}

}  // namespace hostprobe::tables
