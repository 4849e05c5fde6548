// waits_everywhere FUNCTION [cancelled]: one thread blocks in FUNCTION a number of times, another one lets it go each time,
// once it really sleeps; or cancels it the first time. Prints what the calls answered. Without an argument: the functions
// it knows.
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <atomic>

#include "victim.h"

namespace {

constexpr int kRounds = 12;

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t g_spin;
pthread_barrier_t g_barrier;
pthread_once_t g_once = PTHREAD_ONCE_INIT;
std::atomic<bool> g_may_end;
pthread_t g_thread;
int g_pair[2];
int g_files[2];  // one file, opened twice: each is locked for itself
int g_listener;
sockaddr_un g_address;
int g_epoll;
uint32_t g_word;
char g_byte;

std::atomic<pid_t> g_waiter;
bool g_cancelled;                                // then sleeps last until they are
std::atomic<int> g_prepared, g_entered, g_done;  // rounds
std::atomic<int> g_children;                     // made so far

timespec late(clockid_t clock) {
  timespec time = soon(clock, 0);
  time.tv_sec += 600;
  return time;
}
const timespec kLong = {600, 0};

// What ends a wait, and what must be so before it begins.
void nothing() {}
void hold_mutex() { pthread_mutex_lock(&g_mutex); }
void free_mutex() { pthread_mutex_unlock(&g_mutex); }
void hold_rwlock() { pthread_rwlock_wrlock(&g_rwlock); }
void free_rwlock() { pthread_rwlock_unlock(&g_rwlock); }
void hold_spin() { pthread_spin_lock(&g_spin); }
void free_spin() {
  for (int i = 0; i < 5; ++i) nap();
  pthread_spin_unlock(&g_spin);
}
void hold_file() { flock(g_files[1], LOCK_EX); }
void free_file() { flock(g_files[1], LOCK_UN); }
void arrive() { pthread_barrier_wait(&g_barrier); }
void send_byte() {
  if (write(g_pair[1], "x", 1) != 1) abort();
}
int take_byte(int result) {
  if (result > 0 && syscall(SYS_read, g_pair[0], &g_byte, 1L) != 1) abort();
  return result;
}
void wake_word() {
  __atomic_store_n(&g_word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
void clear_word() { __atomic_store_n(&g_word, 0, __ATOMIC_SEQ_CST); }

void* ends_when_told(void*) {
  while (!g_may_end) nap();
  return &g_word;
}
void make_thread() {
  g_may_end = false;
  g_thread = start(ends_when_told);
}
void end_thread() { g_may_end = true; }
int joined(int result, void* value) { return result == 0 && value != &g_word ? -1 : result; }

void initialise() {
  while (!g_may_end) nap();
}
void* runs_once(void*) {
  pthread_once(&g_once, initialise);
  return nullptr;
}
void begin_once() {
  g_once = PTHREAD_ONCE_INIT;
  g_may_end = false;
  g_thread = start(runs_once);
  while (__atomic_load_n(&g_once, __ATOMIC_SEQ_CST) == PTHREAD_ONCE_INIT) nap();
}
void end_once() {
  g_may_end = true;
  pthread_join(g_thread, nullptr);
}

void connect_to_it() {
  const int caller = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(caller, reinterpret_cast<sockaddr*>(&g_address), sizeof g_address) != 0) abort();
  close(caller);
}
int accepted(int descriptor) { return descriptor < 0 ? descriptor : close(descriptor); }

// A shell takes descriptors of one digit.
#define READING_FD 9
#define TEXT(number) #number
#define READS_BYTE_FROM(number) "exec dd bs=1 count=1 status=none of=/dev/null <&" TEXT(number)
const char kReadsByte[] = READS_BYTE_FROM(READING_FD);

pid_t child_that_waits() {
  const pid_t child = fork();
  if (child == 0) {
    syscall(SYS_read, g_pair[0], &g_byte, 1L);
    _exit(7);
  }
  ++g_children;
  return child;
}
int ended(pid_t expected, pid_t found, int status) { return found == expected && WEXITSTATUS(status) == 7 ? 0 : -1; }

fd_set reads() {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(g_pair[0], &set);
  return set;
}
pollfd readable() { return {g_pair[0], POLLIN, 0}; }

struct Row {
  const char* function;
  void (*prepare)();
  int (*wait)();
  void (*release)();
  bool sleeps;  // the waiter sleeps in the kernel until it is released
};

const Row kRows[] = {
    {"pthread_mutex_lock", hold_mutex, [] { return pthread_mutex_lock(&g_mutex) | pthread_mutex_unlock(&g_mutex); },
     free_mutex, true},
    {"pthread_mutex_timedlock", hold_mutex,
     [] {
       const timespec limit = late(CLOCK_REALTIME);
       return pthread_mutex_timedlock(&g_mutex, &limit) | pthread_mutex_unlock(&g_mutex);
     },
     free_mutex, true},
    {"pthread_mutex_clocklock", hold_mutex,
     [] {
       const timespec limit = late(CLOCK_MONOTONIC);
       return pthread_mutex_clocklock(&g_mutex, CLOCK_MONOTONIC, &limit) | pthread_mutex_unlock(&g_mutex);
     },
     free_mutex, true},
    {"pthread_rwlock_rdlock", hold_rwlock,
     [] { return pthread_rwlock_rdlock(&g_rwlock) | pthread_rwlock_unlock(&g_rwlock); }, free_rwlock, true},
    {"pthread_rwlock_wrlock", hold_rwlock,
     [] { return pthread_rwlock_wrlock(&g_rwlock) | pthread_rwlock_unlock(&g_rwlock); }, free_rwlock, true},
    {"pthread_rwlock_timedrdlock", hold_rwlock,
     [] {
       const timespec limit = late(CLOCK_REALTIME);
       return pthread_rwlock_timedrdlock(&g_rwlock, &limit) | pthread_rwlock_unlock(&g_rwlock);
     },
     free_rwlock, true},
    {"pthread_rwlock_timedwrlock", hold_rwlock,
     [] {
       const timespec limit = late(CLOCK_REALTIME);
       return pthread_rwlock_timedwrlock(&g_rwlock, &limit) | pthread_rwlock_unlock(&g_rwlock);
     },
     free_rwlock, true},
    {"pthread_rwlock_clockrdlock", hold_rwlock,
     [] {
       const timespec limit = late(CLOCK_MONOTONIC);
       return pthread_rwlock_clockrdlock(&g_rwlock, CLOCK_MONOTONIC, &limit) | pthread_rwlock_unlock(&g_rwlock);
     },
     free_rwlock, true},
    {"pthread_rwlock_clockwrlock", hold_rwlock,
     [] {
       const timespec limit = late(CLOCK_MONOTONIC);
       return pthread_rwlock_clockwrlock(&g_rwlock, CLOCK_MONOTONIC, &limit) | pthread_rwlock_unlock(&g_rwlock);
     },
     free_rwlock, true},
    {"pthread_spin_lock", hold_spin, [] { return pthread_spin_lock(&g_spin) | pthread_spin_unlock(&g_spin); },
     free_spin, false},
    {"pthread_barrier_wait", nothing, [] { return pthread_barrier_wait(&g_barrier); }, arrive, true},
    {"pthread_once", begin_once, [] { return pthread_once(&g_once, initialise); }, end_once, true},
    {"pthread_join", make_thread,
     [] {
       void* value = nullptr;
       const int result = pthread_join(g_thread, &value);
       return joined(result, value);
     },
     end_thread, true},
    {"pthread_timedjoin_np", make_thread,
     [] {
       void* value = nullptr;
       const timespec limit = late(CLOCK_REALTIME);
       const int result = pthread_timedjoin_np(g_thread, &value, &limit);
       return joined(result, value);
     },
     end_thread, true},
    {"pthread_clockjoin_np", make_thread,
     [] {
       void* value = nullptr;
       const timespec limit = late(CLOCK_MONOTONIC);
       const int result = pthread_clockjoin_np(g_thread, &value, CLOCK_MONOTONIC, &limit);
       return joined(result, value);
     },
     end_thread, true},
    {"futex", clear_word,
     [] { return static_cast<int>(syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0)); },
     wake_word, true},
    {"poll", nothing,
     [] {
       pollfd one = readable();
       return take_byte(poll(&one, 1, 600000));
     },
     send_byte, true},
    {"ppoll", nothing,
     [] {
       pollfd one = readable();
       return take_byte(ppoll(&one, 1, &kLong, nullptr));
     },
     send_byte, true},
    {"select", nothing,
     [] {
       fd_set set = reads();
       timeval limit = {600, 0};
       const int result = select(g_pair[0] + 1, &set, nullptr, nullptr, &limit);
       return FD_ISSET(g_pair[0], &set) ? take_byte(result) : -1;
     },
     send_byte, true},
    {"pselect", nothing,
     [] {
       fd_set set = reads();
       const int result = pselect(g_pair[0] + 1, &set, nullptr, nullptr, &kLong, nullptr);
       return FD_ISSET(g_pair[0], &set) ? take_byte(result) : -1;
     },
     send_byte, true},
    {"epoll_wait", nothing,
     [] {
       epoll_event event;
       return take_byte(epoll_wait(g_epoll, &event, 1, -1));
     },
     send_byte, true},
    {"epoll_pwait", nothing,
     [] {
       epoll_event event;
       return take_byte(epoll_pwait(g_epoll, &event, 1, 600000, nullptr));
     },
     send_byte, true},
    {"epoll_pwait2", nothing,
     [] {
       epoll_event event;
       return take_byte(epoll_pwait2(g_epoll, &event, 1, &kLong, nullptr));
     },
     send_byte, true},
    {"read", nothing, [] { return static_cast<int>(read(g_pair[0], &g_byte, 1)); }, send_byte, true},
    {"readv", nothing,
     [] {
       iovec part = {&g_byte, 1};
       return static_cast<int>(readv(g_pair[0], &part, 1));
     },
     send_byte, true},
    {"recv", nothing, [] { return static_cast<int>(recv(g_pair[0], &g_byte, 1, 0)); }, send_byte, true},
    {"recvfrom", nothing, [] { return static_cast<int>(recvfrom(g_pair[0], &g_byte, 1, 0, nullptr, nullptr)); },
     send_byte, true},
    {"recvmsg", nothing,
     [] {
       iovec part = {&g_byte, 1};
       msghdr message = {};
       message.msg_iov = &part;
       message.msg_iovlen = 1;
       return static_cast<int>(recvmsg(g_pair[0], &message, 0));
     },
     send_byte, true},
    {"recvmmsg", nothing,
     [] {
       iovec part = {&g_byte, 1};
       mmsghdr message = {};
       message.msg_hdr.msg_iov = &part;
       message.msg_hdr.msg_iovlen = 1;
       return recvmmsg(g_pair[0], &message, 1, 0, nullptr);
     },
     send_byte, true},
    {"accept", nothing, [] { return accepted(accept(g_listener, nullptr, nullptr)); }, connect_to_it, true},
    {"accept4", nothing, [] { return accepted(accept4(g_listener, nullptr, nullptr, SOCK_CLOEXEC)); }, connect_to_it,
     true},
    {"flock", hold_file, [] { return flock(g_files[0], LOCK_EX) | flock(g_files[0], LOCK_UN); }, free_file, true},
    {"nanosleep", nothing,
     [] {
       const timespec time = {g_cancelled ? 600 : 0, 300000};
       return nanosleep(&time, nullptr);
     },
     nothing, false},
    {"clock_nanosleep", nothing,
     [] {
       const timespec time = {g_cancelled ? 600 : 0, 300000};
       return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
     },
     nothing, false},
    {"usleep", nothing, [] { return usleep(g_cancelled ? 600000000 : 300); }, nothing, false},
    {"waitpid", nothing,
     [] {
       int status = 0;
       const pid_t child = child_that_waits(), found = waitpid(child, &status, 0);
       return ended(child, found, status);
     },
     send_byte, true},
    {"wait", nothing,
     [] {
       int status = 0;
       const pid_t child = child_that_waits(), found = wait(&status);
       return ended(child, found, status);
     },
     send_byte, true},
    {"wait4", nothing,
     [] {
       int status = 0;
       rusage usage;
       const pid_t child = child_that_waits(), found = wait4(child, &status, 0, &usage);
       return ended(child, found, status);
     },
     send_byte, true},
    {"waitid", nothing,
     [] {
       siginfo_t found = {};
       const pid_t child = child_that_waits();
       const int result = waitid(P_PID, static_cast<id_t>(child), &found, WEXITED);
       return result == 0 && found.si_pid == child && found.si_status == 7 ? 0 : -1;
     },
     send_byte, true},
    {"system", nothing, [] { return system(kReadsByte); }, send_byte, true},
    {"pclose", nothing, [] { return pclose(popen(kReadsByte, "r")); }, send_byte, true},
};

const Row* g_row;

struct Guard {
  ~Guard() { puts("the frame of the waits is left"); }
};

void* waiter(void*) {
  Guard guard;
  g_waiter = gettid();
  for (int round = 1; round <= kRounds; ++round) {
    while (g_prepared < round) nap();
    errno = 4711;
    g_entered = round;
    const int result = g_row->wait();
    pthread_testcancel();
    printf("round %d: result %d, errno %d\n", round, result, errno);
    g_done = round;
  }
  return nullptr;
}

// In the wait, not in what it does before: fork() sleeps now and then, too.
void await_waiting(int round) {
  while (strncmp(g_row->function, "wait", 4) == 0 && g_children < round) nap();
  await_sleeping(g_waiter);
}

void release_each() {
  for (int round = 1; round <= kRounds; ++round) {
    g_row->prepare();
    g_prepared = round;
    while (g_entered < round) nap();
    if (g_row->sleeps) await_waiting(round);
    g_row->release();
    while (g_done < round) nap();
  }
}

// Functions that are no cancellation points must be let go all the same.
void cancel(pthread_t thread) {
  g_row->prepare();
  g_prepared = 1;
  while (g_entered < 1) nap();
  if (strcmp(g_row->function, "pthread_spin_lock") != 0) await_waiting(1);
  if (pthread_cancel(thread) != 0) abort();
  for (int i = 0; i < 5; ++i) nap();
  g_row->release();
  g_prepared = kRounds;
}

void set_up() {
  pthread_spin_init(&g_spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&g_barrier, nullptr, 2);
  pthread_once_t first = PTHREAD_ONCE_INIT;
  pthread_once(&first, nothing);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair) != 0) abort();
  if (dup2(g_pair[0], READING_FD) < 0) abort();
  g_files[0] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_files[1] = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (g_files[0] < 0 || g_files[1] < 0) abort();
  g_epoll = epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, g_pair[0], &event);
  g_address.sun_family = AF_UNIX;
  snprintf(g_address.sun_path, sizeof g_address.sun_path, "listener-%d", static_cast<int>(getpid()));
  g_listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(g_listener, reinterpret_cast<sockaddr*>(&g_address), sizeof g_address) != 0) abort();
  if (listen(g_listener, 4) != 0) abort();
}

}  // namespace

int main(int argc, char** argv) {
  for (const Row& row : kRows) {
    if (argc < 2) puts(row.function);
    if (argc > 1 && strcmp(row.function, argv[1]) == 0) g_row = &row;
  }
  if (argc < 2) return 0;
  if (g_row == nullptr) return 2;
  g_cancelled = argc > 2;
  set_up();
  const pthread_t thread = start(waiter);
  while (g_waiter == 0) nap();
  tell("waiter %d", static_cast<int>(g_waiter));
  tell("releaser %d", static_cast<int>(gettid()));
  if (g_cancelled)
    cancel(thread);
  else
    release_each();
  // In a cancelled run the rounds that are left end by themselves or by the cancellation.
  void* result = nullptr;
  pthread_join(thread, &result);
  printf("cancelled %d\n", result == PTHREAD_CANCELED);
  unlink(g_address.sun_path);
}
