// program_file.cpp: see program_file.h.
#include "program_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

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

// Of `#!/usr/bin/env -S python3 -u` it is env, which execs the rest: that is as good.
std::string interpreter_of_script(std::ifstream& file) {
  std::string line, word;
  file.seekg(2);
  std::getline(file, line);
  std::istringstream(line) >> word;
  return word;
}

std::optional<Elf64_Phdr> segment_of(std::ifstream& file, const Elf64_Ehdr& header, Elf64_Word type) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type == type) return segment;
  }
  return {};
}

std::string obstacle_of_elf(std::ifstream& file) {
  Elf64_Ehdr header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) return "not a 64-bit x86 program";
  const auto loader = segment_of(file, header, PT_INTERP);
  if (!loader) return "statically linked";
  std::string name(std::min<std::size_t>(loader->p_filesz, 4096), '\0');
  file.seekg(static_cast<std::streamoff>(loader->p_offset));
  file.read(name.data(), static_cast<std::streamsize>(name.size()));
  return name.find("ld-musl") != std::string::npos ? "built against musl" : "";
}

// The kernel takes no notice of these bits on scripts.
bool changes_user(const std::string& path) {
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && (((file.st_mode & S_ISUID) != 0 && file.st_uid != geteuid()) ||
                                            ((file.st_mode & S_ISGID) != 0 && file.st_gid != getegid()));
}

}  // namespace

std::string load_obstacle(const std::string& program) {
  std::string path = along_path(program);
  for (int i = 0; i < kMostInterpreters; ++i) {
    std::ifstream file(path, std::ios::binary);
    char start[4] = {};
    file.read(start, sizeof start);
    if (std::memcmp(start, ELFMAG, SELFMAG) == 0) return changes_user(path) ? "setuid" : obstacle_of_elf(file);
    if (start[0] != '#' || start[1] != '!') return {};
    file.clear();
    path = interpreter_of_script(file);
  }
  return {};
}

}  // namespace hostprobe::cli
