// threads_at_once THREADS: so many threads live at the same time, and each makes 20 calls that leave a record once all are
// there. Tells `records`.
#include <atomic>
#include <vector>

#include "victim.h"

static std::atomic<long> g_there, g_done;
static long g_threads;

// The system call itself, as nap(), but longer: thousands do it.
static void nap_long() {
  timespec time = {0, 20000000};
  bare_call(SYS_nanosleep, reinterpret_cast<long>(&time));
}

static void* live(void*) {
  ++g_there;
  while (g_there < g_threads) nap_long();
  sem_t never;
  sem_init(&never, 0, 0);
  const timespec passed = {1, 0};
  for (int i = 0; i < 20; ++i)
    if (sem_timedwait(&never, &passed) == 0 || errno != ETIMEDOUT) abort();
  ++g_done;
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_threads = atol(argv[1]);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (long i = 0; i < g_threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, live, nullptr) != 0) abort();
    pthread_detach(thread);
  }
  while (g_there < g_threads) nap();
  tell("threads %ld", g_threads);
  tell("records %ld", 20 * g_threads);
  while (g_done < g_threads) nap_long();
  printf("%ld threads\n", g_threads);
}
