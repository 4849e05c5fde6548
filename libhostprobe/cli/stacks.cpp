// stacks.cpp: `hostprobe stacks`.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "job_option.h"
#include "live/process_stacks.h"
#include "live/stacks_text.h"
#include "output.h"
#include "process_id.h"

namespace hostprobe::cli {
namespace {

constexpr char kStackNotes[] =
    "Where hostprobe records the process it also shows each thread's role, what it waits for and since when.\n"
    "Each thread is stopped only while its stack is copied. Needs the right to trace the process (same user; "
    "kernel.yama.ptrace_scope and containers may restrict it).\n"
    "A folder whose name is a number is ./NUMBER.\n"
    "Examples:\n"
    "  hostprobe stacks 4711                     roles and waits too, if it is recorded\n"
    "  hostprobe stacks RUN                      a hung job: its ranks side by side\n"
    "  hostprobe stacks RUN --json | jq '.shared_calls[] | {call, ranks: [.threads[].rank]}'";

struct StacksArguments {
  std::string target;
  JobNumber job;
  bool json = false;
};

analysis::StacksAnswer stacks_of_job(const StacksArguments& arguments) {
  const analysis::ChosenJob chosen = choose_job(arguments.target, arguments.job);
  say_job(chosen);
  return analysis::stacks_of_run(chosen);
}

void show(const StacksArguments& arguments) {
  const bool of_process = is_process_id(arguments.target);
  if (of_process && arguments.job) throw UsageError("stacks: --job is for a run folder");
  const analysis::StacksAnswer answer =
      of_process ? analysis::stacks_of_process(std::stoi(arguments.target)) : stacks_of_job(arguments);
  if (arguments.json)
    write_json(analysis::stacks_json(answer));
  else
    write_out(analysis::stacks_text(answer));
}

}  // namespace

Command stacks_command() {
  auto arguments = std::make_shared<StacksArguments>();
  const auto run = [arguments](const Words&) {
    show(*arguments);
    return kDone;
  };
  return {.name = "stacks",
          .summary = "Shows what every thread of a process, or of a run's processes, is doing now.",
          .options = {{.names = "TARGET",
                       .target = &arguments->target,
                       .meaning = "A process id, or the run folder of a job",
                       .required = true},
                      job_option(arguments->job),
                      {.names = "--json", .target = &arguments->json, .meaning = "One JSON document instead of text"}},
          .notes = kStackNotes,
          .run = run};
}

}  // namespace hostprobe::cli
