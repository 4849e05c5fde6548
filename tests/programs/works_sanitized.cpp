// works_sanitized: locks, threads, waits and lookups, none of them wrong. Built with one sanitizer after the other.
#include <dlfcn.h>

#include "victim.h"

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t g_ready;
static int g_sum;

static void* adds(void*) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&g_lock);
    ++g_sum;
    pthread_mutex_unlock(&g_lock);
    pthread_rwlock_rdlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
  }
  sem_post(&g_ready);
  return nullptr;
}

int main() {
  sem_init(&g_ready, 0, 0);
  pthread_t threads[3];
  for (pthread_t& thread : threads) thread = start(adds);
  for (int i = 0; i < 3; ++i) sem_wait(&g_ready);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  wait_moments(5);
  printf("sum %d, getpid found: %d\n", g_sum, dlsym(RTLD_DEFAULT, "getpid") != nullptr);
  printf("libm opened: %d\n", dlopen("libm.so.6", RTLD_NOW) != nullptr);
  return 6;
}
