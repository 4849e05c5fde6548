// switches ROUNDS [forks|execs|yields]: two threads hand a semaphore to and fro, and one computes meanwhile, so that there is somebody to be
// preempted by. They stay for a while behind that. Tells how often the kernel switched each of them, and how often those two slept until
// their last wait. `forks`: a child does the same first; `execs`: the program in its place does the same afterwards; `yields`: two threads
// that do nothing but yield take the place of the semaphore's.
#include <sched.h>
#include <sys/resource.h>

#include <atomic>

#include "victim.h"

static sem_t g_ping, g_pong;
static std::atomic<bool> g_done{false}, g_over{false};
static int g_rounds = 0;

// The writer looks at the threads once a second.
static void stay_and_tell() {
  timespec time = {0, 20000000};
  while (!g_over) bare_call(SYS_nanosleep, reinterpret_cast<long>(&time));
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  tell("switches %d %d %ld %ld", static_cast<int>(getpid()), static_cast<int>(gettid()), usage.ru_nvcsw,
       usage.ru_nivcsw);
}

static void tell_sleeps() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  tell("sleeps %ld", usage.ru_nvcsw);
}

static void* second(void*) {
  for (int i = 0; i < g_rounds; ++i) {
    sem_wait(&g_ping);
    sem_post(&g_pong);
  }
  tell_sleeps();
  stay_and_tell();
  return nullptr;
}

static void* first(void*) {
  for (int i = 0; i < g_rounds; ++i) {
    sem_post(&g_ping);
    sem_wait(&g_pong);
  }
  g_done = true;
  tell_sleeps();
  stay_and_tell();
  return nullptr;
}

static void* yield(void*) {
  for (int i = 0; i < g_rounds; ++i) sched_yield();
  stay_and_tell();
  return nullptr;
}

static void* compute(void*) {
  while (!g_done) {
  }
  stay_and_tell();
  return nullptr;
}

static void play(bool yields) {
  g_done = g_over = false;
  sem_init(&g_ping, 0, 0);
  sem_init(&g_pong, 0, 0);
  wait_moments(3);                             // recording has begun, and with it the writer's thread
  for (int i = 0; i < 50; ++i) usleep(10000);  // which has opened its buffers by then, also on a busy machine
  const pthread_t threads[] = {start(compute), start(yields ? yield : second), start(yields ? yield : first)};
  for (int i = 0; i < 200 && yields; ++i) usleep(10000);
  g_done = g_done || yields;
  while (!g_done) usleep(10000);
  for (int i = 0; i < 150; ++i) usleep(10000);
  g_over = true;
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  stay_and_tell();
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  g_rounds = atoi(argv[1]);
  const char* what = argc > 2 ? argv[2] : "";
  if (strcmp(what, "forks") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      play(false);
      _exit(7);
    }
    print_end_of("child", child);
  }
  play(strcmp(what, "yields") == 0);
  printf("%d rounds\n", g_rounds);
  fflush(stdout);
  if (strcmp(what, "execs") == 0) execl("/proc/self/exe", argv[0], argv[1], nullptr);
}
