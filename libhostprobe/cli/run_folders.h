// run_folders.h: run folders: a new one, what lies ready in one to be joined, and those near a path that is none.
//
// Room 4.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::cli {

// Run folders beside `path`, or in the current folder where nothing is beside it, the newest first; a few at most.
std::vector<std::string> run_folders_near(const std::string& path);

// "; run folders here, the newest first: A, B", or "".
std::string run_folders_note(const std::string& path);

// Throws std::runtime_error with that note where there is no such path.
void require_run(const std::string& path);

struct NewRunFolder {
  std::string path;
  bool is_new = false;  // made for this run
};
// -o, else HOSTPROBE_OUT, else a folder of this second: two runs one after the other never mix by accident.
NewRunFolder make_run_folder(const std::string& given);

// What windows of PyTorch's own profiler left in that folder becomes traces of it; what does not is said.
void join_windows(const std::string& run);

}  // namespace hostprobe::cli
