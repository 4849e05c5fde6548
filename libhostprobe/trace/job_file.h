// job_file.h: what `hostprobe run` wrote into the run folder about one launch, as cli/job_file.h writes it.
//
// Room 3. A file that cannot be understood is as if it were not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hostprobe::analysis {

inline constexpr char kJobFileSuffix[] = ".job.json";

struct JobFile {
  std::string path;
  std::string host;
  std::uint32_t pid = 0;                // of the program that it started
  std::uint64_t begin_realtime_ns = 0;  // 0: not known
  std::uint64_t end_realtime_ns = 0;    // now, while it runs; the beginning, where `run` itself was killed
  std::optional<int> status;            // as a shell gives it: 128 + signal; nothing: it has not ended
  double wall_s = 0;
  std::string command;   // its words, joined by blanks
  bool started = false;  // the program could be started
};

// What a job file says of the program that was started, where it may tell why there is no trace of it. A part that is missing, or
// has another type than `run` writes, is empty.
struct JobStart {
  std::optional<std::string> program;  // as it was called
  std::string target;                  // HOSTPROBE_TARGET
  std::string load_obstacle;           // why nothing can be loaded into it
  std::string start_error;
  bool off = false;    // HOSTPROBE_OFF
  bool ended = false;  // the program, as far as is known
};

// Nothing: it cannot be read.
std::optional<JobStart> job_start(const std::string& path);

// Of a run folder, by name; none where the path is no folder.
std::vector<JobFile> job_files(const std::string& run);

}  // namespace hostprobe::analysis
