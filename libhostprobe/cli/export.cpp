// export.cpp: `hostprobe export`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "export/export_form.h"
#include "job_option.h"
#include "memory.h"
#include "missing_trace.h"
#include "output.h"
#include "report/text_output.h"
#include "trace/memory_budget.h"

namespace hostprobe::cli {
namespace {

struct ExportArguments {
  std::string run;
  const std::vector<analysis::ExportForm> forms = analysis::export_forms();
  std::vector<std::string> paths = std::vector<std::string>(forms.size());  // of each form; "": it is not asked for
  JobNumber job;
  bool by_step = false;
};

void export_into(const analysis::ExportForm& form, const analysis::ChosenJob& run, const analysis::RunSteps& steps,
                 const std::string& path) {
  if (path.empty()) return;
  analysis::TextOutput output(path);
  const auto sink = [&output](std::string_view text) { output.write(text); };
  const auto problems = form.write != nullptr ? form.write(run, sink, progress_on_stderr())
                                              : form.write_with_steps(run, steps, sink, progress_on_stderr());
  end_progress();
  for (const std::string& problem : problems) say(problem);
  output.finish();
}

// "--chrome PATH, --perfetto PATH or --csv PATH"
std::string options_text(const std::vector<analysis::ExportForm>& forms) {
  std::string text;
  for (std::size_t i = 0; i < forms.size(); ++i)
    text += fmt::format("{}{} PATH", i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ", forms[i].option);
  return text;
}

// Of a form that asks for none, none: they take a reading of the whole run.
analysis::RunSteps steps_for(const ExportArguments& arguments, const analysis::ChosenJob& run) {
  analysis::RunSteps steps;
  steps.as_frames = arguments.by_step;
  bool are_asked = false;
  for (std::size_t i = 0; i < arguments.forms.size(); ++i)
    are_asked = are_asked || (!arguments.paths[i].empty() && arguments.forms[i].write_with_steps != nullptr);
  if (!are_asked) {
    if (arguments.by_step) throw UsageError("export: --by-step is for stacks");
    return steps;
  }
  const analysis::RunAnswer answer =
      analysis::analyse_run(run, progress_on_stderr(), within_memory(analysis::kMemoryMb));
  for (const analysis::ProcessAnswer& process : answer.processes)
    steps.of_trace[process.trace_path] = process.steps.steps;
  return steps;
}

int export_run(const ExportArguments& arguments) {
  if (std::all_of(arguments.paths.begin(), arguments.paths.end(), [](const std::string& path) { return path.empty(); }))
    throw UsageError("export: say what to make, " + options_text(arguments.forms));
  const analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  if (chosen.traces.empty()) throw std::runtime_error(no_trace_text(chosen));
  say_job(chosen);
  const analysis::RunSteps steps = steps_for(arguments, chosen);
  for (std::size_t i = 0; i < arguments.forms.size(); ++i)
    export_into(arguments.forms[i], chosen, steps, arguments.paths[i]);
  return kDone;
}

}  // namespace

Command export_command() {
  auto arguments = std::make_shared<ExportArguments>();
  std::vector<Option> options = {run_option(arguments->run), job_option(arguments->job)};
  for (std::size_t i = 0; i < arguments->forms.size(); ++i)
    options.push_back({.names = arguments->forms[i].option,
                       .target = &arguments->paths[i],
                       .meaning = arguments->forms[i].meaning,
                       .value_name = "PATH"});
  options.push_back({.names = "--by-step",
                     .target = &arguments->by_step,
                     .meaning = "With --flamegraph and --speedscope: each step has stacks of its own"});
  return {.name = "export",
          .summary = "Writes a run in a form that other tools read.",
          .options = std::move(options),
          .notes =
              "What is at PATH is replaced once the new file is complete; it is compressed where PATH ends in .gz.\n"
              "Examples:\n  hostprobe export RUN --chrome timeline.json.gz\n"
              "  hostprobe export RUN --perfetto timeline.pftrace\n"
              "  hostprobe export RUN --pprof run.pb.gz && go tool pprof -tagroot=rank -http=: run.pb.gz\n"
              "  hostprobe export RUN --flamegraph stacks.txt && flamegraph.pl --countname=ns stacks.txt > stacks.svg\n"
              "  hostprobe export RUN --csv events.csv && hostprobe import -o COPY --csv events.csv",
          .run = [arguments](const Words&) { return export_run(*arguments); }};
}

}  // namespace hostprobe::cli
