// waits_bad_arguments: what every wait with a time limit answers to each clock and limit, good and bad, while its object is
// free, held and held by the caller; and where a thread that is to be cancelled is cancelled though nothing blocks.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <atomic>

#include "victim.h"

namespace {

const clockid_t kClocks[] = {CLOCK_REALTIME,
                             CLOCK_MONOTONIC,
                             CLOCK_PROCESS_CPUTIME_ID,
                             CLOCK_MONOTONIC_RAW,
                             CLOCK_MONOTONIC_COARSE,
                             CLOCK_BOOTTIME,
                             99,
                             -1};
const timespec kPast = {1, 0};
const timespec kLimits[] = {kPast,   {1, -1},  {1, 1000000000}, {4000000000, -1}, {4000000000, 1000000000},
                            {-1, 0}, {-1, -1}, {1, 999999999}};

void show(const char* what, const char* state, clockid_t clock, const timespec* limit, int result) {
  const int error = errno;
  const timespec shown = limit == nullptr ? timespec{0, 0} : *limit;
  printf("%s, %s, clock %d, limit %s%ld.%ld: %d, errno %d\n", what, state, clock, limit == nullptr ? "none " : "",
         shown.tv_sec, shown.tv_nsec, result, error);
  errno = 4711;
}

enum class Held { kFree, kByCaller, kForReading, kByAnother };
const char* const kHeldNames[] = {"free", "held by the caller", "read by the caller", "held by another"};

// Runs `body` on a thread of its own, so that what this thread holds is held by another.
template <class Body>
void elsewhere(Body body) {
  pthread_t thread = start(
      [](void* argument) -> void* {
        errno = 4711;
        (*static_cast<Body*>(argument))();
        return nullptr;
      },
      &body);
  pthread_join(thread, nullptr);
}

template <class Try>
void with_mutex(const char* what, pthread_mutex_t* lock, Held held, clockid_t clock, const timespec* limit,
                Try attempt) {
  const auto once = [&] {
    const int result = attempt();
    show(what, kHeldNames[static_cast<int>(held)], clock, limit, result);
    if (result == 0) printf("unlock: %d\n", pthread_mutex_unlock(lock));
  };
  if (held != Held::kFree) pthread_mutex_lock(lock);
  if (held == Held::kByAnother)
    elsewhere(once);
  else
    once();
  if (held != Held::kFree) pthread_mutex_unlock(lock);
}

void mutexes(const char* name, int type, int robust, int protocol) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, type);
  pthread_mutexattr_setrobust(&kind, robust);
  pthread_mutexattr_setprotocol(&kind, protocol);
  static pthread_mutex_t lock;
  pthread_mutex_init(&lock, &kind);
  printf("%s\n", name);
  for (Held held : {Held::kFree, Held::kByCaller, Held::kByAnother})
    for (const timespec& limit : kLimits) {
      with_mutex("timedlock", &lock, held, 0, &limit, [&] { return pthread_mutex_timedlock(&lock, &limit); });
      for (clockid_t clock : kClocks)
        with_mutex("clocklock", &lock, held, clock, &limit,
                   [&] { return pthread_mutex_clocklock(&lock, clock, &limit); });
    }
  pthread_mutex_destroy(&lock);
}

template <class Try>
void with_both(const char* what, pthread_rwlock_t* lock, Held held, clockid_t clock, const timespec* limit,
               Try attempt) {
  const auto once = [&] {
    const int result = attempt();
    show(what, kHeldNames[static_cast<int>(held)], clock, limit, result);
    if (result == 0) pthread_rwlock_unlock(lock);
  };
  if (held == Held::kForReading) pthread_rwlock_rdlock(lock);
  if (held == Held::kByCaller || held == Held::kByAnother) pthread_rwlock_wrlock(lock);
  if (held == Held::kByAnother)
    elsewhere(once);
  else
    once();
  if (held != Held::kFree) pthread_rwlock_unlock(lock);
}

void read_write_locks_with(pthread_rwlock_t* lock, Held held, const timespec* limit) {
  with_both("timedrdlock", lock, held, 0, limit, [&] { return pthread_rwlock_timedrdlock(lock, limit); });
  with_both("timedwrlock", lock, held, 0, limit, [&] { return pthread_rwlock_timedwrlock(lock, limit); });
  for (clockid_t clock : kClocks) {
    with_both("clockrdlock", lock, held, clock, limit, [&] { return pthread_rwlock_clockrdlock(lock, clock, limit); });
    with_both("clockwrlock", lock, held, clock, limit, [&] { return pthread_rwlock_clockwrlock(lock, clock, limit); });
  }
}

