// memory_pages.h: memory of another process, read page by page, each page once.
//
// Room 3. Data that is read in small pieces lies close together, and each read is a system call. What was read stays as
// it was then: this lives no longer than what it reads holds still.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <unordered_map>

#include "process_memory.h"

namespace hostprobe::analysis {

class MemoryPages {
 public:
  explicit MemoryPages(pid_t pid) : memory_(pid) {}

  // All of it, or false.
  bool copy(void* to, std::uint64_t from, std::size_t bytes);
  void forget() { pages_.clear(); }

  template <typename T>
  std::optional<T> value(std::uint64_t from) {
    static_assert(std::is_trivially_copyable_v<T>);
    T read;
    return copy(&read, from, sizeof read) ? std::optional<T>(read) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  using Page = std::array<std::byte, kPageBytes>;

  const Page* page_at(std::uint64_t address);

  ProcessMemory memory_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // null: there is none
};

}  // namespace hostprobe::analysis
