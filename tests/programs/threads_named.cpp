// threads_named: threads by pthread_create and std::thread, from main and from another thread, that name themselves or
// are named by others; and pthread_create calls that fail.
#include <thread>

#include "victim.h"

extern "C" {
__attribute__((visibility("default"), noinline)) void* routine_of_alpha(void* child);
__attribute__((visibility("default"), noinline)) void* routine_of_beta(void*);
}

static sem_t g_release, g_named;

void* routine_of_beta(void*) {
  pthread_setname_np(pthread_self(), "victim-beta");
  tell("beta %d", static_cast<int>(gettid()));
  wait_moments(3);
  return nullptr;
}

void* routine_of_alpha(void* child) {
  tell("alpha %d", static_cast<int>(gettid()));
  *static_cast<pthread_t*>(child) = start(routine_of_beta);
  pthread_join(*static_cast<pthread_t*>(child), nullptr);
  wait_moments(2);
  sem_post(&g_named);
  sem_wait(&g_release);
  return reinterpret_cast<void*>(42);
}

struct ChoreOfTheVictim {
  void operator()() const {
    tell("standard %d", static_cast<int>(gettid()));
    wait_moments(1);
  }
};

static void* unreached(void*) { abort(); }

static void failing() {
  pthread_attr_t huge;
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, size_t{1} << 60);
  pthread_t thread;
  errno = 4711;
  const int result = pthread_create(&thread, &huge, unreached, nullptr);
  printf("too large a stack: %d, errno %d\n", result, errno);
  printf("too long a name: %d\n", pthread_setname_np(pthread_self(), "sixteen-letters-"));
  printf("longest name: %d\n", pthread_setname_np(pthread_self(), "fifteen-letters"));
}

int main() {
  sem_init(&g_release, 0, 0);
  sem_init(&g_named, 0, 0);
  tell("main %d", static_cast<int>(gettid()));
  pthread_t beta = 0;
  const pthread_t alpha = start(routine_of_alpha, &beta);
  sem_wait(&g_named);
  printf("name alpha: %d\n", pthread_setname_np(alpha, "victim-alpha"));
  sem_post(&g_release);
  void* result = nullptr;
  pthread_join(alpha, &result);
  printf("alpha returned %ld\n", static_cast<long>(reinterpret_cast<intptr_t>(result)));
  std::thread(ChoreOfTheVictim()).join();
  failing();
}
