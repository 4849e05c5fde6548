// trace_dat_fuzz.cpp: files of trace-cmd. Bytes that begin like one are imported whole, by a process of its own for each; all
// others are taken for what such a process told, which the one that started it has to live with.
//
// Whatever happens to the reading process, ours may neither crash nor throw, and no trace that was made may be damaged.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "analysis/ranks/neighbours.h"
#include "export/export_form.h"
#include "import/ftrace/kernel_text.h"
#include "import/import_files.h"
#include "memory_file.h"
#include "recorder/trace_dat.h"
#include "recorder/trace_dat_pieces.h"
#include "run_folder.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"

namespace {

using namespace hostprobe;
namespace fs = std::filesystem;

constexpr std::string_view kMagic = "\x17\x08\x44tracing";

void read_back(const std::vector<std::string>& traces) {
  for (const std::string& path : traces) {
    const analysis::Trace trace = analysis::read_trace_file_only(path);
    if (!trace.damages.empty() || !analysis::is_kernel_trace(trace)) std::abort();
    analysis::KernelAnswer answer;
    analysis::add_kernel_trace(trace, {{path, "", 7, {7, 8}, 0, UINT64_MAX / 2}}, answer);
    std::size_t bytes = 0;
    const analysis::ChosenJob chosen(path);
    const analysis::RunSteps steps;
    analysis::chrome_form().write({chosen, steps}, [&bytes](std::string_view text) { bytes += text.size(); }, {});
    analysis::perfetto_form().write({chosen, steps}, [&bytes](std::string_view packets) { bytes += packets.size(); },
                                    {});
    if (bytes == 0) std::abort();
  }
}

void import_whole(const MemoryFile& file) {
  const auto files = analysis::import_files(analysis::ImportForm::kKernel, {file.path()}, run_folder(), {},
                                            {"mono", kernel::trace_dat_reader()});
  for (const analysis::ImportedFile& one : files) {
    if (one.traces.empty() && one.problem.empty()) std::abort();  // nothing, and not a word why
    read_back(one.traces);
  }
}

void hear_pieces(const MemoryFile& file) {
  analysis::LeftOut left_out;
  analysis::KernelTable table(left_out);
  analysis::TraceTimes times;
  kernel::Listener listener(table, times);
  listener.listen(file.file());
  times.first = table.first_ticks();
  times.last = table.last_ticks();
  times.clock = "mono";
  read_back(analysis::write_kernel_table(table, times, "pieces", run_folder()).traces);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  if (bytes.starts_with(kMagic))
    import_whole(file);
  else
    hear_pieces(file);
  fs::remove_all(run_folder());
  return 0;
}
