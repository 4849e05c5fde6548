// export.cpp: `hostprobe export`.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "export/chrome_timeline.h"
#include "export/csv_table.h"
#include "export/perfetto_timeline.h"
#include "job_option.h"
#include "missing_trace.h"
#include "output.h"
#include "report/text_output.h"

namespace hostprobe::cli {
namespace {

struct ExportArguments {
  std::string run, chrome, perfetto, csv;
  JobNumber job;
};

using Export = std::vector<std::string> (*)(const analysis::ChosenJob&, const analysis::Sink&,
                                            const analysis::ExportProgress&);

void export_into(Export form, const analysis::ChosenJob& run, const std::string& path) {
  if (path.empty()) return;
  analysis::TextOutput output(path);
  const auto problems = form(
      run, [&output](std::string_view text) { output.write(text); }, progress_on_stderr());
  end_progress();
  for (const std::string& problem : problems) say(problem);
  output.finish();
}

int export_run(const ExportArguments& arguments) {
  if (arguments.chrome.empty() && arguments.perfetto.empty() && arguments.csv.empty())
    throw UsageError("export: say what to make, --perfetto PATH, --chrome PATH or --csv PATH");
  const analysis::ChosenJob chosen = choose_job(arguments.run, arguments.job);
  if (chosen.traces.empty()) throw std::runtime_error(no_trace_text(chosen));
  say_job(chosen);
  export_into(analysis::export_chrome, chosen, arguments.chrome);
  export_into(analysis::export_perfetto, chosen, arguments.perfetto);
  export_into(analysis::export_csv, chosen, arguments.csv);
  return kDone;
}

}  // namespace

Command export_command() {
  auto arguments = std::make_shared<ExportArguments>();
  return {.name = "export",
          .summary = "Writes a run in a form that other tools read.",
          .options =
              {run_option(arguments->run),
               job_option(arguments->job),
               {.names = "--chrome",
                .target = &arguments->chrome,
                .meaning = "A timeline for ui.perfetto.dev and chrome://tracing",
                .value_name = "PATH"},
               {.names = "--perfetto",
                .target = &arguments->perfetto,
                .meaning =
                    "The same in Perfetto's own form: smaller, and with the scheduler's tracks where it was recorded",
                .value_name = "PATH"},
               {.names = "--csv",
                .target = &arguments->csv,
                .meaning = "A table of launches, synchronisations, waits and collectives",
                .value_name = "PATH"}},
          .notes =
              "What is at PATH is replaced once the new file is complete; it is compressed where PATH ends in .gz.\n"
              "Examples:\n  hostprobe export RUN --chrome timeline.json.gz\n"
              "  hostprobe export RUN --perfetto timeline.pftrace\n"
              "  hostprobe export RUN --csv events.csv && hostprobe import -o COPY --csv events.csv",
          .run = [arguments](const Words&) { return export_run(*arguments); }};
}

}  // namespace hostprobe::cli
