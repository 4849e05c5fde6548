// hand_over: one thread hands work to another by sem_post, TIMES times, GAP microseconds apart. Prints as JSON how long after the post
// the other ran again, and the CPU time that both took.
#include <semaphore.h>
#include <sys/resource.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

sem_t g_work;

std::int64_t now_ns() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

void compute(std::int64_t ns) {
  for (const std::int64_t end = now_ns() + ns; now_ns() < end;) _mm_pause();
}

void wait(sem_t* sem) {
  while (sem_wait(sem) != 0) {
  }
}

double cpu_ms() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(use.ru_utime) + ms(use.ru_stime);
}

double us_at(const std::vector<std::int64_t>& sorted, double share) {
  return 1e-3 * static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 20000;
  const std::int64_t gap_ns = (argc > 2 ? atoll(argv[2]) : 20) * 1000;
  sem_init(&g_work, 0, 0);
  std::vector<std::atomic<std::int64_t>> posted(static_cast<std::size_t>(times));
  std::vector<std::int64_t> late;
  late.reserve(posted.size());
  const std::int64_t begin = now_ns();
  std::thread worker([&] {
    for (const auto& each : posted) {
      wait(&g_work);
      late.push_back(now_ns() - each.load());
    }
  });
  for (auto& each : posted) {
    compute(gap_ns);
    each.store(now_ns());
    sem_post(&g_work);
  }
  worker.join();
  const double wall_ms = 1e-6 * static_cast<double>(now_ns() - begin);
  std::sort(late.begin(), late.end());
  printf("{\"times\": %d, \"p50_us\": %.2f, \"p99_us\": %.2f, \"wall_ms\": %.1f, \"cpu_ms\": %.1f}\n", times,
         us_at(late, 0.5), us_at(late, 0.99), wall_ms, cpu_ms());
}
