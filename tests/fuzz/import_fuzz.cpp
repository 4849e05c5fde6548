// import_fuzz.cpp: any bytes are imported, as files of every source; what came of them is read back and asked everything.
//
// Nothing may crash, or throw anything but what an import may throw, and no trace that was made may be damaged.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "analysis/process.h"
#include "analysis/ranks/neighbours.h"
#include "export/export_form.h"
#include "import/import_files.h"
#include "import/kineto/profile_reader.h"
#include "memory_file.h"
#include "run_folder.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace {

using namespace hostprobe;
namespace fs = std::filesystem;

void read_back(const std::string& path) {
  const analysis::Trace trace = analysis::read_trace_file_only(path);
  if (!trace.damages.empty()) std::abort();
  if (analysis::is_kernel_trace(trace)) {
    analysis::KernelAnswer answer;
    analysis::add_kernel_trace(trace, {{path, "", 7, {7, 8}, 0, UINT64_MAX / 2}}, answer);
  }
  analysis::Symbols symbols;
  analysis::analyse_process(trace, symbols);
  std::size_t bytes = 0;
  const auto count = [&bytes](std::string_view text) { bytes += text.size(); };
  const analysis::ChosenJob chosen(path);
  const analysis::RunSteps steps;
  analysis::csv_form().write({chosen, steps}, count, {});
  analysis::chrome_form().write({chosen, steps}, count, {});
  analysis::perfetto_form().write({chosen, steps}, count, {});
  if (bytes == 0) std::abort();
}

void import(analysis::ImportForm form, const std::string& path) {
  try {
    for (const analysis::ImportedFile& file : analysis::import_files(form, {path}, run_folder(), {}, {"mono", {}}))
      for (const std::string& trace : file.traces) read_back(trace);
  } catch (const analysis::TraceError&) {
  }
  fs::remove_all(run_folder());
}

std::string text_of(const analysis::ProfileEvent& event) {
  std::string all;
  for (const std::string& text : event.texts) all += text + '|';
  return all;
}

// However short it is.
void read_in_halves(const std::string& path) {
  analysis::LeftOut left_out, of_second;
  std::string first, second, whole;
  const analysis::OnProfileEvent add_first = [&](const analysis::ProfileEvent& event) { first += text_of(event); };
  const analysis::OnProfileEvent add_second = [&](const analysis::ProfileEvent& event) { second += text_of(event); };
  const analysis::OnProfileEvent add = [&](const analysis::ProfileEvent& event) { whole += text_of(event); };
  const auto halves = analysis::read_profile_halves(path, {add_first, left_out}, {add_second, of_second}, {}, 1);
  if (!halves) return;
  const analysis::ProfileReading reading = analysis::read_profile(path, add, left_out);
  if (!reading.problem.empty() || reading.events != halves->events || first + second != whole) std::abort();
}

std::string copy_of(const std::uint8_t* data, std::size_t size) {
  const std::string path = run_folder() + ".sqlite";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file({reinterpret_cast<const char*>(data), size});
  read_in_halves(file.path());
  import(analysis::ImportForm::kProfile, file.path());
  import(analysis::ImportForm::kTable, file.path());
  import(analysis::ImportForm::kKernel, file.path());
  import(analysis::ImportForm::kFlightRecorder, file.path());
  import(analysis::ImportForm::kInspector, file.path());
  // SQLite follows the link that a file in memory is, to where there is none.
  if (size > 16 && std::memcmp(data, "SQLite format 3", 16) == 0)
    import(analysis::ImportForm::kNsight, copy_of(data, size));
  return 0;
}
