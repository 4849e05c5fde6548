// step_row.cpp: see step_row.h.
#include "step_row.h"

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {
namespace {

double step_value(const std::vector<double>& step_ns, std::size_t step) {
  return step < step_ns.size() ? step_ns[step] : 0;
}

StepRow unexplained_row(const ProcessAnswer& process, const Step& step) {
  StepRow row;
  row.process = &process;
  row.number = step.number;
  if (step.type < process.steps.types.size()) row.type = process.steps.types[step.type].name;
  row.begin_realtime_ns = process.start_realtime_ns +
                          static_cast<std::uint64_t>(std::llround(step.begin_ns - process.start_since_first_ns));
  row.length_ns = step.length_ns();
  return row;
}

// What of the row a cause that sits on this rank, or on none in particular, has taken.
void add_lost(const LostTime& lost, std::size_t step, std::size_t ranks, StepRow& row) {
  double& sum = row.lost_ns[static_cast<std::size_t>(reported_cause(lost.cause))];
  if (lost.of_all) {
    sum += step_value(lost.step_ns, step);
    return;
  }
  sum += step_value(lost.own_step_ns, step);
  if (ranks < 2) return;
  const double of_others_ns =
      step_value(lost.step_ns, step) * static_cast<double>(ranks) - step_value(lost.own_step_ns, step);
  row.late_ns = row.late_ns.value_or(0) + std::max(0.0, of_others_ns) / static_cast<double>(ranks - 1);
}

std::vector<StepRow> explained_rows(const RunAnswer& run, const ProcessAnswer& process, std::uint32_t member) {
  const StepTime& time = *run.step_time;
  const std::size_t ranks = run.step_members.size();
  const ProcessAnswer* first = run.step_member(0);
  std::vector<const LostTime*> lost;
  for (const LostTime& one : time.lost)
    if (one.of_all || one.member == member) lost.push_back(&one);
  std::vector<StepRow> rows;
  for (std::size_t i = 0; i < time.each.size(); ++i) {
    const ExplainedStep& step = time.each[i];
    StepRow& row = rows.emplace_back();
    row.process = &process;
    row.number = step.number;
    if (first != nullptr && step.type < first->steps.types.size()) row.type = first->steps.types[step.type].name;
    row.begin_realtime_ns = step.begin_realtime_ns;
    row.length_ns = step.length_ns;
    row.is_explained = true;
    row.ranks = ranks;
    if (ranks > 1) row.late_ns = 0;
    for (const LostTime* one : lost) add_lost(*one, i, ranks, row);
    double own_ns = 0;
    for (const double ns : row.lost_ns) own_ns += ns;
    row.waited_ns = ranks > 1 ? std::max(0.0, step.length_ns - own_ns) : 0;
    if (member < time.own_step_ns.size() && i < time.own_step_ns[member].size())
      row.own_cost_ns = time.own_step_ns[member][i];
  }
  return rows;
}

}  // namespace

std::string job_name(const RunAnswer& run) { return run.job_id.empty() ? run.started() : run.job_id; }

std::vector<StepRow> step_rows(const RunAnswer& run, std::size_t place) {
  const ProcessAnswer& process = run.processes[place];
  if (run.step_time && !run.step_time->each.empty()) {
    const auto found = std::find(run.step_members.begin(), run.step_members.end(), process.trace_path);
    if (found == run.step_members.end()) return {};
    return explained_rows(run, process, static_cast<std::uint32_t>(found - run.step_members.begin()));
  }
  std::vector<StepRow> rows;
  if (run.ranks > 0 && process.kind != ProcessKind::kRank) return rows;
  for (const Step& step : process.steps.steps) rows.push_back(unexplained_row(process, step));
  return rows;
}

}  // namespace hostprobe::analysis
