// dump.cpp: `hostprobe dump`.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "export/dump/dump.h"
#include "job_option.h"
#include "missing_trace.h"
#include "output.h"

namespace hostprobe::cli {
namespace {

struct DumpArguments {
  std::string run;
  JobNumber job;
  bool json = false;
  bool switches = false;
};

int dump(const DumpArguments& arguments) {
  const analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  if (chosen.traces.empty()) throw std::runtime_error(no_trace_text(chosen));
  say_job(chosen);
  const auto form = arguments.json ? analysis::DumpForm::kJson : analysis::DumpForm::kText;
  const auto problems = analysis::dump_run(chosen, form, arguments.json ? write_json : write_out, arguments.switches);
  for (const std::string& problem : problems) say(problem);
  return kDone;
}

}  // namespace

Command dump_command() {
  auto arguments = std::make_shared<DumpArguments>();
  return {
      .name = "dump",
      .summary = "Prints every record of a run, one a line, in time order per thread.",
      .options = {run_option(arguments->run),
                  job_option(arguments->job),
                  {.names = "--json", .target = &arguments->json, .meaning = "One JSON object a line"},
                  {.names = "--switches",
                   .target = &arguments->switches,
                   .meaning = "Also when each thread was off its CPU, behind its records, where that was recorded"}},
      .notes =
          "begin_ns is CLOCK_MONOTONIC of the host that was traced.\n"
          "Examples:\n  hostprobe dump RUN | less\n"
          "  hostprobe dump RUN --json | jq -c 'select(.function == \"cuLaunchKernel\") | .args.grid'",
      .run = [arguments](const Words&) { return dump(*arguments); }};
}

}  // namespace hostprobe::cli
