// cpu_claims.cpp: see cpu_claims.h. Locks of POSIX's kind, which a forked child does not get, also where it gets the descriptor.
#include "probe/fixes/placement/cpu_claims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {

struct Claims {
  bool is_open;
  int fd;
  dev_t device;
  ino_t inode;
  long tid;  // whose descriptor table it is in
};
HP_OF_PROCESS Claims g_claims{};

// Bytes of a communicator's ranks. Two communicators share theirs once in 2^32; the CPUs then do for more ranks than there are.
constexpr off_t kFirstRank = off_t{1} << 61;
constexpr off_t kMostRanks = off_t{1} << 24;

bool set_lock(short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return system_call(SYS_fcntl, g_claims.fd, F_SETLK, word_of_pointer(&lock)) == 0;
}

// The byte of some lock that another process has among `count` bytes; -1: none.
off_t find_others_lock(off_t first, off_t count) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  const bool answered = system_call(SYS_fcntl, g_claims.fd, F_GETLK, word_of_pointer(&lock)) == 0;
  return answered && lock.l_type != F_UNLCK ? lock.l_start : -1;
}

// The kernel names any of several locks, so what lies before and behind it is asked for anew.
unsigned count_others_locks(off_t first, off_t end) {
  if (first >= end) return 0;
  const off_t found = find_others_lock(first, end - first);
  if (found < first) return 0;
  return 1 + count_others_locks(first, found) + count_others_locks(found + 1, end);
}

}  // namespace

void claims_path(char** environment, char* out, std::size_t bytes) {
  const char* folder = value_of(environment, "XDG_RUNTIME_DIR");
  if (folder != nullptr && folder[0] == '/')
    snprintf(out, bytes, "%s/hostprobe-cpus", folder);
  else
    snprintf(out, bytes, "/dev/shm/hostprobe-cpus-%u", static_cast<unsigned>(geteuid()));
}

int open_claims(const char* path) {
  release_claims();
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return errno;
  struct stat file {};
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != geteuid()) {
    close(fd);
    return EPERM;
  }
  g_claims = {true, fd, file.st_dev, file.st_ino, system_call(SYS_gettid, 0, 0)};
  return 0;
}

bool claim_cpus(const CpuSet& cpus) {
  for (unsigned cpu = cpus.next(0); cpu < kMostCpus; cpu = cpus.next(cpu + 1)) {
    if (set_lock(F_WRLCK, cpu)) continue;
    for (unsigned each = cpus.next(0); each < cpu; each = cpus.next(each + 1)) set_lock(F_UNLCK, each);
    return false;
  }
  return true;
}

void release_cpus(const CpuSet& cpus) {
  if (!claims_hold()) return;
  for (unsigned cpu = cpus.next(0); cpu < kMostCpus; cpu = cpus.next(cpu + 1)) set_lock(F_UNLCK, cpu);
}

CpuSet claimed_by_others(const CpuSet& among) {
  CpuSet taken{};
  for (unsigned cpu = among.next(0); cpu < kMostCpus; cpu = among.next(cpu + 1))
    if (find_others_lock(cpu, 1) >= 0) taken.add(cpu);
  return taken;
}

unsigned count_ranks_here(std::uint64_t communicator, unsigned rank, unsigned size) {
  if (size > kMostRanks) size = kMostRanks;
  const off_t first = kFirstRank + static_cast<off_t>(communicator & 0xffffffff) * kMostRanks;
  set_lock(F_WRLCK, first + rank);
  return 1 + count_others_locks(first, first + size);
}

bool claims_hold() {
  struct stat file {};
  return g_claims.is_open && g_claims.tid == system_call(SYS_gettid, 0, 0) && fstat(g_claims.fd, &file) == 0 &&
         file.st_dev == g_claims.device && file.st_ino == g_claims.inode;
}

void release_claims() {
  if (claims_hold()) close(g_claims.fd);
  g_claims = Claims{};
}

}  // namespace hostprobe::probe
