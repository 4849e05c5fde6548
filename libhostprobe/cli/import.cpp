// import.cpp: `hostprobe import`.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <memory>

#include "commands.h"
#include "import/ftrace/kernel_clock.h"
#include "import/import_files.h"
#include "output.h"
#include "recorder/trace_dat.h"

namespace hostprobe::cli {
namespace {

struct FormOption {
  const char* name;
  analysis::ImportForm form;
  const char* meaning;
};
constexpr FormOption kForms[] = {
    {"--kineto", analysis::ImportForm::kProfile, "The files are profiles of PyTorch (Kineto), .json or .json.gz"},
    {"--csv", analysis::ImportForm::kTable,
     "The files are tables of events, of `export --csv` or a tracer with its columns"},
    {"--ftrace", analysis::ImportForm::kKernel,
     "The files are traces of the kernel: trace, trace_pipe, trace-cmd report, trace.dat, perf script"},
    {"--flight-recorder", analysis::ImportForm::kFlightRecorder,
     "The files are dumps of PyTorch's Flight Recorder, of all ranks of a job: pickle or JSON"},
    {"--nsight", analysis::ImportForm::kNsight,
     "The files are reports of Nsight Systems, as `nsys export --type sqlite` writes them"},
    {"--inspector", analysis::ImportForm::kInspector,
     "The files are what NCCL's Inspector dumped, an object of JSON for each collective"},
};

struct ImportArguments {
  std::string run;
  std::array<bool, std::size(kForms)> is_asked{};
  std::string clock;
  std::vector<std::string> files;
};

analysis::ImportForm form_of(const ImportArguments& arguments) {
  std::string names;
  const FormOption* chosen = nullptr;
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::size(kForms); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == std::size(kForms) ? " and " : ", ", kForms[i].name);
    if (!arguments.is_asked[i]) continue;
    chosen = &kForms[i];
    ++count;
  }
  if (count != 1) throw UsageError("import: say what the files are, one of " + names);
  if (!arguments.clock.empty() && chosen->form != analysis::ImportForm::kKernel)
    throw UsageError("import: --clock is for --ftrace");
  if (!arguments.clock.empty() && !analysis::is_kernel_clock(arguments.clock))
    throw UsageError("import: no clock of the kernel is called " + arguments.clock);
  return chosen->form;
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
  std::vector<Option> options = {{.names = "-o,--out",
                                  .target = &arguments->run,
                                  .meaning = "The run folder; made if missing, what is in it stays",
                                  .value_name = "RUN",
                                  .required = true}};
  for (std::size_t i = 0; i < std::size(kForms); ++i)
    options.push_back({.names = kForms[i].name, .target = &arguments->is_asked[i], .meaning = kForms[i].meaning});
  options.push_back({.names = "--clock",
                     .target = &arguments->clock,
                     .meaning = "With --ftrace: what its trace_clock was, where the file does not say",
                     .value_name = "NAME"});
  options.push_back({.names = "FILE", .target = &arguments->files, .meaning = "What to import", .required = true});
  return {.name = "import",
          .summary = "Makes traces out of what other tools have measured.",
          .options = std::move(options),
          .notes =
              "Prints the traces it makes. What it cannot use is counted, a line for each kind, on stderr.\n"
              "Into the run folder of the probed process itself, the profile comes to stand on the same clock.\n"
              "Examples:\n  hostprobe import -o RUN --kineto profile/*.pt.trace.json.gz && hostprobe report RUN\n"
              "  hostprobe import -o RUN --ftrace --clock mono trace.txt\n"
              "  hostprobe import -o HANG --flight-recorder /tmp/nccl_trace_rank_* && hostprobe report HANG",
          .run = [arguments](const Words&) { return import_files(*arguments); }};
}

}  // namespace hostprobe::cli
