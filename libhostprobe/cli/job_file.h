// job_file.h: one small JSON file per launch in the run folder: what was started, when, and how it ended.
//
// Room 4. Written by `hostprobe run`. Never overwrites one: several jobs may write into a folder at the same time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hostprobe::cli {

class JobFile {
 public:
  // Makes <host>-<pid>-<time>.job.json, mode 0600. Throws std::system_error when that is not possible.
  JobFile(const std::string& run, const std::vector<std::string>& arguments, int program_pid);
  // Adds wall time and status. Never throws: the program's own result is what counts by then.
  void finish(int status) noexcept;

 private:
  std::string text(int status, bool ended) const;

  std::string path_;
  std::string host_;
  std::vector<std::string> arguments_;
  int program_pid_;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace hostprobe::cli
