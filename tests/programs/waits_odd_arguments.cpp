// waits_odd_arguments: what the functions that can block answer to wrong, late and unusual arguments, to locks that are
// held by the caller, and to signals that are pending: results, errno and what they wrote.
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "victim.h"

namespace {

int g_pair[2];
int g_epoll;

void show(const char* what, long result) {
  const int error = errno;
  printf("%s: %ld, errno %d\n", what, result, error);
  errno = 4711;
}

volatile uintptr_t g_nowhere = 8;  // so that the compiler does not know better
volatile int g_minus_one = -1;

template <class T>
T* nowhere() {
  return reinterpret_cast<T*>(g_nowhere);
}

void locks() {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checking, recursive, robust;
  pthread_mutex_init(&checking, &kind);
  show("lock", pthread_mutex_lock(&checking));
  show("lock again", pthread_mutex_lock(&checking));
  const timespec past = {1, 0}, wrong = {1, -1};
  show("timedlock again", pthread_mutex_timedlock(&checking, &past));
  show("unlock", pthread_mutex_unlock(&checking));
  show("unlock again", pthread_mutex_unlock(&checking));
  show("timedlock of a free one, wrong limit", pthread_mutex_timedlock(&checking, &wrong));
  pthread_mutex_unlock(&checking);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &kind);
  for (int i = 0; i < 3; ++i) show("recursive lock", pthread_mutex_lock(&recursive));
  for (int i = 0; i < 4; ++i) show("recursive unlock", pthread_mutex_unlock(&recursive));
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &kind);
  pthread_t owner = start(
      [](void* lock) -> void* {
        pthread_mutex_lock(static_cast<pthread_mutex_t*>(lock));
        return nullptr;
      },
      &robust);
  pthread_join(owner, nullptr);
  show("lock of a dead owner", pthread_mutex_lock(&robust));
  show("unlock, still inconsistent", pthread_mutex_unlock(&robust));
  show("lock, not recoverable", pthread_mutex_lock(&robust));
  pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
  show("wrlock", pthread_rwlock_wrlock(&both));
  show("wrlock by its owner", pthread_rwlock_wrlock(&both));
  show("rdlock by its writer", pthread_rwlock_rdlock(&both));
  show("timedwrlock, past", pthread_rwlock_timedwrlock(&both, &past));
  show("timedrdlock, wrong limit", pthread_rwlock_timedrdlock(&both, &wrong));
  show("clockrdlock, wrong clock", pthread_rwlock_clockrdlock(&both, 99, &past));
  show("rwlock unlock", pthread_rwlock_unlock(&both));
}

void held_by_another() {
  static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&held);
  pthread_t other = start([](void*) -> void* {
    const timespec past = {1, 0}, wrong = {2000000000, -1};
    show("timedlock, past", pthread_mutex_timedlock(&held, &past));
    show("timedlock, wrong limit", pthread_mutex_timedlock(&held, &wrong));
    show("clocklock, wrong clock", pthread_mutex_clocklock(&held, 99, &past));
    return nullptr;
  });
  pthread_join(other, nullptr);
  pthread_mutex_unlock(&held);
}

void joins() {
  show("join of oneself", pthread_join(pthread_self(), nullptr));
  pthread_t thread = start([](void*) -> void* { return nullptr; });
  const timespec wrong = {1, -1};
  while (pthread_tryjoin_np(thread, nullptr) == EBUSY) nap();
  show("timedjoin of oneself, wrong limit", pthread_timedjoin_np(pthread_self(), nullptr, &wrong));
}

