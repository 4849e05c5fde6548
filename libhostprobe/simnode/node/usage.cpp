// See usage.h.
#include "usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace simnode {

namespace {

constexpr uint64_t kMagic = 0x3165676173756d73;
constexpr char kName[] = "simnode-usage";
constexpr char kLink[] = "/memfd:simnode-usage";  // what /proc shows for it

Usage* make_usage() {
  int fd = memfd_create(kName, MFD_CLOEXEC);
  bool sized = fd >= 0 && ftruncate(fd, sizeof(Usage)) == 0;
  void* memory = sized ? mmap(nullptr, sizeof(Usage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  static Usage unseen;
  auto* usage = memory == MAP_FAILED ? &unseen : static_cast<Usage*>(memory);
  usage->magic = kMagic;
  return usage;
}

const Usage* map_usage(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat file;
  bool whole = fstat(fd, &file) == 0 && file.st_size == static_cast<off_t>(sizeof(Usage));
  void* memory = whole ? mmap(nullptr, sizeof(Usage), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  auto* usage = static_cast<const Usage*>(memory);
  if (usage->magic == kMagic) return usage;
  munmap(memory, sizeof(Usage));
  return nullptr;
}

// The usage that process `pid` has open, if it has one. A forked child has its parent's too: only who maps it counts, and
// a child maps nothing of it (MADV_DONTFORK in own_usage).
const Usage* usage_of(int pid) {
  std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* all = opendir(folder.c_str());
  if (all == nullptr) return nullptr;
  const Usage* found = nullptr;
  while (dirent* entry = readdir(all)) {
    char target[64];
    std::string path = folder + "/" + entry->d_name;
    ssize_t length = readlink(path.c_str(), target, sizeof target - 1);
    if (length < static_cast<ssize_t>(sizeof kLink - 1) || strncmp(target, kLink, sizeof kLink - 1) != 0) continue;
    found = map_usage(path);
    if (found != nullptr) break;
  }
  closedir(all);
  return found;
}

bool maps_usage(int pid) {
  FILE* maps = fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "re");
  if (maps == nullptr) return false;
  char line[512];
  bool found = false;
  while (!found && fgets(line, sizeof line, maps) != nullptr) found = strstr(line, kLink) != nullptr;
  fclose(maps);
  return found;
}

}  // namespace

Usage& own_usage() {
  static Usage* const usage = [] {
    Usage* made = make_usage();
    madvise(made, sizeof(Usage), MADV_DONTFORK);  // fails, and does no harm, on memory of our own
    return made;
  }();
  return *usage;
}

static void add_to_spans(DeviceUsage& device, int64_t start_ns, int64_t end_ns) {
  start_ns = std::max(start_ns, end_ns - kUsageSpanNs * kUsageSpans);
  while (start_ns < end_ns) {
    int64_t number = start_ns / kUsageSpanNs;
    int64_t until_ns = std::min(end_ns, (number + 1) * kUsageSpanNs);
    UsageSpan& span = device.spans[number % kUsageSpans];
    int64_t busy_ns = until_ns - start_ns;
    if (span.number.load(std::memory_order_relaxed) == number) busy_ns += span.busy_ns.load(std::memory_order_relaxed);
    span.busy_ns.store(busy_ns, std::memory_order_relaxed);
    span.number.store(number, std::memory_order_release);
    start_ns = until_ns;
  }
}

void note_busy(DeviceUsage& device, int64_t start_ns, int64_t end_ns) {
  int64_t first_ns = device.stretch_start_ns.load(std::memory_order_relaxed);
  int64_t last_ns = device.stretch_end_ns.load(std::memory_order_relaxed);
  if (start_ns > last_ns || end_ns < first_ns) {
    add_to_spans(device, first_ns, last_ns);
    device.stretch_end_ns.store(end_ns, std::memory_order_relaxed);
    device.stretch_start_ns.store(start_ns, std::memory_order_relaxed);
    return;
  }
  if (start_ns < first_ns) device.stretch_start_ns.store(start_ns, std::memory_order_relaxed);
  if (end_ns > last_ns) device.stretch_end_ns.store(end_ns, std::memory_order_relaxed);
}

double busy_share(const DeviceUsage& device, int64_t now_ns) {
  constexpr int64_t kSpansBack = 1000000000 / kUsageSpanNs;
  int64_t end_number = now_ns / kUsageSpanNs;  // whole spans only, so not this one
  int64_t busy_ns = 0;
  for (int64_t number = end_number - kSpansBack; number < end_number; ++number) {
    const UsageSpan& span = device.spans[number % kUsageSpans];
    int64_t in_span_ns = span.number.load(std::memory_order_acquire) == number ? span.busy_ns.load() : 0;
    int64_t first_ns = std::max(device.stretch_start_ns.load(), number * kUsageSpanNs);
    int64_t last_ns = std::min(device.stretch_end_ns.load(), (number + 1) * kUsageSpanNs);
    in_span_ns += std::max(last_ns - first_ns, int64_t{0});
    busy_ns += std::min(in_span_ns, kUsageSpanNs);
  }
  return static_cast<double>(busy_ns) / static_cast<double>(kSpansBack * kUsageSpanNs);
}

UsageScan::UsageScan() {
  DIR* all = opendir("/proc");
  if (all == nullptr) return;
  while (dirent* entry = readdir(all)) {
    int pid = atoi(entry->d_name);
    if (pid <= 0 || !maps_usage(pid)) continue;
    if (const Usage* usage = usage_of(pid)) processes_.push_back({pid, usage});
  }
  closedir(all);
  std::sort(processes_.begin(), processes_.end(), [](auto& l, auto& r) { return l.pid < r.pid; });
}

UsageScan::~UsageScan() {
  for (const ProcessUsage& process : processes_) munmap(const_cast<Usage*>(process.usage), sizeof(Usage));
}

}  // namespace simnode
