// program_file.cpp: see program_file.h.
#include "program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "elf/program_head.h"

namespace hostprobe::cli {
namespace {

constexpr int kMostInterpreters = 4;  // Linux goes no further from script to script either

bool is_executable(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string along_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* value = std::getenv("PATH");
  std::istringstream folders(value == nullptr ? "/bin:/usr/bin" : value);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + program;
    if (is_executable(path)) return path;
  }
  return program;
}

// The kernel takes no notice of these bits on scripts.
bool changes_user(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && (((file.st_mode & S_ISUID) != 0 && file.st_uid != geteuid()) ||
                                            ((file.st_mode & S_ISGID) != 0 && file.st_gid != getegid()));
}

std::string obstacle_of(const std::string& path, ProgramKind kind) {
  if (kind != ProgramKind::kUnknown && changes_user(path)) return "setuid";
  if (kind == ProgramKind::kOther) return std::string("not a ") + program_head::kOwnMachineName + " program";
  if (kind == ProgramKind::kStatic) return "statically linked";
  return kind == ProgramKind::kMusl ? "built against musl" : "";
}

ProgramHead head_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&file](std::uint64_t offset, void* to, std::size_t bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    return static_cast<std::size_t>(file.gcount());
  };
  ProgramHead head;
  read_program_head(read, head);
  return head;
}

}  // namespace

ProgramFile look_at_program(const std::string& program) {
  std::string path = along_path(program);
  ProgramHead head = head_of(path);
  for (int i = 0; i < kMostInterpreters && head.kind == ProgramKind::kScript; ++i) {
    // Of `#!/usr/bin/env -S python3 -u` it is env, which execs the rest: that is as good.
    path = head.text;
    head = head_of(path);
  }
  ProgramFile file;
  file.obstacle = obstacle_of(path, head.kind);
  file.fails_with_us = head.kind == ProgramKind::kMusl;
  if (head.kind == ProgramKind::kAsanFirst) file.runtime_before_us = head.text;
  return file;
}

}  // namespace hostprobe::cli
