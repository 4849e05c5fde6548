// unrecorded.cpp: see unrecorded.h. What decides in the process itself is probe/process/target.cpp.
#include "unrecorded.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "program_file.h"

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;

// Texts that each end with a zero byte.
std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::map<std::string, std::string> environment_of(pid_t pid) {
  std::map<std::string, std::string> environment;
  for (const std::string& entry : words_of(fmt::format("/proc/{}/environ", pid)))
    if (const auto equals = entry.find('='); equals != std::string::npos)
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  return environment;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string link_of(const std::string& path) {
  std::error_code gone;
  return fs::read_symlink(path, gone).string();
}

bool matches(const std::string& list, const std::string& name) {
  std::istringstream globs(list);
  for (std::string glob; std::getline(globs, glob, ',');)
    if (fnmatch(glob.c_str(), fs::path(name).filename().c_str(), 0) == 0) return true;
  return false;
}

// Of a process that has the library.
std::string why_no_target(pid_t pid, std::map<std::string, std::string>& environment) {
  if (environment["HOSTPROBE_OFF"] == "1")
    return fmt::format("process {} does not record: HOSTPROBE_OFF is set; start it without", pid);
  const std::string target = environment["HOSTPROBE_TARGET"];
  const std::string program = link_of(fmt::format("/proc/{}/exe", pid));
  if (!target.empty() && target != "auto" && target != "all") {
    const std::vector<std::string> command = words_of(fmt::format("/proc/{}/cmdline", pid));
    if (matches(target, program) || (!command.empty() && matches(target, command.front()))) return "";
    return fmt::format("process {} does not record: {} is none of HOSTPROBE_TARGET={}; start it with another target",
                       pid, fs::path(program).filename().string(), target);
  }
  if (target == "all" || environment["HOSTPROBE_LAUNCHED"] == std::to_string(pid))
    return fmt::format(
        "process {} does not record: it is a target, and has made no call worth a record yet; ask again later", pid);
  return "";
}

}  // namespace

std::string why_unrecorded(pid_t pid) {
  const std::string maps = text_of(fmt::format("/proc/{}/maps", pid));
  if (maps.empty()) return "";  // we may not look, or it has no memory of its own
  std::map<std::string, std::string> environment = environment_of(pid);
  if (maps.find("libhostprobe.so") == std::string::npos) {
    if (environment["LD_PRELOAD"].find("libhostprobe.so") == std::string::npos)
      return fmt::format(
          "process {} does not record: libhostprobe.so is not loaded in it; start it with `hostprobe run`", pid);
    const std::string obstacle = look_at_program(fmt::format("/proc/{}/exe", pid)).obstacle;
    return fmt::format("process {} does not record: {}, so nothing was loaded into it", pid,
                       obstacle.empty() ? "the loader refused LD_PRELOAD" : "its program is " + obstacle);
  }
  const std::string here = link_of("/proc/self/ns/ipc"), there = link_of(fmt::format("/proc/{}/ns/ipc", pid));
  if (!there.empty() && here != there)
    return fmt::format(
        "process {} runs in another IPC namespace: `nsenter -t {} -i hostprobe ctl …` can ask it, if it records", pid,
        pid);
  return why_no_target(pid, environment);
}

}  // namespace hostprobe::cli
