// shares_out THREADS MILLISECONDS: OpenMP's runtime shares work out to so many threads for so long, and nothing else happens. Called as compilers
// do it, so that each of them can build this.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

extern "C" void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags);

namespace {

long now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void add_numbers(void*) {
  volatile unsigned sum = 1;
  for (unsigned i = 0; i < 20000; ++i) sum = sum + i;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 2;
  const long end_ms = now_ms() + (argc > 2 ? atoi(argv[2]) : 500);
  while (now_ms() < end_ms) GOMP_parallel(add_numbers, nullptr, threads, 0);
  printf("threads %u\n", threads);
  return 0;
}
