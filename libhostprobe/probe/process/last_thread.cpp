// last_thread.cpp: see last_thread.h. Cold: asks /proc only in processes whose main thread has left.
#include "probe/process/last_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/record/doors.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/own_thread.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kRemembered = 1024;  // threads that are in their last instructions at the same time
HP_OF_PROCESS std::atomic<std::uint32_t> g_ending[kRemembered];
HP_OF_PROCESS std::atomic<std::uint32_t> g_next{0};
HP_OF_PROCESS std::atomic<bool> g_main_left{false};

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

struct Others {
  std::uint32_t writer;
  bool writer_seen;
  bool remain;  // threads that are neither the writer, nor about to end, nor the one left out
};

void count_entries(const char* buffer, long bytes, std::uint32_t left_out, Others& others) {
  for (long at = 0; at < bytes;) {
    auto* entry = reinterpret_cast<const Entry*>(buffer + at);
    auto tid = static_cast<std::uint32_t>(strtoul(entry->name, nullptr, 10));
    if (tid == others.writer) others.writer_seen = true;
    if (tid != 0 && tid != others.writer && tid != left_out && !is_ending(tid)) others.remain = true;
    at += entry->bytes;
  }
}

// A process whose threads cannot be listed has others.
Others other_threads(std::uint32_t left_out) {
  Others others{writer_tid(), false, true};
  if (others.writer == 0) return others;
  int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return others;
  others.remain = false;
  alignas(8) char buffer[4096];
  for (long got; !others.remain && (got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
    count_entries(buffer, got, left_out, others);
  close(folder);
  return others;
}

}  // namespace

void note_thread_is_ending(std::uint32_t tid) {
  if (tid == static_cast<std::uint32_t>(getpid())) g_main_left.store(true, std::memory_order_seq_cst);
  g_ending[g_next.fetch_add(1, std::memory_order_relaxed) % kRemembered].store(tid, std::memory_order_seq_cst);
}

// True when the main thread has left or is `tid`, which is about to end, and nobody but the writer will remain. Of two
// threads that end at the same time, the one that looks later finds the other's note; both finding it is harmless.
static bool nobody_remains(std::uint32_t tid) {
  return g_main_left.load(std::memory_order_seq_cst) && !other_threads(tid).remain;
}

void leave_with_last_thread(std::uint32_t tid) {
  if (nobody_remains(tid)) dismiss_writer();
}

bool alone_with_writer() {
  Others others = other_threads(static_cast<std::uint32_t>(syscall(SYS_gettid)));
  return others.writer_seen && !others.remain;
}

bool is_last_thread() { return has_writer() ? alone_with_writer() : __libc_single_threaded != 0; }

}  // namespace hostprobe::probe
