// fork_cost CHILDREN CALLS: forks children one after the other; each makes so many hooked calls and leaves by _exit. Prints
// of each child the wall time from fork to the end of waitpid and its CPU time, both in µs: bench/fork_cost.py runs it.
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

double now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

double cpu_us(const rusage& use) {
  const auto of = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return of(use.ru_utime) + of(use.ru_stime);
}

// Times out at once, which is a wait all the same.
void call() {
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  sem_timedwait(&never_posted, &end);
}

}  // namespace

int main(int argc, char** argv) {
  const int children = argc > 1 ? atoi(argv[1]) : 50, calls = argc > 2 ? atoi(argv[2]) : 1;
  call();  // the parent records
  for (int i = 0; i < children; ++i) {
    const double begin = now_us();
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0; n < calls; ++n) call();
      _exit(0);
    }
    int status = 0;
    rusage use{};
    wait4(child, &status, 0, &use);
    printf("%.1f %.1f\n", now_us() - begin, cpu_us(use));
  }
}
