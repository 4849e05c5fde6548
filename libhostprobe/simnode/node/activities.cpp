// See activities.h.
#include "activities.h"

#include "clock.h"
#include "say.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace simnode {

using hostprobe::ActivityHead;
using hostprobe::ActivityRow;

bool g_activities = false;

namespace {

constexpr uint64_t kStepBytes = 128 << 10;  // reserved at a time: some 50 us in the file system, once in 2700 rows
constexpr uint64_t kDefaultMib = 256;
constexpr uint64_t kMostMib = 1 << 20;
constexpr unsigned kMostFiles = 1000;  // of one process id in one folder

struct ActivityFile {
  char* bytes = nullptr;
  uint64_t most = 0;      // as the setting allows
  uint64_t reserved = 0;  // as the disk has
  bool full = false;
  int fd = -1;
  std::map<std::string, uint32_t>* names = nullptr;

  ActivityHead& head() { return *reinterpret_cast<ActivityHead*>(bytes); }
  uint64_t used() { return hostprobe::kActivityHeadBytes + head().rows * sizeof(ActivityRow); }
};
ActivityFile g_file;

uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#endif
}

// What the file may grow to: growing beyond the process's limit would end it by SIGXFSZ.
uint64_t most_now() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? std::min<uint64_t>(g_file.most, limit.rlim_cur) : g_file.most;
}

void read_clock_again() {
  g_file.head().last_ns = static_cast<uint64_t>(now_ns());
  g_file.head().last_ticks = ticks();
}

// Reserved before it is written: a page that the disk has no room for would be a SIGBUS at the store.
bool reserve(uint64_t bytes) {
  while (g_file.reserved < bytes && !g_file.full) {
    const uint64_t most = most_now();
    const uint64_t step = most > g_file.reserved ? std::min(kStepBytes, most - g_file.reserved) : 0;
    const int error =
        step == 0 ? EFBIG : posix_fallocate(g_file.fd, static_cast<off_t>(g_file.reserved), static_cast<off_t>(step));
    if (error == EINTR) continue;
    errno = error;
    g_file.full = error != 0;
    if (!g_file.full) g_file.reserved += step;
    if (g_file.bytes != nullptr) read_clock_again();
  }
  return g_file.reserved >= bytes;
}

uint64_t most_bytes() {
  const char* text = getenv("SIMNODE_ACTIVITIES_MB");
  if (text == nullptr || *text == '\0') return kDefaultMib << 20;
  char* end;
  const unsigned long long mib = strtoull(text, &end, 10);
  if (*end == '\0' && *text != '-' && mib >= 1 && mib <= kMostMib) return uint64_t{mib} << 20;
  say("SIMNODE_ACTIVITIES_MB=%s is not a whole number from 1 to %llu; using %llu. Give such a number or unset it.",
      text, static_cast<unsigned long long>(kMostMib), static_cast<unsigned long long>(kDefaultMib));
  return kDefaultMib << 20;
}

bool open_in(const char* folder) {
  mkdir(folder, 0777);
  for (unsigned number = 0; number < kMostFiles; ++number) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%d-%u%s", folder, static_cast<int>(getpid()), number, hostprobe::kActivitySuffix);
    g_file.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (g_file.fd >= 0 || errno != EEXIST) break;
  }
  return g_file.fd >= 0;
}

bool map_file() {
  g_file.most = most_bytes();
  if (!reserve(hostprobe::kActivityHeadBytes)) return false;
  void* mapped = mmap(nullptr, g_file.most, PROT_READ | PROT_WRITE, MAP_SHARED, g_file.fd, 0);
  if (mapped == MAP_FAILED) return false;
  madvise(mapped, g_file.most, MADV_DONTFORK);
  g_file.bytes = static_cast<char*>(mapped);
  return true;
}

void read_text(const char* path, char* text, size_t bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, text, bytes - 1);
  close(fd);
  text[got > 0 ? got : 0] = '\0';
  text[strcspn(text, "\n")] = '\0';
}

