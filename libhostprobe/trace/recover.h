// recover.h: brings what a killed process left in shared memory into its trace file, and frees the memory.
//
// Room 3. A live process is never touched. Order on
// disk: blocks, then the header that announces them, then the segment goes; interrupted anywhere, a second try works.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hostprobe::analysis {

enum class Recovery {
  kDone,       // records were added (maybe none) and the shared memory is free again
  kNotNeeded,  // the process had closed its trace, or it was recovered before
  kLives,      // its process is running
  kElsewhere,  // written on another host or before the last boot
  kGone,       // the shared memory no longer exists
  kEmpty,      // the process was killed before it had written the header
  kFailed,     // see what
};

struct RecoveryAnswer {
  std::string path;
  Recovery result = Recovery::kFailed;
  std::uint64_t records = 0;  // added to the file
  std::string what;
};

RecoveryAnswer recover_trace(const std::string& path);

// Every trace of a run. Throws std::system_error when there is no such path.
// `progress` is told how many bytes of how many were looked at; it may be empty.
std::vector<RecoveryAnswer> recover_run(
    const std::string& run, const std::function<void(std::uint64_t done, std::uint64_t all)>& progress = {});

}  // namespace hostprobe::analysis
