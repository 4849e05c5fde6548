// import_files.h: files of other tools become trace files of a run.
//
// Room 3. Each file by itself: one that cannot be used does not keep the others out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "import/ftrace/kernel_clock.h"
#include "import/ftrace/kernel_table.h"
#include "import/input/left_out.h"

namespace hostprobe::analysis {

struct ImportedFile {
  std::string path;
  std::vector<std::string> traces;  // made of it
  std::string problem;              // why there are none, or why they are not all of it; "" = nothing is missing
  std::string note;                 // what had to be supposed; "" = nothing
  LeftOut left_out;
};

// Bytes read so far, and bytes of all files.
using ImportProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

enum class ImportForm {
  kProfile,         // of PyTorch (Kineto), .json or .json.gz
  kTable,           // of events, CSV
  kKernel,          // of the kernel's ftrace or perf, as text, or a trace.dat
  kFlightRecorder,  // dumps of PyTorch's Flight Recorder, pickle or JSON
  kNsight,          // of Nsight Systems, exported as SQLite
  kInspector,       // of NCCL's Inspector, JSON
};

// What is needed for traces of the kernel alone.
struct KernelImport {
  std::string clock;  // which one they were recorded with, where a file does not say; "" = not known
  // Reads a trace.dat, which takes a library that is not everywhere; returns what went wrong, "" = nothing.
  std::function<std::string(const std::string& path, KernelTable&, TraceTimes&)> read_dat;
};

// `run` is made if missing. Throws std::system_error when it cannot be written.
std::vector<ImportedFile> import_files(ImportForm form, const std::vector<std::string>& paths, const std::string& run,
                                       const ImportProgress& progress = {}, const KernelImport& kernel = {});

}  // namespace hostprobe::analysis
