// background.h: commands that run beside a test of `hostprobe sched`, and end with it.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "format/file.h"
#include "live/process_stacks.h"
#include "trace/reader.h"
#include "unit/cli_command.h"

namespace hostprobe::test {

inline int first_child_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  int child = 0;
  file >> child;
  return child;
}

// What `hostprobe sched` starts to record with; it lives until it is stopped.
class Living {
 public:
  explicit Living(const std::string& run, const char* source = "tracefs") {
    pid_ = fork();
    if (pid_ == 0) {
      execl(HOSTPROBE_TEST_COMMAND, "hostprobe", "sched", "-o", run.c_str(), "--source", source, "--all", nullptr);
      _exit(99);
    }
    // It records when its file has rows.
    while (!has_rows(run) && waitpid(pid_, &status_, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    recorder_ = first_child_of(pid_);
  }
  ~Living() {
    if (!ended_) kill(pid_, SIGKILL);
    end();
  }
  int end() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return status_;
  }
  int pid() const { return pid_; }
  int recorder() const { return recorder_; }

 private:
  static bool has_rows(const std::string& run) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(run, error))
      if (entry.file_size(error) > 2 * kFileHeaderBytes) return true;
    return false;
  }
  pid_t pid_ = 0;
  int recorder_ = 0, status_ = 0;
  bool ended_ = false;
};

// A command in the background; what it started ends with it.
class Command {
 public:
  explicit Command(std::vector<std::string> words) : pid_(fork()) {
    if (pid_ != 0) return;
    setpgid(0, 0);
    std::vector<char*> arguments{const_cast<char*>("hostprobe")};
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(HOSTPROBE_TEST_COMMAND, arguments.data());
    _exit(99);
  }
  ~Command() {
    if (!ended_) kill(-pid_, SIGKILL);
    end();
  }
  pid_t pid() const { return pid_; }
  void end() {
    if (!ended_) waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
};

inline void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

// The process that is recorded in the folder, once it answers.
inline std::string answering_process(const std::string& run) {
  for (;; nap())
    for (const std::string& path : analysis::trace_paths(run))
      if (const auto pid = analysis::living_process_of(path))
        if (hostprobe({"ctl", std::to_string(*pid), "status"}).status == 0) return std::to_string(*pid);
}

}  // namespace hostprobe::test
