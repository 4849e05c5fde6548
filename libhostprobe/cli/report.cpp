// report.cpp: `hostprobe report`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "analysis/number_ranges.h"
#include "commands.h"
#include "job_option.h"
#include "live/python_places.h"
#include "memory.h"
#include "missing_trace.h"
#include "output.h"
#include "page/page_file.h"
#include "report/html/page.h"
#include "report/json/json.h"
#include "screen/text_report.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct ReportArguments {
  std::string run;
  JobNumber job;
  bool json = false;
  unsigned memory_mb = analysis::kMemoryMb;
  std::string step;
  std::string steps = "auto";
  analysis::ReportOptions options;
  PageArguments page;
};

analysis::StepQuery step_query(const ReportArguments& arguments) {
  analysis::StepQuery query;
  query.choice = arguments.steps == "marks"      ? analysis::StepChoice::kMarks
                 : arguments.steps == "detected" ? analysis::StepChoice::kDetected
                 : arguments.steps == "off"      ? analysis::StepChoice::kOff
                                                 : analysis::StepChoice::kAuto;
  query.slowest = arguments.step == "slowest";
  if (!query.slowest && !arguments.step.empty()) query.number = std::stoull(arguments.step);
  return query;
}

// A number, or "slowest".
std::string check_step(const std::string& text) {
  const bool digits = !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
  return digits || text == "slowest" ? std::string() : "neither a step's number nor slowest";
}

// A rank that the run does not have is a mistake, not an empty report.
void require_rank(const analysis::RunAnswer& run, const analysis::ReportOptions& options) {
  const auto shown = [&options](const analysis::ProcessAnswer& process) { return options.shows(process); };
  if (!options.rank || std::any_of(run.processes.begin(), run.processes.end(), shown)) return;
  std::set<std::uint64_t> ranks;
  for (const analysis::ProcessAnswer& process : run.processes)
    if (process.rank && *process.rank >= 0) ranks.insert(static_cast<std::uint64_t>(*process.rank));
  throw std::runtime_error(
      fmt::format("this run has no rank {}; {}", *options.rank,
                  ranks.empty() ? "none of its processes is a rank" : "its ranks are " + analysis::ranges_text(ranks)));
}

void write_report(const ReportArguments& arguments, const analysis::RunAnswer& run) {
  if (arguments.page.is_wanted())
    write_page(arguments.page, analysis::report_document(run, arguments.options), analysis::report_page);
  if (arguments.json)
    write_json(analysis::report_json(run, arguments.options) + "\n");
  else if (!arguments.page.is_wanted())
    print_report(run, arguments.options);
}

int report(const ReportArguments& arguments) {
  require_page_file(arguments.page);
  if (!arguments.options.tables.empty() && (arguments.json || arguments.page.is_wanted()))
    throw UsageError(fmt::format("report: {} holds every table; leave out '{}'", arguments.json ? "--json" : "--html",
                                 arguments.options.tables.front()));
  const analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  analysis::Effort effort = within_memory(arguments.memory_mb);
  effort.stacks = arguments.json || arguments.page.is_wanted();
  analysis::RunAnswer run =
      analysis::analyse_run(chosen, progress_on_stderr(), effort, step_query(arguments), analysis::add_python_places);
  end_progress();
  const bool is_empty = run.processes.empty() && run.kernel.files.empty();
  if (is_empty && run.unreadable.empty()) throw std::runtime_error(no_trace_text(chosen));
  const std::string why = run.unreadable.empty() ? "" : run.unreadable.front().what;
  const std::string problem = std::filesystem::is_directory(arguments.run)
                                  ? fmt::format("no trace in {} could be read; the first: {}", arguments.run, why)
                                  : fmt::format("{} cannot be read: {}", arguments.run, why);
  // Not a word of a report about what could not be read.
  if (is_empty && !arguments.json) throw std::runtime_error(problem);
  require_rank(run, arguments.options);
  write_report(arguments, run);
  if (!is_empty) return kDone;
  // The document above is complete, and says why; but a script that expected numbers must notice.
  throw std::runtime_error(problem);
}

}  // namespace

Command report_command() {
  auto arguments = std::make_shared<ReportArguments>();
  analysis::ReportOptions& shown = arguments->options;
  Command command = {
      .name = "report",
      .summary = "Says what a run lost on the host side, and what to change.",
      .options =
          {run_option(arguments->run),
           table_option(shown),
           job_option(arguments->job),
           {.names = "--json", .target = &arguments->json, .meaning = "One JSON document instead of text"},
           {.names = "--rank", .target = &shown.rank, .meaning = "Only what belongs to this rank", .value_name = "N"},
           {.names = "--all", .target = &shown.all, .meaning = "After the first screen, every table with every row"},
           {.names = "--step",
            .target = &arguments->step,
            .meaning = "Only this step: its number, or slowest",
            .check = check_step},
           {.names = "--steps",
            .target = &arguments->steps,
            .meaning = "Which steps to use: auto takes the run's own setting (HOSTPROBE_STEPS); marks, detected or off "
                       "override it",
            .choices = {"auto", "marks", "detected", "off"}},
           memory_option(arguments->memory_mb)},
      .notes =
          "Works at any time: while the job runs, after it ended, after it was killed. The first screen says what is "
          "wrong, where,\n"
          "what it costs, what to do and what that gains.\n" +
          table_help() +
          "Examples:\n  hostprobe report RUN\n  hostprobe report RUN waits threads --rank 3\n"
          "  hostprobe report RUN --step slowest\n  hostprobe report RUN --html report.html\n"
          "  hostprobe report RUN --json | jq .verdict",
      .run = [arguments](const Words&) { return report(*arguments); }};
  add_page_options(arguments->page, command);
  return command;
}

}  // namespace hostprobe::cli
