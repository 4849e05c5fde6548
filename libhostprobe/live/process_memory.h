// process_memory.h: memory of another process, copied by the kernel; what is not there is no harm to either.
//
// Room 3. Needs the right to trace the process, and does not stop it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace hostprobe::analysis {

class ProcessMemory {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}

  // All of it, or false.
  bool copy(void* to, std::uint64_t from, std::size_t bytes) const;
  // How often this process has asked the kernel for another's memory, so that a test can count what a look costs.
  static std::uint64_t reads();
  // How many bytes from the first were there, counted in whole pages of the other process.
  std::size_t copy_some(void* to, std::uint64_t from, std::size_t bytes) const;

  template <typename T>
  std::optional<T> value(std::uint64_t from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T read;
    return copy(&read, from, sizeof read) ? std::optional<T>(read) : std::nullopt;
  }

 private:
  pid_t pid_;
};

}  // namespace hostprobe::analysis
