// inspector_import.h: what NCCL's Inspector wrote of the collectives of a process, an object of JSON for each, becomes traces.
//
// Room 3. One object is held at a time, whatever the length of the file.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/text_file.h"

namespace hostprobe::analysis {

struct InspectorImport {
  std::vector<std::string> traces;  // one for each process
  std::string problem;              // why there are none, or why they are not all of it; "" = nothing is missing
  std::string note;                 // what had to be guessed; "" = nothing
  LeftOut left_out;
};

// Throws std::system_error when the file cannot be opened.
InspectorImport import_inspector(const std::string& path, const std::string& run, const ReadProgress& progress = {});

}  // namespace hostprobe::analysis
