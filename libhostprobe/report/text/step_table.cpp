// step_table.cpp: see step_table.h.
#include "step_table.h"

#include <fmt/format.h>

#include "report/columns.h"
#include "report/text_table.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortSlowest = 8, kMostSlowest = 50;

const char* origin_text(const StepAnswer& steps) {
  if (steps.source == StepSource::kDetected) return "found by their pattern; mark them for exact ones";
  return steps.by_optimizer ? "found at torch's optimizer" : "marked by the program";
}

std::string type_table(const StepAnswer& steps, std::size_t width) {
  TextTable table({{.heading = "type", .is_name = true},
                   {.heading = "steps"},
                   {.heading = "% of time"},
                   {.heading = "median"},
                   {.heading = "p99"},
                   {.heading = "max"}});
  for (const StepTypeAnswer& type : steps.types) {
    const StepLengths& lengths = type.lengths;
    table.add(
        {type.name, grouped(lengths.count),
         steps.lengths.total_ns > 0 ? fmt::format("{:.1f}", 100 * lengths.total_ns / steps.lengths.total_ns) : "?",
         duration_text(lengths.median_ns), duration_text(lengths.p99_ns), duration_text(lengths.max_ns)});
  }
  return table.text(width);
}

std::string slowest_table(const StepAnswer& steps, std::size_t most, std::size_t width) {
  TextTable table({{.heading = "slowest"},
                   {.heading = "type", .is_name = true},
                   {.heading = "took"},
                   {.heading = "over the median of its type"}});
  for (const SlowStep& slow : steps.slowest(most))
    table.add({fmt::format("#{}", slow.step.number), steps.types.empty() ? "" : steps.types[slow.step.type].name,
               duration_text(slow.step.length_ns()), duration_text(slow.excess_ns)});
  return table.text(width);
}

}  // namespace

std::string step_table(const RunAnswer& run, const ReportOptions& options) {
  const StepAnswer& steps = run.steps;
  if (steps.lengths.count == 0) return {};
  Lines out;
  std::string head = fmt::format("{}, {}", plural(steps.lengths.count, "step", "steps"), origin_text(steps));
  if (run.start_up_ms) head += fmt::format("; the first begins after {}", ms_text(*run.start_up_ms));
  out.add(wrapped(head, "", "  ", options.width));
  out.add(type_table(steps, options.width));
  if (const std::string slowest = slowest_table(steps, options.all ? kMostSlowest : kShortSlowest, options.width);
      !slowest.empty()) {
    out.line("");
    out.add(slowest);
    out.line("  each of them alone: hostprobe report {} --step NUMBER", printable(run.path));
  }
  return out.take();
}

}  // namespace hostprobe::analysis
