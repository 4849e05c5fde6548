// import_files.cpp: see import_files.h.
#include "import_files.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "trace/file_bytes.h"

#include "import/flight_recorder/flight_trace.h"
#include "import/ftrace/kernel_text.h"
#include "import/inspector/inspector_import.h"
#include "import/kineto/profile_import.h"
#include "import/nsight/nsight_import.h"
#include "import/tracer_csv/table_trace.h"

namespace hostprobe::analysis {
namespace {

// Anything that an importer gives with these names.
template <typename Made>
void take(Made made, ImportedFile& file) {
  file.traces = std::move(made.traces);
  file.problem = std::move(made.problem);
  file.note = std::move(made.note);
  file.left_out = std::move(made.left_out);
}

void add_profile(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  take(import_profile(file.path, run, progress), file);
}

void add_table(const std::string& run, const ReadProgress& progress, ImportedFile& file) {
  TableReading reading = import_table(file.path, run, file.left_out, progress);
  file.problem = reading.problem;
  file.traces = std::move(reading.traces);
}

// As trace-cmd begins its files.
bool is_trace_dat(const std::string& path) {
  static constexpr char kMagic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
  char begin[sizeof(kMagic)] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin, kMagic, sizeof(kMagic)) == 0;
}

KernelReading add_trace_dat(const std::string& run, const KernelImport& kernel, ImportedFile& file) {
  KernelTable table(file.left_out);
  TraceTimes times;
  const std::string problem =
      kernel.read_dat ? kernel.read_dat(file.path, table, times)
                      : "this hostprobe was built without libtracecmd; import what `trace-cmd report` prints";
  // Of an instance's buffer the file names the clock of another: who says better knows better.
  if (!kernel.clock.empty()) times.clock = kernel.clock;
  if (times.clock == "x86-tsc") times.form = LineTime::kTicks;
  times.first = table.first_ticks();
  times.last = table.last_ticks();
  if (table.rows() == 0 && !problem.empty()) return {{}, problem, {}};
  if (table.lost() > 0) file.left_out.add("events that the kernel had lost", table.lost());
  KernelReading reading = write_kernel_table(table, times, file.path, run);
  if (reading.problem.empty()) reading.problem = problem;
  return reading;
}

void add_kernel(const std::string& run, const KernelImport& kernel, const ReadProgress& progress, ImportedFile& file) {
  KernelReading reading = is_trace_dat(file.path)
                              ? add_trace_dat(run, kernel, file)
                              : import_kernel_text(file.path, run, kernel.clock, file.left_out, progress);
  file.problem = reading.problem;
  file.note = reading.note;
  file.traces = std::move(reading.traces);
}

// A folder of `nsys export --type parquetdir`, or a file of it.
bool is_parquet(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (const auto& one : std::filesystem::directory_iterator(path, error))
      if (one.path().extension() == ".parquet") return true;
    return false;
  }
  char begin[4] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin, "PAR1", sizeof(begin)) == 0;
}

bool can_be_opened(ImportedFile& file) {
  try {
    TextFile opened(file.path);
  } catch (const std::system_error& error) {
    file.problem = error.code().message();
  }
  return file.problem.empty();
}

// Together: what a dump says of a group, another one may lack.
void add_flight_dumps(const std::string& run, const ImportProgress& progress, std::uint64_t all,
                      std::vector<ImportedFile>& files) {
  std::vector<std::string> paths;
  std::vector<ImportedFile*> opened;
  for (ImportedFile& file : files) {
    if (!can_be_opened(file)) continue;
    paths.push_back(file.path);
    opened.push_back(&file);
  }
  std::vector<FlightImport> made = import_flight_dumps(paths, run, [&](std::uint64_t bytes) {
    if (progress) progress(bytes, all);
  });
  for (std::size_t i = 0; i < made.size(); ++i) take(std::move(made[i]), *opened[i]);
}

void add_file(ImportForm form, const std::string& run, const KernelImport& kernel, const ReadProgress& progress,
              ImportedFile& file) {
  switch (form) {
    case ImportForm::kProfile:
      return add_profile(run, progress, file);
    case ImportForm::kTable:
      return add_table(run, progress, file);
    case ImportForm::kKernel:
      return add_kernel(run, kernel, progress, file);
    case ImportForm::kNsight:
      return take(import_nsight(file.path, run), file);
    case ImportForm::kInspector:
      return take(import_inspector(file.path, run, progress), file);
    case ImportForm::kFlightRecorder:
      break;  // all files at once
  }
}

}  // namespace

std::vector<ImportedFile> import_files(ImportForm form, const std::vector<std::string>& paths, const std::string& run,
                                       const ImportProgress& progress, const KernelImport& kernel) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& path : paths) all += file_bytes(path);
  std::vector<ImportedFile> files(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) files[i].path = paths[i];
  if (form == ImportForm::kFlightRecorder) {
    add_flight_dumps(run, progress, all, files);
    return files;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const ReadProgress tell = [&](std::uint64_t bytes) {
      if (progress) progress(done + bytes, all);
    };
    if (form == ImportForm::kNsight && is_parquet(paths[i]))
      files[i].problem =
          "it is Parquet: `python3 -m hostprobe.nsight FOLDER report.sqlite` makes of its folder what this reads";
    else if (can_be_opened(files[i]))
      add_file(form, run, kernel, tell, files[i]);
    done += file_bytes(paths[i]);
  }
  return files;
}

}  // namespace hostprobe::analysis