void polls() {
  pollfd one = {g_pair[0], POLLIN, 77};
  const timespec wrong = {0, 1000000000}, negative = {-1, 0}, short_time = {0, 2000000};
  show("poll, ready never", poll(&one, 1, 2));
  printf("revents %d\n", one.revents);
  one.fd = 4242;
  show("poll of a closed one", poll(&one, 1, 600000));
  printf("revents %d\n", one.revents);
  show("poll from nowhere", poll(nowhere<pollfd>(), 1, 600000));
  show("poll of nothing", poll(nullptr, 0, 1));
  one.fd = g_pair[1];
  one.events = POLLOUT;
  show("ppoll, wrong limit, though ready", ppoll(&one, 1, &wrong, nullptr));
  show("ppoll, negative limit, though ready", ppoll(&one, 1, &negative, nullptr));
  one.fd = g_pair[0];
  one.events = POLLIN;
  show("ppoll, late", ppoll(&one, 1, &short_time, nullptr));
  epoll_event event;
  show("epoll_wait, late", epoll_wait(g_epoll, &event, 1, 2));
  show("epoll_wait, room for none", epoll_wait(g_epoll, &event, 0, 600000));
  show("epoll_wait on no epoll", epoll_wait(g_pair[0], &event, 1, 600000));
  show("epoll_wait on a closed one", epoll_wait(4242, &event, 1, 600000));
  show("epoll_pwait2, wrong limit", epoll_pwait2(g_epoll, &event, 1, &wrong, nullptr));
  show("epoll_pwait2, limit nowhere", epoll_pwait2(g_epoll, &event, 1, nowhere<timespec>(), nullptr));
}

void selects() {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(g_pair[0], &set);
  timeval late = {0, 2000};
  show("select, late", select(g_pair[0] + 1, &set, nullptr, nullptr, &late));
  printf("set %d, left %ld %ld\n", FD_ISSET(g_pair[0], &set), late.tv_sec, late.tv_usec);
  FD_SET(g_pair[1], &set);
  timeval hour = {3600, 0};
  show("select, ready", select(g_pair[1] + 1, nullptr, &set, nullptr, &hour));
  printf("set %d\n", FD_ISSET(g_pair[1], &set));
  timeval negative = {-1, 0};
  show("select, negative limit", select(g_pair[1] + 1, nullptr, &set, nullptr, &negative));
  show("select of a negative count", select(-1, nullptr, nullptr, nullptr, &hour));
  FD_ZERO(&set);
  FD_SET(60, &set);
  show("select of a closed one", select(61, &set, nullptr, nullptr, &hour));
  late = {0, 2000};
  show("select of more than fit", select(4096, nullptr, nullptr, nullptr, &late));
  const timespec wrong = {0, -1};
  show("pselect, wrong limit", pselect(0, nullptr, nullptr, nullptr, &wrong, nullptr));
}

volatile sig_atomic_t g_signals;
void count(int) { g_signals = g_signals + 1; }

// A signal that is blocked and pending is let in by the mask of the call: the call ends with EINTR and does not wait.
void pending_signals() {
  struct sigaction action = {};
  action.sa_handler = count;
  sigaction(SIGUSR1, &action, nullptr);
  sigset_t blocked, open_to_all;
  sigemptyset(&open_to_all);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  pollfd one = {g_pair[0], POLLIN, 0};
  epoll_event event;
  raise(SIGUSR1);
  show("ppoll with a signal pending", ppoll(&one, 1, nullptr, &open_to_all));
  raise(SIGUSR1);
  show("epoll_pwait with a signal pending", epoll_pwait(g_epoll, &event, 1, -1, &open_to_all));
  raise(SIGUSR1);
  show("pselect with a signal pending", pselect(0, nullptr, nullptr, nullptr, nullptr, &open_to_all));
  raise(SIGUSR1);
  show("epoll_pwait2 with a signal pending", epoll_pwait2(g_epoll, &event, 1, nullptr, &open_to_all));
  printf("%d signals\n", static_cast<int>(g_signals));
}

