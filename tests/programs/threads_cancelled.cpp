// threads_cancelled FUNCTION [async|pending|disabled]: cancels a thread inside FUNCTION once it sleeps there (or before
// it calls it). Prints whether cleanup handlers and destructors ran and who held the mutex.
#include <atomic>

#include "victim.h"

static const char* g_function;
static const char* g_way = "deferred";
static sem_t g_semaphore, g_cancelled;
static pthread_mutex_t g_mutex;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static std::atomic<pid_t> g_waiter;

struct Guard {
  const char* name;
  ~Guard() { printf("destructor of %s\n", name); }
};

static void clean_up(void*) {
  const int unlocked = strncmp(g_function, "sem_", 4) == 0 ? -1 : pthread_mutex_unlock(&g_mutex);
  printf("cleanup handler, unlock %d\n", unlocked);
}

static int wait_inside() {
  Guard guard{"the frame of the wait"};
  const timespec late = {soon(CLOCK_REALTIME, 0).tv_sec + 600, 0};
  const timespec late_mono = {soon(CLOCK_MONOTONIC, 0).tv_sec + 600, 0};
  if (strcmp(g_function, "sem_wait") == 0) return sem_wait(&g_semaphore);
  if (strcmp(g_function, "sem_timedwait") == 0) return sem_timedwait(&g_semaphore, &late);
  if (strcmp(g_function, "sem_clockwait") == 0) return sem_clockwait(&g_semaphore, CLOCK_MONOTONIC, &late_mono);
  if (strcmp(g_function, "pthread_cond_wait") == 0) return pthread_cond_wait(&g_condition, &g_mutex);
  if (strcmp(g_function, "pthread_cond_timedwait") == 0) return pthread_cond_timedwait(&g_condition, &g_mutex, &late);
  return pthread_cond_clockwait(&g_condition, &g_mutex, CLOCK_MONOTONIC, &late_mono);
}

static void* waiter(void*) {
  if (strcmp(g_way, "async") == 0) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  if (strcmp(g_way, "disabled") == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  g_waiter = gettid();
  if (strcmp(g_way, "pending") == 0)
    while (sem_trywait(&g_cancelled) != 0) sched_yield();
  pthread_mutex_lock(&g_mutex);
  if (strncmp(g_function, "sem_", 4) == 0) pthread_mutex_unlock(&g_mutex);
  pthread_cleanup_push(clean_up, nullptr);
  printf("wait returned %d\n", wait_inside());
  pthread_cleanup_pop(1);
  return reinterpret_cast<void*>(7);
}

static void release() {
  sem_post(&g_semaphore);
  pthread_mutex_lock(&g_mutex);
  pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_function = argv[1];
  if (argc > 2) g_way = argv[2];
  setvbuf(stdout, nullptr, _IOFBF, 4096);
  sem_init(&g_semaphore, 0, 0);
  sem_init(&g_cancelled, 0, 0);
  pthread_mutexattr_t checking;
  pthread_mutexattr_init(&checking);
  pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&g_mutex, &checking);
  const pthread_t thread = start(waiter);
  while (g_waiter == 0) nap();
  const bool semaphore = strncmp(g_function, "sem_", 4) == 0;
  if (strcmp(g_way, "pending") != 0)
    await_asleep(g_waiter, semaphore ? static_cast<void*>(&g_semaphore) : &g_condition,
                 semaphore ? sizeof g_semaphore : sizeof g_condition);
  const int cancelled = pthread_cancel(thread);
  sem_post(&g_cancelled);
  if (strcmp(g_way, "disabled") == 0) release();
  void* result = nullptr;
  pthread_join(thread, &result);
  printf("cancel: %d, cancelled %d, result %ld\n", cancelled, result == PTHREAD_CANCELED,
         static_cast<long>(reinterpret_cast<intptr_t>(result)));
  tell("waiter %d", static_cast<int>(g_waiter));
  wait_moments(2);
}
