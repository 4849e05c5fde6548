// switch_rings.cpp: see switch_rings.h.
#include "probe/sources/perf/switch_rings.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/sources/perf/perf_event.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kLeastPages = 2;
constexpr unsigned kMostAttached = SwitchRings::kMostEvents;

RingFailure failed(const char* text) { return {errno == 0 ? EIO : errno, text, false}; }

RingFailure refused() {
  switch (errno) {
    case EACCES:
      return failed("set kernel.perf_event_paranoid to 2");
    case EPERM:
      return failed("a security module forbids perf_event_open: allow it");
    case ENOSYS:
      return failed("no perf_event_open in this kernel or sandbox");
    case EINVAL:
    case E2BIG:
      return failed("the kernel is older than 5.13");
    case EMFILE:
    case ENFILE:
      return failed("raise the limit of open files");
    default:
      return failed("perf_event_open failed");
  }
}

unsigned count_threads() {
  unsigned count = 0;
  for_each_thread([&count](int) { ++count; });
  return count;
}

// Descriptors are numbered in the writer's own table, but limited as the program's are.
bool may_open(std::uint64_t descriptors) {
  constexpr std::uint64_t kSpare = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return descriptors <= SwitchRings::kMostEvents && descriptors + kSpare <= limit.rlim_cur;
}

}  // namespace

// sysconf() reads a file each time.
unsigned configured_cpus() {
  HP_KEPT_BY_CHILDREN static unsigned g_cpus = 0;
  if (g_cpus != 0) return g_cpus;
  const long count = sysconf(_SC_NPROCESSORS_CONF);
  return g_cpus = count > 0 ? static_cast<unsigned>(count) : 1;
}

perf_event_attr switch_event() {
  perf_event_attr attr = software_event(PERF_COUNT_SW_DUMMY);
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attr.sample_id_all = 1;
  attr.context_switch = 1;
  return attr;
}

int SwitchRings::open_event(std::uint32_t tid, int cpu, bool inherited) const {
  perf_event_attr attr = switch_event();
  attr.write_backward = setting_.overwritten;
  attr.remove_on_exec = 1;
  attr.inherit = inherited;
  attr.inherit_thread = inherited;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

PerfBytes SwitchRings::bytes_of(const Ring& ring) const {
  return {reinterpret_cast<const unsigned char*>(ring.page) + page_bytes(), data_bytes()};
}

RingFailure SwitchRings::map(Ring& ring) const {
  // An overwritten buffer is one that the reader cannot write to.
  const int protection = setting_.overwritten ? PROT_READ : PROT_READ | PROT_WRITE;
  void* at = mmap(nullptr, page_bytes() + data_bytes(), protection, MAP_SHARED, ring.fd, 0);
  if (at == MAP_FAILED) return {errno, "no locked memory left: raise ulimit -l", true};
  ring.page = static_cast<perf_event_mmap_page*>(at);
  return {};
}

void SwitchRings::unmap(Ring& ring) {
  if (ring.page == nullptr) return;
  written_before_ += written(ring);
  munmap(ring.page, page_bytes() + data_bytes());
  ::close(ring.fd);
  ring = {};
}

// Of the writer's own thread, which is there as long as the descriptors are. A CPU may be switched off.
RingFailure SwitchRings::open_cpu_rings() {
  const int cpus = static_cast<int>(configured_cpus());
  for (int cpu = 0; cpu < cpus && count_ < kMostRings; ++cpu) {
    Ring& ring = rings_[count_];
    ring.fd = open_event(0, cpu, true);
    if (ring.fd < 0 && errno == ENODEV) continue;
    if (ring.fd < 0) return refused();
    ring.cpu = cpu;
    if (const RingFailure failure = map(ring); failure.error != 0) {
      ::close(ring.fd);
      return failure;
    }
    ++count_;
  }
  attached_[attached_count_++] = {static_cast<std::uint32_t>(own_task()), ticks()};
  return count_ > 0 ? RingFailure{} : failed("no CPU to record on");
}

// Nothing where it has ended meanwhile.
RingFailure SwitchRings::attach(std::uint32_t tid) {
  for (unsigned i = 0; i < count_; ++i) {
    if (fd_count_ == kMostEvents) return {EMFILE, "too many threads", false};
    const int fd = open_event(tid, rings_[i].cpu, true);
    if (fd < 0 && (errno == ESRCH || errno == ENODEV)) continue;
    if (fd < 0) return refused();
    fds_[fd_count_++] = fd;
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings_[i].fd) != 0) return failed("no output to the buffer of a CPU");
  }
  if (attached_count_ < kMostAttached) attached_[attached_count_++] = {tid, ticks()};
  return {};
}

bool SwitchRings::inherits(std::uint32_t tid, const ThreadOrigin& origin) const {
  if (origin.creator_tid == 0 || origin.creator_tid == tid) return false;
  for (unsigned i = 0; i < attached_count_; ++i)
    if (attached_[i].tid == origin.creator_tid) return origin.created_ticks > attached_[i].since_ticks;
  return false;
}

// Threads may be made meanwhile. One whose maker is not known may have inherited its events too: then each of its switches is
// written twice, and the second is dropped when it is read.
RingFailure SwitchRings::attach_all(ThreadOrigin (*origin_of)(std::uint32_t tid)) {
  constexpr int kMostLooks = 8;
  RingFailure failure{};
  bool fresh = true;
  for (int look = 0; look < kMostLooks && fresh; ++look) {
    fresh = false;
    for_each_thread([&](int number) {
      const auto tid = static_cast<std::uint32_t>(number);
      if (failure.error != 0 || has_thread(tid)) return;
      fresh = true;
      if (look > 0 && inherits(tid, origin_of(tid)) && attached_count_ < kMostAttached)
        attached_[attached_count_++] = {tid, 0};
      else
        failure = attach(tid);
    });
    if (failure.error != 0) return failure;
  }
  return {};
}

