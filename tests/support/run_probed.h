// run_probed.h: runs a victim program bare and with the probe preloaded, and holds the two against each other.
//
// A run has its own working folder, its own run folder and a clean environment: no
// HOSTPROBE_*, SIMNODE_* or LD_PRELOAD leaks in from whoever started the tests. A victim that runs over its time is
// ended by its pid, nothing else is ever killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace hostprobe::test {

using Environment = std::map<std::string, std::string>;

struct Outcome {
  pid_t pid = -1;
  int status = 0;  // as waitpid gives it
  std::string out;
  std::string err;
  bool over_time = false;

  bool exited_with(int code) const;
  bool ended_by(int signal) const;
  std::string describe() const;
};

struct Launch {
  std::vector<std::string> command = {};
  Environment environment = {};                   // on top of the cleaned environment of the test
  std::filesystem::path folder = {};              // working folder; empty: the test's own
  std::function<void()> before_exec = {};         // runs in the child: limits, namespaces, mounts
  std::function<void(pid_t)> while_running = {};  // runs in the test, once the child has been started
  std::chrono::seconds limit{40};
};
// Returns once the child has ended and every process that kept its output open has closed it.
Outcome run(const Launch& launch);

// A folder of its own under the temporary folder. When it goes, the shared memory of the runs in it goes as well.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path run() const { return path_ / "run"; }

 private:
  std::filesystem::path path_;
};

struct Victim {
  std::string program = {};  // a name in tests/programs, or a path
  std::vector<std::string> args = {};
  Environment environment = {};            // in both runs
  Environment probe = {};                  // in the probed run only
  std::function<void()> before_exec = {};  // in both runs
  std::function<void(pid_t)> while_running = {};
  std::chrono::seconds limit{40};
};
std::filesystem::path built(const std::string& path);  // of the build folder
std::filesystem::path program_path(const std::string& program);
// A shared library of tests/programs, by the name that CMake has for it.
std::string program_library(const std::string& name);
std::filesystem::path probe_library();
std::filesystem::path probe_command();
std::filesystem::path simnode_folder();

// What one of the two runs left in its working folder; `truth` is what the victim noted down, a line split at blanks.
struct OneRun {
  Outcome outcome;
  std::filesystem::path folder;
  std::vector<std::vector<std::string>> truth() const;
  // The words after `key` in the one line that begins with it.
  std::vector<std::string> told(const std::string& key) const;
  long long number(const std::string& key) const;
};
OneRun run_bare(const Victim& victim, const ScratchFolder& scratch);
OneRun run_probed(const Victim& victim, const ScratchFolder& scratch);

// Both runs of one victim.
struct Pair {
  ScratchFolder scratch;
  OneRun bare;
  OneRun probed;
  explicit Pair(const Victim& victim);
  // Memory of the probed run goes even where its trace lay elsewhere, or could not be written.
  ~Pair();
  std::filesystem::path run() const { return scratch.run(); }
};

// Same output, same exit status or signal. The probe may have said at most `messages` lines of its own.
void expect_same(const OneRun& bare, const OneRun& probed, int messages = 0);
inline void expect_same(const Pair& pair, int messages = 0) { expect_same(pair.bare, pair.probed, messages); }
// The probe's own lines in a text, in order.
std::vector<std::string> probe_messages(const std::string& err);

std::vector<std::filesystem::path> trace_files(const std::filesystem::path& run);

// System V segments that nobody is attached to and that one of `pids` made.
std::vector<int> orphaned_segments(const std::vector<pid_t>& pids);
void remove_segments_of(const std::vector<pid_t>& pids);
// From here on the test and what it starts have an IPC namespace of their own, where that is permitted: then nobody
// else's segments are found, or make segments scarce, and none is left behind.
void have_our_own_segments();

}  // namespace hostprobe::test
