// parallel.cpp: see parallel.h.
#include "parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hostprobe::analysis {

void run_parallel(std::size_t count, unsigned cores, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min<std::size_t>(cores, count); ++i) others.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads to be had; those that there are do it all.
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

unsigned usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace hostprobe::analysis