RingFailure SwitchRings::try_open(ThreadOrigin (*origin_of)(std::uint32_t tid)) {
  if (setting_.per_thread) {
    // Whether it would be allowed to; the threads come one by one.
    Ring probe{};
    probe.fd = open_event(0, -1, false);
    if (probe.fd < 0) return refused();
    const RingFailure failure = map(probe);
    if (failure.error != 0)
      ::close(probe.fd);
    else
      unmap(probe);
    return failure;
  }
  const RingFailure failure = open_cpu_rings();
  return failure.error != 0 ? failure : attach_all(origin_of);
}

RingFailure SwitchRings::open(const RingSetting& setting, ThreadOrigin (*origin_of)(std::uint32_t tid)) {
  constexpr std::uint64_t kBytes =
      kMostRings * sizeof(Ring) + kMostAttached * sizeof(Attached) + kMostEvents * sizeof(int);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return failed("no memory");
  madvise(memory, kBytes, MADV_DONTFORK);
  rings_ = static_cast<Ring*>(memory);
  attached_ = reinterpret_cast<Attached*>(rings_ + kMostRings);
  fds_ = reinterpret_cast<int*>(attached_ + kMostAttached);
  setting_ = setting;
  if (!setting_.per_thread)
    setting_.per_thread =
        configured_cpus() > kMostCpus || !may_open((count_threads() + 1) * std::uint64_t{configured_cpus()});
  const RingFailure failure = try_open(origin_of);
  if (failure.error == 0) return failure;
  const RingSetting smaller{setting_.overwritten, setting_.per_thread, setting_.pages / 2};
  close();
  return failure.of_memory && smaller.pages >= kLeastPages ? open(smaller, origin_of) : failure;
}

void SwitchRings::close() {
  if (rings_ == nullptr) return;
  for (unsigned i = 0; i < fd_count_; ++i) ::close(fds_[i]);
  for (unsigned i = 0; i < count_; ++i) unmap(rings_[i]);
  munmap(rings_, kMostRings * sizeof(Ring) + kMostAttached * sizeof(Attached) + kMostEvents * sizeof(int));
  const std::uint64_t before = written_before_;
  *this = SwitchRings{};
  written_before_ = before;
}

bool SwitchRings::has_thread(std::uint32_t tid) const {
  for (unsigned i = 0; i < count_ && setting_.per_thread; ++i)
    if (rings_[i].page != nullptr && rings_[i].tid == tid) return true;
  for (unsigned i = 0; i < attached_count_; ++i)
    if (attached_[i].tid == tid) return true;
  return false;
}

bool SwitchRings::adopts(std::uint32_t tid, const ThreadOrigin& origin) {
  if (!inherits(tid, origin)) return false;
  if (attached_count_ < kMostAttached) attached_[attached_count_++] = {tid, 0};
  return true;
}

// The writer's own events stay: theirs are the buffers.
void SwitchRings::detach_all(bool (*unwanted)(std::uint32_t tid)) {
  for (unsigned i = 0; i < count_ && setting_.per_thread; ++i)
    if (rings_[i].page != nullptr && unwanted(rings_[i].tid)) unmap(rings_[i]);
  if (setting_.per_thread) return;
  for (unsigned i = 0; i < fd_count_; ++i) ::close(fds_[i]);
  fd_count_ = 0;
  attached_count_ = 1;
}

bool SwitchRings::attach_one(std::uint32_t tid) {
  if (setting_.per_thread) return has_thread(tid) || add_thread(tid);
  return attached_count_ < kMostAttached && attach(tid).error == 0;
}

bool SwitchRings::add_thread(std::uint32_t tid) {
  unsigned i = 0;
  while (i < count_ && rings_[i].page != nullptr) ++i;
  if (i == kMostRings) return false;
  Ring ring{};
  ring.tid = tid;
  ring.fd = open_event(tid, -1, false);
  if (ring.fd < 0) return false;
  if (map(ring).error != 0) {
    ::close(ring.fd);
    return false;
  }
  rings_[i] = ring;
  if (i == count_) ++count_;
  return true;
}

void SwitchRings::remove_all_but(bool (*lives)(std::uint32_t tid)) {
  for (unsigned i = 0; i < count_; ++i)
    if (rings_[i].page != nullptr && !lives(rings_[i].tid)) unmap(rings_[i]);
}

std::uint64_t SwitchRings::capacity() const {
  const std::uint64_t most = setting_.per_thread ? kMostRings : count_;
  return most * data_bytes() / sizeof(PerfSwitchRecord);
}

std::uint64_t SwitchRings::written(const Ring& ring) const {
  const std::uint64_t head = __atomic_load_n(&ring.page->data_head, __ATOMIC_RELAXED);
  return (setting_.overwritten ? 0 - head : head) / sizeof(PerfSwitchRecord);
}

std::uint64_t SwitchRings::written() const {
  std::uint64_t sum = written_before_;
  for (unsigned i = 0; i < count_; ++i)
    if (rings_[i].page != nullptr) sum += written(rings_[i]);
  return sum;
}

double SwitchRings::fill() const {
  double most = 0;
  for (unsigned i = 0; i < count_ && !setting_.overwritten; ++i) {
    if (rings_[i].page == nullptr) continue;
    const std::uint64_t there = __atomic_load_n(&rings_[i].page->data_head, __ATOMIC_RELAXED) - rings_[i].done;
    const double part = static_cast<double>(there) / static_cast<double>(data_bytes());
    if (part > most) most = part;
  }
  return most;
}

}  // namespace hostprobe::probe
