// signals_jump_out calls | waits | forks: a timer's handler leaves by siglongjmp, wherever it comes. With `calls` in the
// middle of calls that each leave a record, with `waits` out of waits that nobody ends: on a semaphore, for a byte, asleep,
// and for a lock; afterwards the program makes calls that do not wait. With `forks` the handler forks, and both go on where
// it came. Tells how many calls were `made` and how many of them were `left`; of forks how many children ended well.
#include <setjmp.h>
#include <sys/time.h>

#include "victim.h"

static sigjmp_buf g_back;
static volatile sig_atomic_t g_may_jump, g_left, g_forked, g_child;
static volatile long g_made;
static sem_t g_never;

static void handler(int) {
  if (g_may_jump == 0) return;
  g_left = g_left + 1;
  siglongjmp(g_back, 1);
}

static void forking_handler(int) {
  if (g_forked >= 4 || g_child != 0) return;
  const int error = errno;
  g_forked = g_forked + 1;
  g_child = fork() == 0;
  errno = error;
}

static void handle(void (*with)(int), int microseconds) {
  struct sigaction action = {};
  action.sa_handler = with;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &often, nullptr);
}

static void stop() {
  const itimerval never = {};
  g_may_jump = 0;
  setitimer(ITIMER_REAL, &never, nullptr);
}

// Each leaves a record: its limit has passed.
static void call() {
  const timespec passed = {1, 0};
  if (sem_timedwait(&g_never, &passed) == 0 || errno != ETIMEDOUT) abort();
}

static void make_calls() {
  handle(handler, 500);
  // Counted before it is made: one that was left counts.
  sigsetjmp(g_back, 1);
  for (g_may_jump = 1; g_left < 200 || g_made < 20000;) {
    g_made = g_made + 1;
    call();
  }
  stop();
}

static void wait_for(int what) {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  static int ends[2] = {-1, -1};
  if (ends[0] < 0 && pipe(ends) != 0) abort();
  const timespec long_time = {100, 0};
  char byte;
  if (what == 0) sem_wait(&g_never);
  if (what == 1 && read(ends[0], &byte, 1) != 1) abort();
  if (what == 2) nanosleep(&long_time, nullptr);
  if (what == 3) {
    pthread_mutex_trylock(&held);
    pthread_mutex_lock(&held);
  }
}

static void leave_waits() {
  while (g_made < 100) {
    handle(handler, 500);
    if (sigsetjmp(g_back, 1) == 0) {
      g_made = g_made + 1;
      g_may_jump = 1;
      wait_for(static_cast<int>(g_made % 4));
    }
    stop();
  }
  for (int i = 0; i < 600; ++i) sem_post(&g_never);
}

static void make_calls_and_fork() {
  handle(forking_handler, 300);
  while (g_forked < 4 && g_child == 0) call();
  stop();
  for (int i = 0; i < 3000; ++i) call();
  if (g_child != 0) _exit(0);
  int status = 0;
  for (pid_t child; (child = waitpid(-1, &status, 0)) > 0 || errno == EINTR;)
    if (child > 0 && status == 0) g_made = g_made + 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sem_init(&g_never, 0, 0);
  if (strcmp(argv[1], "calls") == 0) make_calls();
  if (strcmp(argv[1], "waits") == 0) leave_waits();
  if (strcmp(argv[1], "forks") == 0) make_calls_and_fork();
  tell("made %ld", static_cast<long>(g_made));
  tell("left %d", static_cast<int>(g_left));
  printf("%s done\n", argv[1]);
}
