// Waits once, without any Python.
#include <semaphore.h>
#include <time.h>

int main() {
  sem_t never;
  sem_init(&never, 0, 0);
  timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  return sem_timedwait(&never, &soon) == -1 ? 0 : 1;
}
