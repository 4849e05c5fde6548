// step_row_table.cpp: one row for each rank and step, for joins over hosts and runs; see answer_tables.h.
#include "answer/step_row.h"
#include "answer_table.h"
#include "answer_tables.h"

namespace hostprobe::tables {
namespace {

using analysis::Cause;

struct RankStep {
  analysis::StepRow step;
  std::string job;

  std::optional<double> ms_of(double ns) const { return some_if(step.is_explained, 1e-6 * ns); }
  std::optional<double> lost_ms(Cause cause) const { return ms_of(step.lost_ns[static_cast<std::size_t>(cause)]); }
};

std::vector<RankStep> ranks_steps(const Run&, const analysis::RunAnswer& answer) {
  std::vector<RankStep> rows;
  const std::string job = job_name(answer);
  for (std::size_t place = 0; place < answer.processes.size(); ++place)
    for (analysis::StepRow& step : analysis::step_rows(answer, place)) rows.push_back({std::move(step), job});
  return rows;
}

std::vector<AnswerColumn<RankStep>> rank_step_columns() {
  using Of = Columns<RankStep>;
  return {
      Of::word("job", "its id as the launcher says; else the moment at which the run began",
               [](const RankStep& row) -> const std::string& { return row.job; }),
      Of::word("host", "its host's name",
               [](const RankStep& row) -> const std::string& { return row.step.process->host; }),
      Of::small("rank", "of the job; null: the process has none",
                [](const RankStep& row) { return row.step.process->rank; }),
      column_of<RankStep>("step", Type::kUint64, false, "as the program gave it, else counted from 0",
                          [](const RankStep& row) { return row.step.number; }),
      column_of<RankStep>("begin_ns", Type::kInt64, false,
                          "CLOCK_REALTIME, and not since the run began: rows of many runs lie side by side",
                          [](const RankStep& row) { return static_cast<std::int64_t>(row.step.begin_realtime_ns); }),
      column_of<RankStep>(
          "ms", Type::kReal, false,
          "from the end of the step before, on all ranks, to its own on the last; where it is not known where "
          "it went, of this rank alone",
          [](const RankStep& row) { return 1e-6 * row.step.length_ns; }),
      Of::word("type", "train, warm_up, evaluation, checkpoint, other",
               [](const RankStep& row) -> const std::string& { return row.step.type; }),
#define HP_CAUSE(Name, id, title, ...)                           \
  Of::real("lost_" #id "_ms", "of this rank's own time: " title, \
           [](const RankStep& row) { return row.lost_ms(Cause::k##Name); }),
#include "hostprobe/causes.def"
      Of::real("waited_ms", "for what other ranks lost; with all lost_ columns it is ms",
               [](const RankStep& row) { return row.ms_of(row.step.waited_ns); }),
      Of::real("late_ms", "that other ranks waited for this one, the mean of them; null: there are no others",
               [](const RankStep& row) {
                 return row.step.late_ns ? std::optional(1e-6 * *row.step.late_ns) : std::nullopt;
               }),
      Of::real("own_us", "hostprobe's own work that the step waited for",
               [](const RankStep& row) {
                 return row.step.own_cost_ns ? std::optional(1e-3 * *row.step.own_cost_ns) : std::nullopt;
               }),
      Of::count("ranks",
                "of the job whose traces were read together; the others are waited for as lost_waits_for_rank_ms",
                [](const RankStep& row) { return some_if(row.step.ranks > 0, row.step.ranks); }),
      Of::count("lost_records", "0; null: the process lost some, and it is not known in which steps",
                [](const RankStep& row) { return some_if(row.step.process->lost == 0, std::uint64_t{0}); })};
}

}  // namespace

Table step_rows_table() {
  return table_of_answer<RankStep>(
      {"step_rows", "each rank in each step of a job: what it lost by each cause, for joins over hosts and runs",
       ranks_steps, rank_step_columns()});
}

}  // namespace hostprobe::tables
