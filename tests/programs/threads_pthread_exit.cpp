// threads_pthread_exit: threads end by pthread_exit below C++ frames with destructors, inside a signal handler's
// interrupted frame, and finally the main thread does so while another one still waits.
#include <atomic>
#include <thread>

#include "victim.h"

struct Guard {
  int number;
  ~Guard() { printf("destructor %d\n", number); }
};

static void descend(int depth) {
  Guard guard{depth};
  if (depth == 4) return;
  if (depth == 3) pthread_exit(reinterpret_cast<void*>(9));
  descend(depth + 1);
  printf("never printed\n");
}

static void* ends_deep(void*) {
  wait_moments(2);
  descend(0);
  return nullptr;
}

static void* outlives_main(void* main_thread) {
  pthread_join(*static_cast<pthread_t*>(main_thread), nullptr);
  wait_moments(3);
  printf("main thread is gone\n");
  return nullptr;
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 4096);
  void* result = nullptr;
  pthread_join(start(ends_deep), &result);
  printf("joined with %ld\n", static_cast<long>(reinterpret_cast<intptr_t>(result)));
  std::thread([] {
    wait_moments(1);
    Guard guard{50};
    pthread_exit(nullptr);
  }).join();
  wait_moments(1);
  static pthread_t self = pthread_self();
  start(outlives_main, &self);
  pthread_exit(nullptr);
}
