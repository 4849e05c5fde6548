// memory.cpp: see memory.h. The operators new and delete of the command.
#include "memory.h"

#include <fmt/format.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "trace/memory_budget.h"
#include "trace/unnamed_file.h"

namespace hostprobe::cli {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeastCounted = kPage;
constexpr std::size_t kLeastInFile = 65536;  // a smaller one would cost more to make than it saves

constinit std::atomic<int> g_overrun = 0;  // errno of the first block that found no room on the disk either

// Blocks in files. They are pages, so only a block that begins a page is looked for here.
class FileBlocks {
 public:
  void* make(std::size_t bytes) {
    void* block = analysis::map_unnamed_file(bytes);
    if (block == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    sizes_.emplace(block, bytes);
    count_.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  bool remove(void* block) {
    if (reinterpret_cast<std::uintptr_t>(block) % kPage != 0 || count_.load(std::memory_order_relaxed) == 0)
      return false;
    std::map<void*, std::size_t>::node_type known;  // deleted behind the lock: it may begin a page itself
    {
      const std::lock_guard lock(mutex_);
      known = sizes_.extract(block);
    }
    if (known.empty()) return false;
    analysis::unmap_unnamed_file(block, known.mapped());
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::size_t> sizes_;
  std::atomic<std::size_t> count_ = 0;  // most runs have none: then nobody takes the lock
};

// Never destroyed: blocks are given back until the very end of the process.
FileBlocks& file_blocks() {
  static auto* const blocks = new FileBlocks;
  return *blocks;
}

bool has_room(std::size_t bytes) {
  if (!analysis::g_memory.take(bytes)) return false;
  analysis::g_memory.give(bytes);  // it is counted by the size that malloc() makes of it
  return true;
}

// nullptr: there is no memory.
void* try_block(std::size_t bytes) {
  if (bytes >= kLeastInFile && !has_room(bytes)) {
    if (void* block = file_blocks().make(bytes)) return block;
    int none = 0;
    g_overrun.compare_exchange_strong(none, errno, std::memory_order_relaxed);
  }
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  const std::size_t usable = block == nullptr ? 0 : malloc_usable_size(block);
  if (usable >= kLeastCounted) analysis::g_memory.take_anyway(usable);
  return block;
}

void* make_block(std::size_t bytes) {
  void* block = try_block(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_back(void* block) {
  if (block == nullptr || file_blocks().remove(block)) return;
  if (const std::size_t usable = malloc_usable_size(block); usable >= kLeastCounted) analysis::g_memory.give(usable);
  std::free(block);
}

}  // namespace

Option memory_option(unsigned& memory_mb) {
  return {.names = "--memory-mb",
          .target = &memory_mb,
          .meaning =
              "Most memory to work with, MiB; what a large run needs more goes to an unnamed file in TMPDIR, or "
              "/var/tmp. Less makes it slower, nothing else",
          .range = Range{0, 1u << 20},
          .shows_usual = true};
}

analysis::Effort within_memory(unsigned memory_mb) {
  analysis::g_memory.set_limit(std::size_t{memory_mb} << 20);
  return {.memory = &analysis::g_memory};
}

std::optional<std::string> memory_overrun() {
  const int error = g_overrun.load(std::memory_order_relaxed);
  if (error == 0) return std::nullopt;
  return fmt::format(
      "took more memory than its limit of {} MiB, because {} has no room ({}); set TMPDIR to a folder that has",
      analysis::g_memory.bytes() >> 20, analysis::unnamed_file_folder(), std::strerror(error));
}

}  // namespace hostprobe::cli

// All forms, though the usual ones of the others would end here as well: the address sanitizer's own do not.
void* operator new(std::size_t bytes) { return hostprobe::cli::make_block(bytes); }
void* operator new[](std::size_t bytes) { return hostprobe::cli::make_block(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return hostprobe::cli::try_block(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return hostprobe::cli::try_block(bytes); }
void operator delete(void* block) noexcept { hostprobe::cli::give_back(block); }
void operator delete[](void* block) noexcept { hostprobe::cli::give_back(block); }
void operator delete(void* block, std::size_t) noexcept { hostprobe::cli::give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { hostprobe::cli::give_back(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { hostprobe::cli::give_back(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { hostprobe::cli::give_back(block); }
