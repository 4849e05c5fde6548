// waits_at_once: a thousand calls of each semaphore wait that find the semaphore posted, and as many idle signals.
#include "victim.h"

int main() {
  static constexpr int kCalls = 1000;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const timespec end = soon(CLOCK_REALTIME, 0), late = {end.tv_sec + 600, 0};
  const timespec past = {1, 0};
  int succeeded = 0;
  errno = 4711;
  for (int i = 0; i < kCalls; ++i) {
    for (int posts = 0; posts < 4; ++posts) succeeded += sem_post(&semaphore) == 0;
    succeeded += sem_wait(&semaphore) == 0;
    succeeded += sem_timedwait(&semaphore, &late) == 0;
    succeeded += sem_timedwait(&semaphore, &past) == 0;
    succeeded += sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past) == 0;
    succeeded += pthread_cond_signal(&condition) == 0;
    succeeded += pthread_cond_broadcast(&condition) == 0;
  }
  printf("%d calls succeeded, errno %d\n", succeeded, errno);
}