void write_head() {
  ActivityHead& head = g_file.head();
  head.version = hostprobe::kActivityVersion;
  head.head_bytes = hostprobe::kActivityHeadBytes;
  head.pid = static_cast<uint32_t>(getpid());
  head.row_bytes = sizeof(ActivityRow);
  head.start_ns = head.last_ns = static_cast<uint64_t>(now_ns());
  head.start_ticks = head.last_ticks = ticks();
  read_text("/proc/sys/kernel/random/boot_id", head.boot_id, sizeof head.boot_id);
  if (readlink("/proc/self/exe", head.program, sizeof head.program - 1) < 0) head.program[0] = '\0';
  std::atomic_signal_fence(std::memory_order_seq_cst);
  head.magic = hostprobe::kActivityMagic;
}

ActivityRow* next_row(uint64_t rows) {
  if (!reserve(g_file.used() + rows * sizeof(ActivityRow))) return nullptr;
  return reinterpret_cast<ActivityRow*>(g_file.bytes + g_file.used());
}

void publish(uint64_t rows) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g_file.head().rows += rows;
}

}  // namespace

void start_activities() {
  const char* folder = getenv("SIMNODE_ACTIVITIES");
  if (folder == nullptr || *folder == '\0' || strcmp(folder, "off") == 0 || g_activities) return;
  if (open_in(folder) && map_file()) {
    write_head();
    g_file.names = new std::map<std::string, uint32_t>;
    g_activities = true;
    return;
  }
  say("cannot write activities to %s: %s; this process has none. Give SIMNODE_ACTIVITIES a writable folder.", folder,
      strerror(errno));
  if (g_file.fd >= 0) close(g_file.fd);
  g_file = ActivityFile();
}

// Called in a forked child, which has the file open but not mapped.
void forget_activities_of_parent() {
  if (g_file.fd >= 0) close(g_file.fd);
  g_file = ActivityFile();
  g_activities = false;
}

uint32_t activity_name(const char* text) {
  if (!g_activities) return 0;
  if (const auto known = g_file.names->find(text); known != g_file.names->end()) return known->second;
  const size_t length = strlen(text);
  const uint64_t rows = 1 + (length + sizeof(ActivityRow) - 1) / sizeof(ActivityRow);
  ActivityRow* row = next_row(rows);
  if (row == nullptr) return 0;
  const auto number = static_cast<uint32_t>(g_file.names->size() + 1);
  row->type = hostprobe::kActivityName;
  row->name = number;
  row->bytes = length;
  memcpy(static_cast<void*>(row + 1), text, length);
  publish(rows);
  return (*g_file.names)[text] = number;
}

void add_activity(const ActivityLabel& label, int device, uint64_t stream, int64_t begin_ns, int64_t end_ns) {
  if (!g_activities || label.type == hostprobe::kActivityNone) return;
  ActivityRow* row = next_row(1);
  if (row == nullptr) {
    hostprobe::ActivityTotal& total = g_file.head().without_row[label.type];
    ++total.count;
    total.ns += static_cast<uint64_t>(end_ns - begin_ns);
    return;
  }
  row->begin_ns = static_cast<uint64_t>(begin_ns);
  row->end_ns = static_cast<uint64_t>(end_ns);
  row->launch_ns = static_cast<uint64_t>(label.launch_ns);
  row->bytes = label.bytes;
  row->stream = static_cast<uint32_t>(stream);
  row->name = label.name;
  row->launch_tid = label.launch_tid;
  row->device = static_cast<uint8_t>(device);
  row->type = label.type;
  row->flags = label.collective ? hostprobe::kActivityCollective : 0;
  publish(1);
}

uint32_t launching_tid() {
  static thread_local uint32_t tid = 0;
  if (tid == 0) tid = static_cast<uint32_t>(gettid());
  return tid;
}

}  // namespace simnode
