// diff.cpp: `hostprobe diff`.
#include <memory>

#include "analysis/findings/run_diff.h"
#include "answered_run.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/page/page_file.h"
#include "cli/run_folders.h"
#include "cli/screen/text_report.h"
#include "gate.h"
#include "report/diff/diff_json.h"
#include "report/html/diff_page.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  JobNumber job_a, job_b;
  bool json = false;
  bool all = false;
  GateLimit fail_over;
  unsigned memory_mb = analysis::kMemoryMb;
  PageArguments page;
};

int compare(const DiffArguments& arguments) {
  for (const std::string& path : {arguments.a, arguments.b}) require_run(path);  // before the long reading of the other
  const analysis::RunAnswer a = answered_run(arguments.a, arguments.job_a, arguments.memory_mb);
  const analysis::RunAnswer b = answered_run(arguments.b, arguments.job_b, arguments.memory_mb);
  analysis::RunDiff changes = analysis::compare_runs(a, b);
  if (arguments.fail_over.is_wanted())
    changes.gate = analysis::judge_steps(changes.steps, a, b, arguments.fail_over.pct());
  if (arguments.page.is_wanted())
    write_page(arguments.page, analysis::diff_document(changes, a, b), analysis::diff_page);
  if (arguments.json)
    write_json(analysis::diff_json(changes, a, b) + "\n");
  else if (!arguments.page.is_wanted())
    print_diff(changes, a, b, arguments.all);
  const bool has_no_text = arguments.json || arguments.page.is_wanted();
  return changes.gate ? gate_status(*changes.gate, has_no_text) : kDone;
}

int diff(const DiffArguments& arguments) {
  require_page_file(arguments.page);
  return within_gate(arguments.fail_over, [&arguments] { return compare(arguments); });
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
                  gate_option(arguments->fail_over),
                  memory_option(arguments->memory_mb)},
      .notes =
          "Steps are the samples: a change is named only where it exceeds what the steps of one run differ by among\n"
          "themselves. Exit 0 whether or not anything changed, 1 where a run cannot be read.\n"
          "With --fail-over: exit 0 where steps are not slower by more, 1 where they are, 3 where that is not known: "
          "too\n"
          "few steps, noise above the limit, runs that are not comparable, or a run that cannot be read.\n"
          "Examples:\n  hostprobe diff RUN-BEFORE RUN-AFTER\n"
          "  hostprobe diff RUN RUN --job-a 1 --job-b 2            two jobs of one folder\n"
          "  hostprobe diff A B --json | jq '.findings[] | select(.change != \"same\")'\n"
          "  hostprobe diff A B --html change.html\n"
          "  hostprobe diff BASELINE RUN --fail-over 3%             a gate of a CI job",
      .run = [arguments](const Words&) { return diff(*arguments); }};
  add_page_options(arguments->page, command);
  return command;
}

}  // namespace hostprobe::cli
