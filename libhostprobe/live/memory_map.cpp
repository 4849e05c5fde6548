// memory_map.cpp: see memory_map.h.
#include "memory_map.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "control_link.h"
#include "ptrace_thread.h"
#include "trace/elf_file.h"

namespace hostprobe::analysis {
namespace {

// The virtual address that byte `offset` of the file is loaded for, beyond which everything is shifted by the same.
std::uint64_t loaded_for(const std::string& path, std::uint64_t offset) {
  const ElfFile file(path);
  std::size_t count = 0;
  if (file.get() == nullptr || elf_getphdrnum(file.get(), &count) != 0) return offset;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr head;
    if (gelf_getphdr(file.get(), static_cast<int>(i), &head) == nullptr || head.p_type != PT_LOAD) continue;
    const std::uint64_t from = head.p_offset / 4096 * 4096;
    if (offset >= from && offset < head.p_offset + head.p_filesz) return head.p_vaddr - head.p_offset + offset;
  }
  return offset;
}

}  // namespace

std::string path_from_here(pid_t pid, const std::string& path) {
  std::error_code ignored;
  const std::string through = fmt::format("/proc/{}/root{}", pid, path);
  if (std::filesystem::exists(through, ignored) && !std::filesystem::equivalent(through, path, ignored)) return through;
  return path;
}

std::vector<Module> modules_of_process(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::vector<Module> modules;
  std::string line;
  bool any = false;
  while (std::getline(maps, line)) {
    any = true;
    std::istringstream words(line);
    std::string range, rights, device, inode, path;
    std::uint64_t offset = 0;
    words >> range >> rights >> std::hex >> offset >> device >> inode;
    std::getline(words >> std::ws, path);
    const auto dash = range.find('-');
    if (rights.size() < 3 || rights[2] != 'x' || dash == std::string::npos || path.empty()) continue;
    if (path[0] != '/' && path != "[vdso]") continue;
    Module module{};
    module.begin = std::stoull(range.substr(0, dash), nullptr, 16);
    module.end = std::stoull(range.substr(dash + 1), nullptr, 16);
    module.path = path_from_here(pid, path);
    module.bias = module.begin - loaded_for(module.path, offset);
    modules.push_back(std::move(module));
  }
  if (!any) {
    const char state = process_state(pid);
    if (state == 0 || state == 'Z' || state == 'X') throw std::runtime_error(fmt::format("process {} has ended", pid));
    throw TraceForbidden(why_forbidden(pid));  // a kernel thread has no maps either, and nobody may trace it
  }
  return modules;
}

}  // namespace hostprobe::analysis
