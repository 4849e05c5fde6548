// profile_import.h: a file with a profile becomes traces: read as one that is whole, and if it is not, as one that is damaged.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/text_file.h"

namespace hostprobe::analysis {

struct ProfileImport {
  std::vector<std::string> traces;
  std::string problem;  // "" = it was read from front to end, and something was in it
  std::string note;     // what had to be guessed; "" = nothing
  LeftOut left_out;
};

// Throws std::system_error when the file cannot be opened, or the traces cannot be written.
ProfileImport import_profile(const std::string& path, const std::string& run, const ReadProgress& progress = {});

}  // namespace hostprobe::analysis
