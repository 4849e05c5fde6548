// thread_moment.cpp: see thread_moment.h.
#include "probe/sources/thread_moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/record/hook_row.h"
#include "probe/runtime/small_file.h"
#include "probe/sources/run_counts.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kPassedOver = 8;  // looks: an eighth of the samples is better than none

// Whether it would run if it had a CPU.
bool is_runnable(std::uint32_t tid) {
  char path[64], line[160];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  const char* name_end = strrchr(line, ')');
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

}  // namespace

bool is_in_wait(const ThreadEntry& entry) {
  const std::uint64_t key = __atomic_load_n(&entry.open.key, __ATOMIC_RELAXED);
  return key != 0 && role_of(sum_hook(key)) != HookRole::kWrite;
}

// One that was taken off its CPU, often by us, stands where the kernel takes threads off: behind system calls. It is passed
// over, unless it is never found otherwise: all CPUs are busy, or there is only one.
bool is_running(Watched& one, std::uint64_t& cpu_ns) {
  const std::uint64_t again_ns = cpu_ns_of(one.tid);
  if (again_ns <= cpu_ns) {
    if (again_ns == 0 || !is_runnable(one.tid)) return false;
    if (g_header.cpus != 1 && ++one.passed_over < kPassedOver) return false;
    one.passed_over = 0;
    return true;
  }
  one.passed_over = 0;
  cpu_ns = again_ns;
  return true;
}

bool blocked_place(std::uint32_t tid, std::uint16_t& call, std::uint64_t& address) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
  if (!read_small_file(path, line, sizeof line)) return false;
  char* end = line;
  const long number = strtol(line, &end, 10);
  const char* place = strrchr(line, ' ');
  if (end == line || place == nullptr || number < -1 || number >= UINT16_MAX) return false;
  call = static_cast<std::uint16_t>(number + 1);
  address = strtoull(place + 1, nullptr, 16);
  return true;
}

}  // namespace hostprobe::probe