void descriptors() {
  char byte;
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  show("read of a closed one", read(4242, &byte, 1));
  show("read to nowhere", read(g_pair[0], nowhere<char>(), 0));
  show("readv of nothing", readv(g_pair[0], nullptr, 0));
  show("readv of too many", readv(g_pair[0], &part, g_minus_one));
  show("recv, not waiting", recv(g_pair[0], &byte, 1, MSG_DONTWAIT));
  show("recv of no socket", recv(g_epoll, &byte, 1, 0));
  show("recvmsg, not waiting", recvmsg(g_pair[0], &message, MSG_DONTWAIT));
  show("accept of no listener", accept(g_pair[0], nullptr, nullptr));
  show("accept4, wrong flags", accept4(g_pair[0], nullptr, nullptr, 0x7fff));
  sockaddr nobody = {AF_UNIX, "/nobody"};
  show("connect to nobody", connect(g_pair[0], &nobody, sizeof nobody));
  show("write to a closed one", write(4242, &byte, 1));
  show("pread of a socket", pread(g_pair[0], &byte, 1, 0));
  show("fsync of a socket", fsync(g_pair[0]));
}

void sleeps_and_children() {
  const timespec wrong = {0, 1000000000}, past = {1, 0};
  timespec rest = {42, 42};
  show("nanosleep, wrong", nanosleep(&wrong, &rest));
  printf("rest %ld %ld\n", rest.tv_sec, rest.tv_nsec);
  show("clock_nanosleep, past", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, nullptr));
  show("clock_nanosleep, wrong clock", clock_nanosleep(99, 0, &past, nullptr));
  show("usleep of nothing", usleep(0));
  int status = 42;
  show("waitpid without children", waitpid(-1, &status, 0));
  show("waitpid, wrong options", waitpid(-1, &status, 0x40000000));
  show("wait without children", wait(&status));
  siginfo_t found;
  show("waitid without children", waitid(P_ALL, 0, &found, WEXITED));
  show("waitid, wrong options", waitid(P_ALL, 0, &found, 0));
  printf("status %d\n", status);
}

void system_calls() {
  uint32_t word = 1;
  const timespec soon_over = {0, 1000000};
  show("futex, another value", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0));
  show("futex, late", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon_over, nullptr, 0));
  show("futex nowhere", syscall(SYS_futex, nowhere<uint32_t>(), FUTEX_WAIT_PRIVATE, 1, nullptr, nullptr, 0));
  show("futex wakes nobody", syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0));
  show("futex, no such command", syscall(SYS_futex, &word, 99, 1, nullptr, nullptr, 0));
  show("no such system call", syscall(100000));
  show("system call with six words", syscall(SYS_mmap, nullptr, 4096L, 0L, 0x22L, -1L, 0L) == -1 ? -1 : 0);
}

void names_and_cpus() {
  cpu_set_t none, own;
  CPU_ZERO(&none);
  sched_getaffinity(0, sizeof own, &own);
  show("affinity to no CPU", sched_setaffinity(0, sizeof none, &none));
  show("affinity of a stranger", sched_setaffinity(0x3fffff, sizeof own, &own));
  show("affinity from nowhere", sched_setaffinity(0, sizeof own, nowhere<cpu_set_t>()));
  show("affinity as it was", sched_setaffinity(0, sizeof own, &own));
  show("thread to no CPU", pthread_setaffinity_np(pthread_self(), sizeof none, &none));
  show("thread as it was", pthread_setaffinity_np(pthread_self(), sizeof own, &own));
  show("prctl name", prctl(PR_SET_NAME, "a name that is much too long"));
  char name[17] = "";
  show("prctl read back", prctl(PR_GET_NAME, name));
  puts(name);
  show("prctl name from nowhere", prctl(PR_SET_NAME, nowhere<char>()));
  show("prctl, no such option", prctl(12345, 0, 0, 0, 0));
  show("yield", sched_yield());
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOFBF, 65536);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair) != 0) abort();
  g_epoll = epoll_create1(0);
  epoll_event event = {EPOLLIN, {}};
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, g_pair[0], &event);
  wait_moments(1);  // whatever follows is recorded
  errno = 4711;
  locks();
  held_by_another();
  joins();
  polls();
  selects();
  pending_signals();
  descriptors();
  sleeps_and_children();
  system_calls();
  names_and_cpus();
}
