// last_thread.cpp: see last_thread.h. Cold: asks /proc only in processes whose main thread has left.
#include "last_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "writer.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kRemembered = 1024;  // threads that are in their last instructions at the same time
std::atomic<std::uint32_t> g_ending[kRemembered];
std::atomic<std::uint32_t> g_next{0};
std::atomic<bool> g_main_left{false};

bool is_ending(std::uint32_t tid) {
  for (const auto& ending : g_ending)
    if (ending.load(std::memory_order_acquire) == tid) return true;
  return false;
}

struct Entry {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

// True when every thread in one buffer of directory entries is the writer's or about to end.
bool all_ending(const char* buffer, long bytes, std::uint32_t writer_tid) {
  for (long at = 0; at < bytes;) {
    auto* entry = reinterpret_cast<const Entry*>(buffer + at);
    auto tid = static_cast<std::uint32_t>(strtoul(entry->name, nullptr, 10));
    if (tid != 0 && tid != writer_tid && !is_ending(tid)) return false;
    at += entry->bytes;
  }
  return true;
}

}  // namespace

void note_thread_is_ending(std::uint32_t tid) {
  if (tid == static_cast<std::uint32_t>(getpid())) g_main_left.store(true, std::memory_order_seq_cst);
  g_ending[g_next.fetch_add(1, std::memory_order_relaxed) % kRemembered].store(tid, std::memory_order_seq_cst);
}

// Of two threads that end at the same time, the one that looks later finds the other's note; both finding it is harmless.
bool nobody_remains(std::uint32_t tid) {
  if (!g_main_left.load(std::memory_order_seq_cst)) return false;
  std::uint32_t writer = writer_tid();
  if (writer == 0) return false;
  int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(8) char buffer[4096];
  bool alone = true;
  for (long got; alone && (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
    alone = all_ending(buffer, got, writer);
  close(folder);
  return alone;
}

}  // namespace hostprobe::probe
