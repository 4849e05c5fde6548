// dump.cpp: `hostprobe dump`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "export/dump.h"
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

void add_dump(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("dump", "Prints every record of a run, one a line, in time order per thread.");
  auto arguments = std::make_shared<DumpArguments>();
  command->add_option("RUN", arguments->run, "The run folder, or one trace file")->required();
  add_job_option(*command, arguments->job);
  command->add_flag("--json", arguments->json, "One JSON object a line");
  command->add_flag("--switches", arguments->switches,
                    "Also when each thread was off its CPU, behind its records, where that was recorded");
  command->footer(
      "begin_ns is CLOCK_MONOTONIC of the host that was traced.\n"
      "Examples:\n  hostprobe dump RUN | less\n"
      "  hostprobe dump RUN --json | jq -c 'select(.function == \"cuLaunchKernel\") | .args.grid'");
  command->callback([arguments, &context] { context.status = dump(*arguments); });
}

}  // namespace hostprobe::cli