void read_write_locks() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const timespec* const none = nullptr;
  for (Held held : {Held::kFree, Held::kByCaller, Held::kForReading, Held::kByAnother})
    for (const timespec& limit : kLimits) read_write_locks_with(&lock, held, &limit);
  read_write_locks_with(&lock, Held::kFree, none);
}

void semaphores() {
  sem_t sem;
  for (unsigned value : {1u, 0u})
    for (const timespec& limit : kLimits) {
      const char* state = value != 0 ? "posted" : "empty";
      sem_init(&sem, 0, value);
      show("sem_timedwait", state, 0, &limit, sem_timedwait(&sem, &limit));
      for (clockid_t clock : kClocks) {
        sem_init(&sem, 0, value);
        show("sem_clockwait", state, clock, &limit, sem_clockwait(&sem, clock, &limit));
      }
    }
}

void conditions() {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&lock);
  for (const timespec& limit : kLimits) {
    show("cond_timedwait", "", 0, &limit, pthread_cond_timedwait(&condition, &lock, &limit));
    for (clockid_t clock : kClocks)
      show("cond_clockwait", "", clock, &limit, pthread_cond_clockwait(&condition, &lock, clock, &limit));
  }
  pthread_mutex_unlock(&lock);
}

// A thread that has ended and is not joined.
pthread_t ended_thread() {
  static volatile pid_t g_tid;
  g_tid = 0;
  pthread_t thread = start([](void*) -> void* {
    g_tid = gettid();
    return reinterpret_cast<void*>(42);
  });
  char path[64];
  while (g_tid == 0) nap();
  snprintf(path, sizeof path, "/proc/self/task/%d", static_cast<int>(g_tid));
  while (access(path, F_OK) == 0) nap();
  return thread;
}

std::atomic<bool> g_may_end;

// Longer than a busy machine keeps the one that joins it waiting; not for ever, as some bad limits are none.
void* run_until_told(void*) {
  for (int i = 0; i < 1000 && !g_may_end; ++i) nap();
  return nullptr;
}

template <class Try>
void with_thread(const char* what, const char* state, clockid_t clock, const timespec* limit, Try attempt) {
  g_may_end = false;
  pthread_t thread = *state == 'e' ? ended_thread() : *state == 'o' ? pthread_self() : start(run_until_told);
  void* value = &thread;
  errno = 4711;
  const int result = attempt(thread, &value);
  show(what, state, clock, limit, result);
  g_may_end = true;
  if (result == 0) printf("value %ld\n", reinterpret_cast<long>(value));
  if (result != 0 && *state != 'o') pthread_join(thread, nullptr);
}

void joins() {
  for (const char* state : {"ended", "oneself", "running"})
    for (const timespec& limit : kLimits) {
      with_thread("timedjoin", state, 0, &limit,
                  [&](pthread_t thread, void** value) { return pthread_timedjoin_np(thread, value, &limit); });
      for (clockid_t clock : kClocks)
        with_thread("clockjoin", state, clock, &limit,
                    [&](pthread_t thread, void** value) { return pthread_clockjoin_np(thread, value, clock, &limit); });
    }
  for (clockid_t clock : kClocks)
    with_thread("clockjoin", "ended", clock, nullptr,
                [&](pthread_t thread, void** value) { return pthread_clockjoin_np(thread, value, clock, nullptr); });
  with_thread("timedjoin", "ended", 0, nullptr,
              [&](pthread_t thread, void** value) { return pthread_timedjoin_np(thread, value, nullptr); });
}

// ---- what nothing blocks, called by a thread that is to be cancelled ----

int g_pair[2];
int g_epoll;
pid_t g_child;
pthread_t g_thread;
sem_t g_posted;
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_both = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
const timespec kAtOnce = {0, 0};
pollfd g_one;
epoll_event g_event;

