// A small preload that does what the probe does with python_frames: look for the interpreter when a wait returns, then
// read the waiting thread's frames. One line a wait goes to the file PYTHON_FRAMES_LOG names:
//   pid tid function milliseconds text|text|...
// A thread of its own may look at others while they run, which gives lines of the function "sample" (and of "torn" without frames).
// Without that file the frames are read and thrown away (storms). Every wait is read, not only long ones.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "probe/stacks/python_frames.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace hostprobe::probe;
constexpr unsigned kMost = 32;

// The name is looked up behind us once per function.
template <class F>
F* behind_us(F*& kept, const char* name) {
  if (kept == nullptr) kept = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  return kept;
}

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

void write_line(const char* function, double ms, const PythonFrame* frames, unsigned count) {
  const char* path = getenv("PYTHON_FRAMES_LOG");
  if (path == nullptr) return;
  char line[kMost * (kPythonFrameBytes + 1) + 200];
  int used = snprintf(line, sizeof line, "%d %d %s %.3f ", getpid(), gettid(), function, ms);
  for (unsigned i = 0; i < count; ++i) {
    used += snprintf(line + used, sizeof line - static_cast<size_t>(used), "%s%s", i == 0 ? "" : "|", frames[i].text);
  }
  line[used++] = '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, static_cast<size_t>(used)) != used) _exit(99);
  close(file);
}

void look(const char* function, double began) {
  const int kept = errno;
  const double ms = now_ms() - began;
  PythonFrame frames[kMost];
  PythonWork work;
  python_frames_find();
  errno = 12345;
  const unsigned count = python_frames_read(frames, kMost, work);
  if (errno != 12345 || count > kMost) _exit(98);
  write_line(function, ms, frames, count);
  errno = kept;
}

}  // namespace

#define WAIT(name, parameters, arguments)                \
  EXPORT int name parameters {                           \
    static int(*real) parameters = nullptr;              \
    const double began = now_ms();                       \
    const int result = behind_us(real, #name) arguments; \
    look(#name, began);                                  \
    return result;                                       \
  }

WAIT(sem_wait, (sem_t * s), (s))
WAIT(sem_timedwait, (sem_t * s, const timespec* t), (s, t))
WAIT(sem_clockwait, (sem_t * s, clockid_t c, const timespec* t), (s, c, t))
WAIT(pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t* m, const timespec* t), (c, m, t))

// Looks at up to four threads, as often as it can, from the first call on.
namespace {
constexpr unsigned kLookedAt = 4;
PythonThread g_looked_at[kLookedAt];
int g_lookers, g_stop;  // atomic
pthread_t g_looker;

void look_at(PythonThread& thread) {
  if (thread.tid == 0) return;
  if (thread.state == 0) python_threads_find(&thread, 1);
  PythonFrame frames[kMost];
  unsigned count = 0;
  switch (python_frames_of(thread, frames, kMost, count)) {
    case PythonReading::kGone:
      thread.state = 0;
      break;
    case PythonReading::kNoFrame:
      break;
    case PythonReading::kTorn:
    case PythonReading::kRead:
      write_line(count == 0 ? "torn" : "sample", 0, frames, count);
  }
}

void* look_all_the_time(void*) {
  python_frames_find();
  while (__atomic_load_n(&g_stop, __ATOMIC_ACQUIRE) == 0) {
    const int all = __atomic_load_n(&g_lookers, __ATOMIC_ACQUIRE);
    for (int i = 0; i < all; ++i) look_at(g_looked_at[i]);
    const timespec pause = {0, 200000};
    nanosleep(&pause, nullptr);
  }
  return nullptr;
}
}  // namespace

EXPORT void start_samples(int tid) {
  const int index = __atomic_load_n(&g_lookers, __ATOMIC_RELAXED);
  if (index == kLookedAt) return;
  g_looked_at[index].tid = static_cast<unsigned>(tid);
  __atomic_store_n(&g_lookers, index + 1, __ATOMIC_RELEASE);
  if (index == 0 && pthread_create(&g_looker, nullptr, look_all_the_time, nullptr) != 0) _exit(97);
}

EXPORT void stop_samples() {
  __atomic_store_n(&g_stop, 1, __ATOMIC_RELEASE);
  pthread_join(g_looker, nullptr);
}

// A signal handler in C that waits, every `us` microseconds, wherever the interpreter is. Gives
// how often it did so far.
static unsigned g_interrupts;
EXPORT unsigned wait_in_signals(long us) {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    static sem_t never;
    const timespec past = {};
    const int kept = errno;
    ++g_interrupts;
    sem_timedwait(&never, &past);
    errno = kept;
  };
  sigaction(SIGALRM, &action, nullptr);
  itimerval every = {{0, us}, {0, us}};
  setitimer(ITIMER_REAL, &every, nullptr);
  return g_interrupts;
}
