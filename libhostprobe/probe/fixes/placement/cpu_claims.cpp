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

bool set_lock(short type, unsigned cpu) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = cpu;
  lock.l_len = 1;
  return system_call(SYS_fcntl, g_claims.fd, F_SETLK, word_of_pointer(&lock)) == 0;
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

CpuSet claimed_by_others(const CpuSet& among) {
  CpuSet taken{};
  for (unsigned cpu = among.next(0); cpu < kMostCpus; cpu = among.next(cpu + 1)) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = cpu;
    lock.l_len = 1;
    if (system_call(SYS_fcntl, g_claims.fd, F_GETLK, word_of_pointer(&lock)) == 0 && lock.l_type != F_UNLCK)
      taken.add(cpu);
  }
  return taken;
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
