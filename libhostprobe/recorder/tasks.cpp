// tasks.cpp: see tasks.h.
#include "tasks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

namespace hostprobe::kernel {

std::optional<TaskStatus> task_status(int tid) {
  std::ifstream file(fmt::format("/proc/{}/status", tid));
  if (!file) return std::nullopt;
  TaskStatus status;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (value == std::string::npos) continue;
    const char* text = line.c_str() + value;
    if (key == "Name") status.name = text;
    if (key == "Tgid") status.process = static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
    if (key == "NSpid")
      status.inside =
          static_cast<std::uint32_t>(std::strtoul(line.c_str() + line.find_last_of(" \t") + 1, nullptr, 10));
    if (key.ends_with("ctxt_switches")) status.switches += std::strtoull(text, nullptr, 10);
  }
  return status.process == 0 ? std::nullopt : std::optional(status);
}

bool is_alive(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

bool in_first_namespace() {
  char link[64] = {};
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  constexpr std::string_view kFirst = "pid:[4026531836]";  // PROC_PID_INIT_INO
  return std::string_view(link, length > 0 ? static_cast<std::size_t>(length) : 0) == kFirst;
}

}  // namespace hostprobe::kernel
