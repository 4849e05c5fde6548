// wait_log.h: a file that a victim maps and counts its finished waits in, so that a test knows what had returned at the
// instant the victim was killed or left without a word.
//
// `entered` is raised before a call and `returned` after it: the trace must hold at least `returned` records of that
// thread, and no more than `entered`.
#pragma once

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace hostprobe::test {

inline constexpr unsigned kLoggedThreads = 16;
inline constexpr unsigned kLoggedObjects = 8;  // call number i waits on object i modulo this

struct alignas(64) LoggedThread {
  std::atomic<std::int32_t> tid;
  std::atomic<std::uint64_t> objects;  // address of the first of kLoggedObjects semaphores
  std::atomic<std::uint64_t> entered;
  std::atomic<std::uint64_t> returned;
  std::atomic<std::uint64_t> returned_at_leaving;  // `returned`, noted just before the process left of its own will
};

struct WaitLog {
  LoggedThread thread[kLoggedThreads];
};

// Makes the file when it is not there. Null when that cannot be done.
inline WaitLog* map_wait_log(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(WaitLog)) == 0)
    memory = mmap(nullptr, sizeof(WaitLog), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<WaitLog*>(memory);
}

}  // namespace hostprobe::test
