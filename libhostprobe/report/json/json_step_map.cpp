// json_step_map.cpp: see json_step_map.h.
#include "json_step_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace hostprobe::analysis {
namespace {

// As many as can be told apart on a screen, and a thousand ranks are still a document that can be sent.
constexpr std::size_t kMostColumns = 240;

bool has_steps(const ProcessAnswer& process) {
  return process.kind != ProcessKind::kWorker && !process.steps.steps.empty();
}

// Of which there are most steps: its numbers are the columns. Of equal ones the first, which is the lowest rank.
const ProcessAnswer* longest_process(const RunAnswer& run) {
  const ProcessAnswer* longest = nullptr;
  for (const ProcessAnswer& process : run.processes)
    if (has_steps(process) && (longest == nullptr || process.steps.steps.size() > longest->steps.steps.size()))
      longest = &process;
  return longest;
}

// Three digits are more than a colour shows.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  return std::round(value / unit) * unit;
}

class StepColumns {
 public:
  explicit StepColumns(const std::vector<Step>& steps) {
    for (const Step& step : steps) numbers_.push_back(step.number);
    // A program may count its steps from the beginning again.
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    per_column_ = (numbers_.size() + kMostColumns - 1) / kMostColumns;
  }

  std::size_t steps() const { return numbers_.size(); }
  std::size_t per_column() const { return per_column_; }
  std::size_t columns() const { return (numbers_.size() + per_column_ - 1) / per_column_; }
  std::uint64_t first_number(std::size_t column) const { return numbers_[column * per_column_]; }
  // Nothing: another rank made it, and this one did not.
  std::optional<std::size_t> column_of(std::uint64_t number) const {
    const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), number);
    if (found == numbers_.end() || *found != number) return std::nullopt;
    return static_cast<std::size_t>(found - numbers_.begin()) / per_column_;
  }

 private:
  std::vector<std::uint64_t> numbers_;
  std::size_t per_column_ = 1;
};

// Medians of the run by type, so that a rank that is always slow shows beside the others.
class UsualLengths {
 public:
  explicit UsualLengths(const StepAnswer& steps) {
    for (const StepTypeAnswer& type : steps.types) by_type_.emplace(type.name, type.lengths.median_ns);
  }
  double of(const StepAnswer& steps, const Step& step) const {
    if (step.type >= steps.types.size()) return steps.lengths.median_ns;
    const StepTypeAnswer& type = steps.types[step.type];
    const auto found = by_type_.find(type.name);
    return found == by_type_.end() ? type.lengths.median_ns : found->second;
  }

 private:
  std::map<std::string, double> by_type_;
};

Json excess_json(const StepAnswer& steps, const StepColumns& columns, const UsualLengths& usual) {
  std::vector<std::optional<double>> most_ns(columns.columns());
  for (const Step& step : steps.steps) {
    const auto column = columns.column_of(step.number);
    if (!column) continue;
    const double excess_ns = std::max(0.0, step.length_ns() - usual.of(steps, step));
    most_ns[*column] = std::max(most_ns[*column].value_or(0), excess_ns);
  }
  Json list = Json::array();
  for (const auto& ns : most_ns) list.push_back(ns ? Json(rounded(1e-6 * *ns)) : Json(nullptr));
  return list;
}

// Of one process, the longest step of each column.
Json strip_json(const ProcessAnswer& process, const StepColumns& columns) {
  std::vector<const Step*> longest(columns.columns());
  for (const Step& step : process.steps.steps)
    if (const auto column = columns.column_of(step.number)) {
      const Step*& one = longest[*column];
      if (one == nullptr || step.length_ns() > one->length_ns()) one = &step;
    }
  Json json = {{"rank", or_null(process.rank)}, {"pid", process.pid},  {"number", Json::array()},
               {"at_s", Json::array()},         {"ms", Json::array()}, {"type", Json::array()}};
  for (const Step* step : longest) {  // each has one: the columns are this process's own
    const auto& types = process.steps.types;
    json["number"].push_back(step->number);
    json["at_s"].push_back(1e-9 * (step->begin_ns - process.start_since_first_ns));
    json["ms"].push_back(rounded(1e-6 * step->length_ns()));
    json["type"].push_back(step->type < types.size() ? Json(types[step->type].name) : Json(nullptr));
  }
  return json;
}

// Of all lengths, exactly; for who wants to see how they are spread.
Json percentiles_json(const std::vector<Step>& steps) {
  std::vector<double> lengths_ns;
  for (const Step& step : steps) lengths_ns.push_back(step.length_ns());
  std::sort(lengths_ns.begin(), lengths_ns.end());
  Json json = Json::object();
  for (const unsigned percent : {0u, 5u, 25u, 50u, 75u, 95u, 100u})
    json["p" + std::to_string(percent)] = rounded(1e-6 * lengths_ns[(lengths_ns.size() - 1) * percent / 100]);
  return json;
}

// The mean of the steps in each column.
Json columns_json(const std::vector<double>& step_ns, std::size_t per_column) {
  Json list = Json::array();
  for (std::size_t from = 0; from < step_ns.size(); from += per_column) {
    const std::size_t end = std::min(step_ns.size(), from + per_column);
    double ns = 0;
    for (std::size_t step = from; step < end; ++step) ns += step_ns[step];
    list.push_back(rounded(1e-6 * ns / static_cast<double>(end - from)));
  }
  return list;
}

}  // namespace

Json causes_by_step_json(const StepTime& time) {
  std::size_t steps = 0;
  for (const LostTime& lost : time.lost) steps = std::max(steps, lost.step_ns.size());
  if (steps < 2) return nullptr;
  std::map<std::string, std::vector<double>> by_cause;
  for (const LostTime& lost : time.lost) {
    std::vector<double>& ns = by_cause[cause_id(lost.cause)];
    ns.resize(steps);
    for (std::size_t step = 0; step < lost.step_ns.size(); ++step) ns[step] += lost.step_ns[step];
  }
  const std::size_t per_column = (steps + kMostColumns - 1) / kMostColumns;
  Json json = {{"steps", steps}, {"steps_per_column", per_column}, {"ms", Json::object()}};
  for (const auto& [cause, ns] : by_cause) json["ms"][cause] = columns_json(ns, per_column);
  return json;
}

Json step_map_json(const RunAnswer& run) {
  const ProcessAnswer* longest = longest_process(run);
  if (longest == nullptr) return nullptr;
  const StepColumns columns(longest->steps.steps);
  const UsualLengths usual(run.steps);
  Json json = {{"steps", columns.steps()},
               {"steps_per_column", columns.per_column()},
               {"median_ms", 1e-6 * run.steps.usual_ns()},
               {"percentiles_ms", percentiles_json(longest->steps.steps)},
               {"first_number", Json::array()},
               {"longest", strip_json(*longest, columns)},
               {"ranks", Json::array()}};
  for (std::size_t column = 0; column < columns.columns(); ++column)
    json["first_number"].push_back(columns.first_number(column));
  for (const ProcessAnswer& process : run.processes)
    if (has_steps(process))
      json["ranks"].push_back({{"rank", or_null(process.rank)},
                               {"pid", process.pid},
                               {"excess_ms", excess_json(process.steps, columns, usual)}});
  return json;
}

}  // namespace hostprobe::analysis