struct Point {
  const char* name;
  int (*call)();
};
const Point kPoints[] = {
    {"sem_wait", [] { return sem_wait(&g_posted); }},
    {"sem_trywait", [] { return sem_trywait(&g_posted); }},
    {"sem_timedwait", [] { return sem_timedwait(&g_posted, &kPast); }},
    {"sem_clockwait", [] { return sem_clockwait(&g_posted, CLOCK_MONOTONIC, &kPast); }},
    {"sem_clockwait, bad clock", [] { return sem_clockwait(&g_posted, 99, &kPast); }},
    {"sem_post", [] { return sem_post(&g_posted); }},
    {"join", [] { return pthread_join(g_thread, nullptr); }},
    {"tryjoin", [] { return pthread_tryjoin_np(g_thread, nullptr); }},
    {"timedjoin", [] { return pthread_timedjoin_np(g_thread, nullptr, &kPast); }},
    {"clockjoin", [] { return pthread_clockjoin_np(g_thread, nullptr, CLOCK_MONOTONIC, &kPast); }},
    {"join of oneself", [] { return pthread_join(pthread_self(), nullptr); }},
    {"mutex lock", [] { return pthread_mutex_lock(&g_mutex) + pthread_mutex_unlock(&g_mutex); }},
    {"mutex timedlock", [] { return pthread_mutex_timedlock(&g_mutex, &kPast) + pthread_mutex_unlock(&g_mutex); }},
    {"rdlock", [] { return pthread_rwlock_rdlock(&g_both) + pthread_rwlock_unlock(&g_both); }},
    {"wrlock", [] { return pthread_rwlock_wrlock(&g_both) + pthread_rwlock_unlock(&g_both); }},
    {"timedwrlock", [] { return pthread_rwlock_timedwrlock(&g_both, &kPast) + pthread_rwlock_unlock(&g_both); }},
    {"signal", [] { return pthread_cond_signal(&g_condition); }},
    {"poll", [] { return poll(&g_one, 1, 1000); }},
    {"poll of nothing", [] { return poll(nullptr, 0, 0); }},
    {"ppoll", [] { return ppoll(&g_one, 1, nullptr, nullptr); }},
    {"epoll_wait", [] { return epoll_wait(g_epoll, &g_event, 1, 1000); }},
    {"epoll_pwait2", [] { return epoll_pwait2(g_epoll, &g_event, 1, &kAtOnce, nullptr); }},
    {"select",
     [] {
       timeval none = {0, 0};
       return select(0, nullptr, nullptr, nullptr, &none);
     }},
    {"write", [] { return static_cast<int>(write(g_pair[1], "x", 1)); }},
    {"read",
     [] {
       char byte;
       return static_cast<int>(read(g_pair[0], &byte, 1));
     }},
    {"recv",
     [] {
       char byte;
       return static_cast<int>(recv(g_pair[0], &byte, 1, MSG_DONTWAIT));
     }},
    {"usleep", [] { return usleep(0); }},
    {"nanosleep", [] { return nanosleep(&kAtOnce, nullptr); }},
    {"waitpid", [] { return waitpid(g_child, nullptr, 0) == g_child ? 0 : -1; }},
    {"setname", [] { return pthread_setname_np(pthread_self(), "name"); }},
    {"create",
     [] {
       pthread_t thread;
       const int result = pthread_create(
           &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
       return result + pthread_detach(thread);
     }},
};

void* to_be_cancelled(void* argument) {
  const Point* point = static_cast<Point*>(argument);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  errno = 4711;
  const long result = point->call();
  printf("%s: errno %d; ", point->name, errno);
  return reinterpret_cast<void*>(result);
}

void cancelled() {
  for (const Point& point : kPoints) {
    g_thread = ended_thread();
    sem_init(&g_posted, 0, 1);
    g_child = fork();
    if (g_child == 0) _exit(0);
    siginfo_t ended;
    waitid(P_PID, static_cast<id_t>(g_child), &ended, WEXITED | WNOWAIT);
    pthread_t thread = start(to_be_cancelled, const_cast<Point*>(&point));
    void* value = nullptr;
    pthread_join(thread, &value);
    int posts = 0;
    sem_getvalue(&g_posted, &posts);
    if (value == PTHREAD_CANCELED) printf("%s: cancelled, %d posts\n", point.name, posts);
    if (value != PTHREAD_CANCELED) printf("returned %ld, %d posts\n", reinterpret_cast<long>(value), posts);
  }
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 65536);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair) != 0) abort();
  if (write(g_pair[0], "xxxxxxxx", 8) != 8 || write(g_pair[1], "xxxxxxxx", 8) != 8) abort();
  g_one = {g_pair[0], POLLIN, 0};
  g_epoll = epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, g_pair[0], &event);
  wait_moments(1);  // whatever follows is recorded
  errno = 4711;
  mutexes("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  mutexes("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  mutexes("checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  mutexes("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  mutexes("robust", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
  mutexes("inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
  mutexes("inheriting, recursive, robust", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
  mutexes("protecting", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT);
  read_write_locks();
  semaphores();
  conditions();
  joins();
  fflush(stdout);
  cancelled();
}
