// waits_results: what every wait answers to good, bad and late arguments: result, errno, and who owns the mutex after.
#include "victim.h"

static sem_t g_semaphore;
static pthread_mutex_t g_mutex;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;

static void show(const char* what, int result) {
  const int error = errno;
  int value = -1;
  sem_getvalue(&g_semaphore, &value);
  printf("%s: result %d, errno %d, semaphore %d\n", what, result, error, value);
  errno = 4711;
}

static void show_condition(const char* what, int result) {
  const int error = errno;
  printf("%s: result %d, errno %d, unlock %d\n", what, result, error, pthread_mutex_unlock(&g_mutex));
  pthread_mutex_lock(&g_mutex);
  errno = 4711;
}

static void semaphores(const char* name, const timespec* time, int value) {
  char what[96];
  for (int i = 0; i < value; ++i) sem_post(&g_semaphore);
  snprintf(what, sizeof what, "sem_timedwait %s, %d posted", name, value);
  show(what, sem_timedwait(&g_semaphore, time));
  const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, 99};
  for (clockid_t clock : clocks) {
    while (sem_trywait(&g_semaphore) == 0) {
    }
    for (int i = 0; i < value; ++i) sem_post(&g_semaphore);
    errno = 4711;
    snprintf(what, sizeof what, "sem_clockwait %d %s, %d posted", clock, name, value);
    show(what, sem_clockwait(&g_semaphore, clock, time));
  }
  while (sem_trywait(&g_semaphore) == 0) {
  }
  errno = 4711;
}

static void conditions(const char* name, const timespec* time) {
  char what[96];
  snprintf(what, sizeof what, "pthread_cond_timedwait %s", name);
  show_condition(what, pthread_cond_timedwait(&g_condition, &g_mutex, time));
  const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, 99};
  for (clockid_t clock : clocks) {
    snprintf(what, sizeof what, "pthread_cond_clockwait %d %s", clock, name);
    show_condition(what, pthread_cond_clockwait(&g_condition, &g_mutex, clock, time));
  }
}

static void overflow() {
  sem_t full;
  sem_init(&full, 0, 0x7fffffff);
  errno = 4711;
  const int result = sem_post(&full);
  printf("sem_post on a full semaphore: result %d, errno %d\n", result, errno);
}

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 65536);
  sem_init(&g_semaphore, 0, 0);
  pthread_mutexattr_t checking;
  pthread_mutexattr_init(&checking);
  pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&g_mutex, &checking);
  pthread_mutex_lock(&g_mutex);
  errno = 4711;
  const timespec past = {1, 0}, negative = {-5, 0}, below = {1, -1}, above = {1, 1000000000};
  const timespec far_above = {2000000000, 2000000000};
  const struct {
    const char* name;
    const timespec* time;
  } times[] = {{"long past", &past},
               {"before 1970", &negative},
               {"negative nanoseconds", &below},
               {"a second of nanoseconds", &above},
               {"far ahead, bad nanoseconds", &far_above}};
  for (const auto& time : times) {
    semaphores(time.name, time.time, 0);
    semaphores(time.name, time.time, 1);
    conditions(time.name, time.time);
  }
  pthread_mutex_unlock(&g_mutex);
  printf("pthread_cond_wait without the mutex: %d\n", pthread_cond_wait(&g_condition, &g_mutex));
  overflow();
}
