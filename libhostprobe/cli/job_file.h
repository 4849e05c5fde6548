// job_file.h: one small JSON file per launch in the run folder: what was started, when, and how it ended.
//
// Room 4. Written by `hostprobe run`. Never overwrites one: several jobs may write into a folder at the same time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace hostprobe::cli {

// What decides whether the program records, so that a run without a trace can be explained later.
struct Recording {
  std::string target;         // HOSTPROBE_TARGET
  bool off = false;           // HOSTPROBE_OFF
  std::string load_obstacle;  // program_file.h
};

class JobFile {
 public:
  // Makes <host>-<pid>-<time>.job.json, mode 0600. Throws std::system_error when that is not possible.
  JobFile(const std::string& run, const std::vector<std::string>& arguments, const Recording& recording,
          int program_pid);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  const std::string& path() const { return path_; }
  // Adds wall time and status. Never throws: the program's own result is what counts by then.
  void finish(int status) noexcept;
  // The program could not be started.
  void fail(const std::string& error) noexcept;

 private:
  void write(const std::optional<int>& status, const std::string& start_error) noexcept;
  std::string text(const std::optional<int>& status, const std::string& start_error) const;

  std::string path_;
  int file_ = -1;  // open until the end: by then something else may lie in its place
  std::string host_;
  std::vector<std::string> arguments_;
  Recording recording_;
  int program_pid_;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace hostprobe::cli
