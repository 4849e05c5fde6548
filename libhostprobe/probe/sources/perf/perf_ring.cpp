// perf_ring.cpp: see perf_ring.h.
#include "probe/sources/perf/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "probe/arch/architecture.h"
#include "probe/runtime/small_file.h"

namespace hostprobe::probe {
namespace {

void copy_out(const PerfRing& ring, std::uint64_t from, char* out, std::size_t bytes) {
  const char* data = reinterpret_cast<const char*>(ring.page) + page_bytes();
  for (std::size_t i = 0; i < bytes; ++i) out[i] = data[(from + i) % page_bytes()];
}

}  // namespace

int open_perf_ring(PerfRing& ring, const perf_event_attr& event, std::uint32_t tid) {
  const long fd = syscall(SYS_perf_event_open, &event, static_cast<long>(tid), -1L, -1L, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return errno;
  void* memory = mmap(nullptr, 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
  const int error = errno;
  close(static_cast<int>(fd));
  if (memory == MAP_FAILED) return error;
  ring.page = static_cast<perf_event_mmap_page*>(memory);
  return 0;
}

void close_perf_ring(PerfRing& ring) {
  if (ring.page != nullptr) munmap(ring.page, 2 * page_bytes());
  ring.page = nullptr;
}

bool may_ask_for_perf_events() {
  char text[4096];
  if (!read_small_file("/proc/self/status", text, sizeof text)) return false;
  const char* line = strstr(text, "\nSeccomp:\t");
  return line == nullptr || line[10] == '0';  // a kernel without filters has no such line
}

bool take_perf_record(PerfRing& ring, char* out, std::size_t bytes) {
  if (ring.page == nullptr) return false;
  const std::uint64_t head = std::atomic_ref(ring.page->data_head).load(std::memory_order_acquire);
  const std::uint64_t tail = ring.page->data_tail;
  perf_event_header record;
  if (head < tail + sizeof record) return false;
  copy_out(ring, tail, reinterpret_cast<char*>(&record), sizeof record);
  if (record.size < sizeof record || tail + record.size > head) {
    std::atomic_ref(ring.page->data_tail).store(head, std::memory_order_release);
    return false;
  }
  memset(out, 0, bytes);
  copy_out(ring, tail, out, record.size < bytes ? record.size : bytes);
  std::atomic_ref(ring.page->data_tail).store(tail + record.size, std::memory_order_release);
  return true;
}

}  // namespace hostprobe::probe
