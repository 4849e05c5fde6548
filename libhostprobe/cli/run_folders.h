// run_folders.h: the run folders near a path that is none, for whoever mistyped it.
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

}  // namespace hostprobe::cli
