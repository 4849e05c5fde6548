// stays [WHAT]: waits 2 ms at a time until SIGTERM, so that somebody has time to ask for something. WHAT it does before:
// `slow`: ten steps of 3 ms and one of 300 ms; `handles`: has a handler of its own for SIGUSR2; `ignores`: ignores it;
// `forks`: a child that stays as well, and prints how it ended; `pauses`: stops recording before anything was recorded;
// `threads`: three threads that wait five times each and end while recording is paused; `even`: until SIGUSR1, waits for another
// thread at even intervals; `marks`: marks a step each 20 ms, and waits for ever from SIGUSR1 on.
#include <hostprobe/hostprobe.h>

#include "victim.h"

static volatile sig_atomic_t g_done = 0;
static volatile sig_atomic_t g_handled = 0;

static void take_steps() {
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  hostprobe_step(0);
  for (uint64_t i = 1; i <= 11; ++i) {
    wait_a_moment(&never_posted, i == 11 ? 300000000 : 3000000);
    hostprobe_step(i);
  }
}

static sem_t g_waited, g_end;

static void* wait_and_end(void*) {
  wait_moments(5);
  sem_post(&g_waited);
  // Not by a semaphore: that wait would be the last record of the thread, or none.
  int value = 0;
  while (sem_getvalue(&g_end, &value) == 0 && value == 0) nap();
  return nullptr;
}

static void end_threads_in_a_pause() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) thread = start(wait_and_end);
  for (int i = 0; i < 3; ++i) sem_wait(&g_waited);
  tell("stop %d", hostprobe_stop());
  sem_post(&g_end);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  tell("start %d", hostprobe_start());
}

static volatile sig_atomic_t g_even_ended = 0;
static sem_t g_asked, g_answered;

static void* answer(void*) {
  for (;;) {
    sem_wait(&g_asked);
    if (g_even_ended != 0) return nullptr;
    nap();
    sem_post(&g_answered);
  }
}

static void wait_evenly() {
  signal(SIGUSR1, [](int) { g_even_ended = 1; });
  const pthread_t thread = start(answer);
  tell("ready");
  while (g_even_ended == 0 && g_done == 0) {
    sem_post(&g_asked);
    if (g_even_ended == 0) sem_wait(&g_answered);
  }
  g_even_ended = 1;
  sem_post(&g_asked);
  pthread_join(thread, nullptr);
}

static volatile sig_atomic_t g_stands_still = 0;

static void mark_steps() {
  signal(SIGUSR1, [](int) { g_stands_still = 1; });
  struct sigaction end = {};  // it ends a wait, which signal() would begin again
  end.sa_handler = [](int) { g_done = 1; };
  sigaction(SIGTERM, &end, nullptr);
  hostprobe_active();
  tell("ready");
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  for (uint64_t step = 0; g_done == 0; ++step) {
    wait_a_moment(&never_posted, 20000000);
    while (g_stands_still != 0 && g_done == 0) sem_wait(&never_posted);
    hostprobe_step(step);
  }
}

// From here on hostprobe has a thread of its own: in a process that only waits nobody ever starts one.
static void stay() {
  hostprobe_active();
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  while (g_done == 0) wait_a_moment(&never_posted, 2000000);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  signal(SIGTERM, [](int) { g_done = 1; });
  if (strcmp(what, "handles") == 0) signal(SIGUSR2, [](int) { g_handled = g_handled + 1; });
  if (strcmp(what, "ignores") == 0) signal(SIGUSR2, SIG_IGN);
  if (strcmp(what, "slow") == 0) take_steps();
  if (strcmp(what, "even") == 0) wait_evenly();
  if (strcmp(what, "marks") == 0) mark_steps();
  if (strcmp(what, "pauses") == 0) tell("stop %d", hostprobe_stop());
  if (strcmp(what, "threads") == 0) end_threads_in_a_pause();
  pid_t child = 0;
  if (strcmp(what, "forks") == 0) {
    wait_moments(1);
    if ((child = fork()) == 0) {
      stay();
      return 3;
    }
    tell("child %d", static_cast<int>(child));
  }
  tell("ready");
  stay();
  if (child != 0) print_end_of("child", child);
  printf("handled %d\n", static_cast<int>(g_handled));
}
