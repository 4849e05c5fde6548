// diff.cpp: `hostprobe diff`.
#include <fmt/format.h>

#include <memory>

#include "analysis/findings/run_diff.h"
#include "commands.h"
#include "job_option.h"
#include "memory.h"
#include "missing_trace.h"
#include "output.h"
#include "page/page_file.h"
#include "report/diff/diff_json.h"
#include "report/html/diff_page.h"
#include "run_folders.h"
#include "screen/text_report.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  JobNumber job_a, job_b;
  bool json = false;
  bool all = false;
  unsigned memory_mb = analysis::kMemoryMb;
  PageArguments page;
};

analysis::RunAnswer read(const std::string& path, const JobNumber& job, unsigned memory_mb) {
  const analysis::ChosenJob chosen = choose_job(path, job);
  analysis::RunAnswer run = analysis::analyse_run(chosen, progress_on_stderr(), within_memory(memory_mb));
  end_progress();
  if (!run.processes.empty()) return run;
  if (run.unreadable.empty()) throw std::runtime_error(no_trace_text(chosen));
  throw std::runtime_error(
      fmt::format("no trace in {} could be read; the first: {}", path, run.unreadable.front().what));
}

int diff(const DiffArguments& arguments) {
  require_page_file(arguments.page);
  for (const std::string& path : {arguments.a, arguments.b}) require_run(path);  // before the long reading of the other
  const analysis::RunAnswer a = read(arguments.a, arguments.job_a, arguments.memory_mb);
  const analysis::RunAnswer b = read(arguments.b, arguments.job_b, arguments.memory_mb);
  const analysis::RunDiff changes = analysis::compare_runs(a, b);
  if (arguments.page.is_wanted())
    write_page(arguments.page, analysis::diff_document(changes, a, b), analysis::diff_page);
  if (arguments.json)
    write_json(analysis::diff_json(changes, a, b) + "\n");
  else if (!arguments.page.is_wanted())
    print_diff(changes, a, b, arguments.all);
  return kDone;
}

}  // namespace

Command diff_command() {
  auto arguments = std::make_shared<DiffArguments>();
  Command command = {
      .name = "diff",
      .summary = "Says what changed from one run to another, and what is only noise.",
      .options = {{.names = "A",
                   .target = &arguments->a,
                   .meaning = "The run folder before, or one trace file",
                   .required = true},
                  {.names = "B",
                   .target = &arguments->b,
                   .meaning = "The run folder after, or one trace file",
                   .required = true},
                  job_option(arguments->job_a, "--job-a"),
                  job_option(arguments->job_b, "--job-b"),
                  {.names = "--json", .target = &arguments->json, .meaning = "One JSON document instead of text"},
                  {.names = "--all",
                   .target = &arguments->all,
                   .meaning = "Every row of the tables, not only those that changed"},
                  memory_option(arguments->memory_mb)},
      .notes =
          "Steps are the samples: a change is named only where it exceeds what the steps of one run differ by among\n"
          "themselves. Exit 0 whether or not anything changed, 1 where a run cannot be read.\n"
          "Examples:\n  hostprobe diff RUN-BEFORE RUN-AFTER\n"
          "  hostprobe diff RUN RUN --job-a 1 --job-b 2            two jobs of one folder\n"
          "  hostprobe diff A B --json | jq '.findings[] | select(.change != \"same\")'\n"
          "  hostprobe diff A B --html change.html",
      .run = [arguments](const Words&) { return diff(*arguments); }};
  add_page_options(arguments->page, command);
  return command;
}

}  // namespace hostprobe::cli
