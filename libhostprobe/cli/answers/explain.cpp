// explain.cpp: `hostprobe explain`.
#include <fmt/format.h>

#include <memory>

#include "answered_run.h"
#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "report/explain/explanation.h"
#include "report/json_text.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct ExplainArguments {
  std::string cause, run;
  JobNumber job;
  bool json = false;
  unsigned memory_mb = analysis::kMemoryMb;
};

const analysis::EmbeddedText& page_of(const std::string& cause) {
  std::vector<std::string> names;
  for (const analysis::EmbeddedText& page : analysis::cause_pages()) {
    if (page.name == cause) return page;
    names.push_back(page.name);
  }
  throw UsageError(
      fmt::format("explain: no cause is called {}{}; `hostprobe explain` lists them", cause, suggestion(cause, names)));
}

int explain(const ExplainArguments& arguments) {
  if (arguments.cause.empty()) {
    if (arguments.json) throw UsageError("explain: --json needs a cause");
    write_out(analysis::causes_text());
    return kDone;
  }
  const analysis::EmbeddedText& page = page_of(arguments.cause);
  std::optional<analysis::RunAnswer> run;
  if (!arguments.run.empty()) run = answered_run(arguments.run, arguments.job, arguments.memory_mb);
  const analysis::RunAnswer* answer = run ? &*run : nullptr;
  if (arguments.json)
    write_json(analysis::json_text(analysis::explanation_document(page, answer), 1) + "\n");
  else
    write_out(analysis::explanation_text(page, answer));
  return kDone;
}

}  // namespace

Command explain_command() {
  auto arguments = std::make_shared<ExplainArguments>();
  return {.name = "explain",
          .summary = "Says what a cause means, and shows its evidence in a run.",
          .options = {{.names = "CAUSE",
                       .target = &arguments->cause,
                       .meaning = "An id as the report names it, such as gc_pause; without one all are listed"},
                      {.names = "RUN", .target = &arguments->run, .meaning = "A run folder, or one trace file"},
                      job_option(arguments->job, "--job"),
                      {.names = "--json", .target = &arguments->json, .meaning = "One JSON document instead of text"},
                      memory_option(arguments->memory_mb)},
          .notes =
              "Examples:\n  hostprobe explain                    all causes, a line each\n"
              "  hostprobe explain gc_pause           when it is named, and by what evidence\n"
              "  hostprobe explain gc_pause RUN       with the evidence of this run",
          .run = [arguments](const Words&) { return explain(*arguments); }};
}

}  // namespace hostprobe::cli
