// import.cpp: `hostprobe import`.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "import/ftrace/kernel_clock.h"
#include "import/import_files.h"
#include "output.h"
#include "recorder/trace_dat.h"

namespace hostprobe::cli {
namespace {

struct ImportArguments {
  std::string run;
  bool kineto = false, csv = false, ftrace = false;
  std::string clock;
  std::vector<std::string> files;
};

analysis::ImportForm form_of(const ImportArguments& arguments) {
  if (arguments.kineto + arguments.csv + arguments.ftrace != 1)
    throw UsageError("import: say what the files are, one of --kineto, --csv and --ftrace");
  if (!arguments.clock.empty() && !arguments.ftrace) throw UsageError("import: --clock is for --ftrace");
  if (!arguments.clock.empty() && !analysis::is_kernel_clock(arguments.clock))
    throw UsageError("import: no clock of the kernel is called " + arguments.clock);
  return arguments.kineto ? analysis::ImportForm::kProfile
         : arguments.csv  ? analysis::ImportForm::kTable
                          : analysis::ImportForm::kKernel;
}

// What was made of each file goes to stdout, what is missing to stderr.
int import_files(const ImportArguments& arguments) {
  const auto form = form_of(arguments);
  const auto files = analysis::import_files(form, arguments.files, arguments.run, progress_on_stderr(),
                                            {arguments.clock, kernel::trace_dat_reader()});
  end_progress();
  int status = kDone;
  for (const analysis::ImportedFile& file : files) {
    for (const std::string& trace : file.traces) write_out(trace + "\n");
    for (const auto& [kind, all] : file.left_out.kinds())
      say(fmt::format("{}: {} {}{}", file.path, all.count, kind,
                      all.first_byte ? fmt::format(", the first at byte {}", *all.first_byte) : ""));
    if (!file.note.empty()) say(fmt::format("{}: {}", file.path, file.note));
    if (!file.problem.empty())
      say(fmt::format("{}: {}{}", file.path,
                      file.traces.empty() ? "nothing imported: " : "read in part: ", file.problem));
    if (file.traces.empty()) status = kCouldNot;
  }
  return status;
}

}  // namespace

Command import_command() {
  auto arguments = std::make_shared<ImportArguments>();
  return {.name = "import",
          .summary = "Makes traces out of what other tools have measured.",
          .options =
              {{.names = "-o,--out",
                .target = &arguments->run,
                .meaning = "The run folder; made if missing, what is in it stays",
                .required = true},
               {.names = "--kineto",
                .target = &arguments->kineto,
                .meaning = "The files are profiles of PyTorch (Kineto), .json or .json.gz"},
               {.names = "--csv",
                .target = &arguments->csv,
                .meaning = "The files are tables of events, of `export --csv` or a tracer with its columns"},
               {.names = "--ftrace",
                .target = &arguments->ftrace,
                .meaning =
                    "The files are traces of the kernel: trace, trace_pipe, trace-cmd report, trace.dat, perf script"},
               {.names = "--clock",
                .target = &arguments->clock,
                .meaning = "With --ftrace: what its trace_clock was, where the file does not say",
                .value_name = "NAME"},
               {.names = "FILE", .target = &arguments->files, .meaning = "What to import", .required = true}},
          .notes =
              "Prints the traces it makes. What it cannot use is counted, a line for each kind, on stderr.\n"
              "Into the run folder of the probed process itself, the profile comes to stand on the same clock.\n"
              "Examples:\n  hostprobe import -o RUN --kineto profile/*.pt.trace.json.gz && hostprobe report RUN\n"
              "  hostprobe import -o RUN --ftrace --clock mono trace.txt",
          .run = [arguments](const Words&) { return import_files(*arguments); }};
}

}  // namespace hostprobe::cli
