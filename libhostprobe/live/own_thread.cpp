// own_thread.cpp: see own_thread.h.
#include "own_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace hostprobe::analysis {
namespace {

constexpr char kOwnName[] = "hostprobe";  // as writer.cpp names it

std::string name_of(pid_t pid, pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::vector<pid_t> threads_of(pid_t pid) {
  namespace fs = std::filesystem;
  std::vector<pid_t> threads;
  std::error_code gone;
  for (fs::directory_iterator at(fmt::format("/proc/{}/task", pid), gone), end; !gone && at != end; at.increment(gone))
    threads.push_back(std::stoi(at->path().filename()));
  std::sort(threads.begin(), threads.end());
  return threads;
}

pid_t own_thread_of(pid_t pid) {
  // The first thread is the program's: a program may well have the same name, as our own command does.
  for (const pid_t tid : threads_of(pid))
    if (tid != pid && name_of(pid, tid) == kOwnName) return tid;
  return 0;
}

}  // namespace hostprobe::analysis
