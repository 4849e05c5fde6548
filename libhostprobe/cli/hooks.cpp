// hooks.cpp: `hostprobe hooks`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "analysis/run_answer.h"
#include "commands.h"
#include "job_option.h"
#include "layout.h"
#include "memory.h"
#include "missing_trace.h"
#include "output.h"
#include "trace/hook_list.h"
#include "trace/memory_budget.h"
#include "trace/symbols.h"

namespace hostprobe::cli {
namespace {

using analysis::Hook;

struct HooksArguments {
  std::string run;
  JobNumber job;
};

// The name comes last: it is the only part without a bound to its length.
std::string row(std::string_view family, std::string_view state, std::string_view name) {
  return fmt::format("{:<7} {:<14} {}\n", family, state, name);
}

template <typename Described>
std::string described(const Described& hook, const std::string& state) {
  return row(analysis::family_name(hook.family), state, analysis::demangle(hook.name));
}

std::string versions_of(const Hook& hook) { return hook.versions.empty() ? "not exported" : hook.versions; }

template <typename Described>
void sort_for_people(std::vector<Described>& hooks) {
  std::sort(hooks.begin(), hooks.end(), [](const Described& l, const Described& r) {
    return std::tie(l.family, l.name) < std::tie(r.family, r.name);
  });
}

void list_hooks() {
  std::vector<Hook> hooks = analysis::hooks_of_library(probe_library());
  sort_for_people(hooks);
  write_out(row("FAMILY", "EXPORTED AS", "FUNCTION"));
  for (const Hook& hook : hooks) write_out(described(hook, versions_of(hook)));
}

struct Use {
  std::size_t found_in = 0;
  std::size_t used_in = 0;
  std::uint64_t records = 0;
};

void list_hooks_of_run(const std::string& path, const JobNumber& job) {
  const analysis::ChosenJob chosen = choose_job(path, job);
  say_job(chosen);
  const analysis::RunAnswer run =
      analysis::analyse_run(chosen, progress_on_stderr(), within_memory(analysis::kMemoryMb));
  end_progress();
  if (run.processes.empty())
    throw std::runtime_error(run.unreadable.empty() ? no_trace_text(chosen) : "no trace in " + path + " could be read");
  std::vector<analysis::HookAnswer> hooks;
  std::map<std::string, Use> uses;
  for (const auto& process : run.processes) {
    for (const analysis::HookAnswer& hook : process.hooks) {
      const auto [use, fresh] = uses.try_emplace(hook.name);
      if (fresh) hooks.push_back(hook);
      use->second.found_in += hook.found ? 1 : 0;
      use->second.used_in += hook.used ? 1 : 0;
      use->second.records += hook.calls;
    }
  }
  sort_for_people(hooks);
  write_out(row("FAMILY", "IN THIS RUN", "FUNCTION"));
  for (const analysis::HookAnswer& hook : hooks) {
    const Use& use = uses[hook.name];
    const std::string state = use.records > 0     ? fmt::format("{} records", use.records)
                              : use.used_in > 0   ? "used, no record"
                              : use.found_in == 0 ? "missing"
                                                  : "not used";
    write_out(described(hook, state));
  }
}

int hooks(const HooksArguments& arguments) {
  if (arguments.run.empty())
    list_hooks();
  else
    list_hooks_of_run(arguments.run, arguments.job);
  return kDone;
}

}  // namespace

Command hooks_command() {
  auto arguments = std::make_shared<HooksArguments>();
  return {
      .name = "hooks",
      .summary = "Lists the hooked functions; with RUN: which were there and which recorded.",
      .options = {{.names = "RUN", .target = &arguments->run, .meaning = "A run folder, or one trace file"},
                  job_option(arguments->job)},
      .notes =
          "FAMILY       what the function belongs to: cuda, nccl, wait, wake, thread, io, python\n"
          "EXPORTED AS  the symbol version under which libhostprobe.so stands in front of it. \"not exported\": "
          "functions "
          "of "
          "the\n             GPU driver and NCCL, which are found at run time and never taken by their names\n"
          "IN THIS RUN  with RUN. \"missing\": no process had such a function; \"not used\": it was never called;\n"
          "             \"used, no record\": its calls were too short to be kept one by one, or are only passed on\n"
          "Examples:\n  hostprobe hooks\n  hostprobe hooks RUN",
      .run = [arguments](const Words&) { return hooks(*arguments); }};
}

}  // namespace hostprobe::cli
