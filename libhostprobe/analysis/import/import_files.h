// import_files.h: files of other tools become trace files of a run.
//
// Room 3. Each file by itself: one that cannot be used does not keep the others out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "left_out.h"

namespace hostprobe::analysis {

struct ImportedFile {
  std::string path;
  std::vector<std::string> traces;  // made of it
  std::string problem;              // why there are none, or why they are not all of it; "" = nothing is missing
  LeftOut left_out;
};

// Bytes read so far, and bytes of all files.
using ImportProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

enum class ImportForm {
  kProfile,  // of PyTorch (Kineto), .json or .json.gz
  kTable,    // of events, CSV
};

// `run` is made if missing. Throws std::system_error when it cannot be written.
std::vector<ImportedFile> import_files(ImportForm form, const std::vector<std::string>& paths, const std::string& run,
                                       const ImportProgress& progress = {});

}  // namespace hostprobe::analysis
