// victim.h: what the victim programs share. A victim prints only what is the same in every run, and tells the rest
// (thread ids, addresses, counts) to the file VICTIM_TRUTH, where its test finds it.
//
// Nothing here waits in a function that the probe hooks, except wait_a_moment, whose calls are there to be recorded.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "bare_call.h"

inline void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));
inline void tell(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[length++] = '\n';
  const char* path = getenv("VICTIM_TRUTH");
  const int fd = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write(fd, line, static_cast<size_t>(length)) != length) abort();
  close(fd);
}

// The system call itself, because usleep would be recorded.
inline void nap() {
  timespec time = {0, 100000};
  bare_call(SYS_nanosleep, reinterpret_cast<long>(&time));
}

// Returns once thread `tid` of this process sleeps in the kernel on a word of `object`.
inline void await_asleep(pid_t tid, const void* object, size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", static_cast<int>(tid));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(object);
  for (;;) {
    char text[256] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    if (fd >= 0) close(fd);
    long number = -1;
    unsigned long address = 0;
    const bool futex = sscanf(text, "%ld %lx", &number, &address) == 2 && number == SYS_futex;
    if (futex && address >= begin && address < begin + bytes) return;
    nap();
  }
}

// Returns once thread `tid` sleeps, wherever.
inline void await_sleeping(pid_t tid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(tid));
  for (char state = 'R'; state != 'S'; nap()) {
    char text[256] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0) text[0] = 0;
    if (fd >= 0) close(fd);
    const char* end = strrchr(text, ')');
    if (end != nullptr && end[1] != 0) state = end[2];
  }
}

inline timespec soon(clockid_t clock, long nanoseconds) {
  timespec time;
  clock_gettime(clock, &time);
  time.tv_nsec += nanoseconds;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

// One call of sem_timedwait that always ends with ETIMEDOUT, so it is always one blocked wait.
inline void wait_a_moment(sem_t* never_posted, long nanoseconds = 20000) {
  timespec end = soon(CLOCK_REALTIME, nanoseconds);
  while (sem_timedwait(never_posted, &end) == 0 || errno != ETIMEDOUT) {
  }
}

inline void wait_moments(int count) {
  sem_t never_posted;
  sem_init(&never_posted, 0, 0);
  for (int i = 0; i < count; ++i) wait_a_moment(&never_posted);
}

inline pthread_t start(void* (*routine)(void*), void* argument = nullptr) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, routine, argument) != 0) abort();
  return thread;
}

// Waits for a child and prints how it ended.
inline void print_end_of(const char* name, pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) printf("%s: exit status %d\n", name, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) printf("%s: signal %d\n", name, WTERMSIG(status));
}
