// own_segment.h: the probe's segment in the process that is measured, looked at from the inside.
//
// A bench that records faster than the writer drains would measure losses instead of records, so it lets the writer catch
// up between its bursts and proves afterwards that nothing was lost.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "format/segment.h"

namespace hostprobe::bench {

class OwnSegment {
 public:
  // System V segments are mappings named /SYSV….
  OwnSegment() {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
      unsigned long begin = 0;
      if (std::strstr(line, "/SYSV") == nullptr || std::sscanf(line, "%lx-", &begin) != 1) continue;
      auto* header = reinterpret_cast<SegmentHeader*>(begin);
      if (header->magic == kSegmentMagic && header->pid == static_cast<std::uint32_t>(getpid())) header_ = header;
    }
    if (maps != nullptr) std::fclose(maps);
  }

  bool recording() const { return header_ != nullptr; }

  // The calling thread's entry; nullptr when it has recorded nothing yet.
  const ThreadEntry* own_thread() const {
    if (header_ == nullptr) return nullptr;
    auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    auto* threads = reinterpret_cast<const ThreadEntry*>(base() + header_->threads_offset);
    for (std::uint32_t i = 0; i < header_->thread_count; ++i)
      if (threads[i].state == kThreadLive && threads[i].tid == tid) return &threads[i];
    return nullptr;
  }

  std::uint64_t lost() const {
    if (header_ == nullptr) return 0;
    std::uint64_t sum = header_->lost;
    auto* threads = reinterpret_cast<const ThreadEntry*>(base() + header_->threads_offset);
    for (std::uint32_t i = 0; i < header_->thread_count; ++i)
      if (threads[i].state == kThreadLive) sum += threads[i].lost;
    return sum;
  }

  // Sleeps until the writer has emptied every full chunk; in mode flight, which keeps them, until it has emptied none for
  // 2 ms. False: it did not within some seconds.
  bool wait_until_drained() const {
    unsigned before = 0, same = 0;
    for (int i = 0; i < 20000; ++i) {
      unsigned full = full_chunks();
      same = full == before ? same + 1 : 0;
      if (full == 0 || (keeps_chunks() && same == 10)) return true;
      before = full;
      timespec pause{0, 200000};
      nanosleep(&pause, nullptr);
    }
    return false;
  }

 private:
  static bool keeps_chunks() {
    const char* mode = std::getenv("HOSTPROBE_MODE");
    return mode == nullptr || std::strcmp(mode, "flight") == 0;
  }

  const char* base() const { return reinterpret_cast<const char*>(header_); }

  unsigned full_chunks() const {
    if (header_ == nullptr) return 0;
    unsigned count = 0;
    for (std::uint32_t i = 0; i < std::atomic_ref(header_->chunks_ready).load(std::memory_order_relaxed); ++i) {
      auto* chunk = reinterpret_cast<ChunkHead*>(reinterpret_cast<char*>(header_) + header_->chunks_offset +
                                                 std::size_t{i} * header_->chunk_bytes);
      count += std::atomic_ref(chunk->state).load(std::memory_order_acquire) == kChunkFull;
    }
    return count;
  }

  SegmentHeader* header_ = nullptr;
};

}  // namespace hostprobe::bench
