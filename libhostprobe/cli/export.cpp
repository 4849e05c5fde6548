// export.cpp: `hostprobe export`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "export/export_form.h"
#include "job_option.h"
#include "missing_trace.h"
#include "output.h"
#include "report/text_output.h"

namespace hostprobe::cli {
namespace {

struct ExportArguments {
  std::string run;
  const std::vector<analysis::ExportForm> forms = analysis::export_forms();
  std::vector<std::string> paths = std::vector<std::string>(forms.size());  // of each form; "": it is not asked for
  JobNumber job;
};

void export_into(const analysis::ExportForm& form, const analysis::ChosenJob& run, const std::string& path) {
  if (path.empty()) return;
  analysis::TextOutput output(path);
  const auto problems = form.write(
      run, [&output](std::string_view text) { output.write(text); }, progress_on_stderr());
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

int export_run(const ExportArguments& arguments) {
  if (std::all_of(arguments.paths.begin(), arguments.paths.end(), [](const std::string& path) { return path.empty(); }))
    throw UsageError("export: say what to make, " + options_text(arguments.forms));
  const analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  if (chosen.traces.empty()) throw std::runtime_error(no_trace_text(chosen));
  say_job(chosen);
  for (std::size_t i = 0; i < arguments.forms.size(); ++i) export_into(arguments.forms[i], chosen, arguments.paths[i]);
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
  return {.name = "export",
          .summary = "Writes a run in a form that other tools read.",
          .options = std::move(options),
          .notes =
              "What is at PATH is replaced once the new file is complete; it is compressed where PATH ends in .gz.\n"
              "Examples:\n  hostprobe export RUN --chrome timeline.json.gz\n"
              "  hostprobe export RUN --perfetto timeline.pftrace\n"
              "  hostprobe export RUN --csv events.csv && hostprobe import -o COPY --csv events.csv",
          .run = [arguments](const Words&) { return export_run(*arguments); }};
}

}  // namespace hostprobe::cli
