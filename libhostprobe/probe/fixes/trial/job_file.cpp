// job_file.cpp: see job_file.h. The descriptor is closed as soon as the file is mapped; a lock on it keeps two ranks from making it, or
// taking it over from an earlier run, at the same time.
#include "probe/fixes/trial/job_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include "probe/runtime/at_start.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"
#include "probe/runtime/simulated_host.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kBytes = kHeadBytes + kMostRanks * sizeof(JobMember);
static_assert(sizeof(JobOrder) <= kHeadBytes);

HP_OF_PROCESS JobOrder g_own_order;
HP_OF_PROCESS JobMember g_own_member;

std::uint64_t hash_of(std::uint64_t hash, const char* text) {
  for (; text != nullptr && *text != 0; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return (hash ^ 0xff) * 0x100000001b3;
}

std::uint32_t load(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace

std::uint64_t JobFile::job_of(char** environment) {
  std::uint64_t hash = 0xcbf29ce484222325;
  bool any = false;
  for (const char* name : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT",
                           "SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "PMI_JOBID"}) {
    const char* value = value_of(environment, name);
    any = any || value != nullptr;
    hash = hash_of(hash, value);
  }
  // Nothing names it: ranks of one job have the same parent.
  if (!any) hash = (hash ^ static_cast<std::uint64_t>(getppid())) * 0x100000001b3;
  return hash;
}

JobFile::Join JobFile::join(std::uint64_t job, int rank, int world) {
  rank_ = world <= 1 || rank < 0 ? 0 : rank;
  world_ = world <= 1 || rank < 0 ? 1 : world;
  if (world_ == 1) {
    order_ = &g_own_order;
    members_ = &g_own_member;
    memset(order_, 0, sizeof *order_);
    memset(members_, 0, sizeof *members_);
    return take_place() ? Join::kJoined : Join::kTaken;
  }
  if (world_ > kMostRanks || rank_ >= world_) return errno = ERANGE, Join::kFailed;
  const std::uint64_t here = hash_of(job, g_header.boot_id);
  snprintf(path_, sizeof path_, "%s/auto-%016llx-%d-%u-%d.hpjob", g_options.out, static_cast<unsigned long long>(here),
           world_, static_cast<unsigned>(getuid()), simulated_host());
  const int fd = open(path_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Join::kFailed;
  const Join answer = join_in(fd);
  const int error = errno;
  flock(fd, LOCK_UN);  // a mapping keeps the file, and its lock, open
  close(fd);
  errno = error;
  return answer;
}

// Under the lock: a file in which nobody is any more is of an earlier run.
JobFile::Join JobFile::join_in(int fd) {
  void* memory = MAP_FAILED;
  struct stat file {};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return Join::kBusy;
  if (fstat(fd, &file) == 0 && file.st_uid == getuid() && ftruncate(fd, kBytes) == 0)
    memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return Join::kFailed;
  order_ = static_cast<JobOrder*>(memory);
  members_ = reinterpret_cast<JobMember*>(static_cast<char*>(memory) + kHeadBytes);
  int gone = 0;
  if (count_there(read_clock_ns(CLOCK_MONOTONIC), gone) == 0) memset(memory, 0, kBytes);
  if (take_place()) return Join::kJoined;
  munmap(memory, kBytes);
  order_ = nullptr;
  return Join::kTaken;
}

bool JobFile::take_place() {
  const auto pid = static_cast<std::uint32_t>(getpid());
  const std::uint64_t now = read_clock_ns(CLOCK_MONOTONIC);
  JobMember& place = own();
  if (load(place.state) == kThere && place.pid != pid &&
      now < __atomic_load_n(&place.seen_ns, __ATOMIC_ACQUIRE) + kGoneNs)
    return false;
  place.pid = pid;
  place.obeyed = place.refused = place.measured = place.stop = 0;
  place.mean_ns = 0;
  say_here(now);
  __atomic_store_n(&place.state, std::uint32_t{kThere}, __ATOMIC_RELEASE);
  return true;
}

void JobFile::leave() {
  if (order_ == nullptr) return;
  __atomic_store_n(&own().state, std::uint32_t{kLeft}, __ATOMIC_RELEASE);
  int gone = 0;
  if (world_ > 1) {
    if (count_there(read_clock_ns(CLOCK_MONOTONIC), gone) == 0) unlink(path_);
    munmap(order_, kBytes);
  }
  order_ = nullptr;
}

void JobFile::say_here(std::uint64_t now_ns) { __atomic_store_n(&own().seen_ns, now_ns, __ATOMIC_RELEASE); }

int JobFile::count_there(std::uint64_t now_ns, int& gone) const {
  int count = 0;
  gone = -1;
  for (int rank = 0; rank < world_; ++rank) {
    const JobMember& one = members_[rank];
    const bool there = load(one.state) == kThere && now_ns < __atomic_load_n(&one.seen_ns, __ATOMIC_ACQUIRE) + kGoneNs;
    count += there;
    if (!there && gone < 0) gone = rank;
  }
  return count;
}

void JobFile::give(OrderKind kind, const char* fix, bool on) {
  order_->kind = kind;
  order_->on = on ? 1 : 0;
  snprintf(order_->fix, sizeof order_->fix, "%s", fix);
  __atomic_store_n(&order_->number, order_->number + 1, __ATOMIC_RELEASE);
}

}  // namespace hostprobe::probe
