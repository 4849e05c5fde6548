// waits_for_children KIND: waits for a child that was forked while another thread held a lock.
//   stuck: the child takes that lock, and waits for ever; timed: it asks for it again and again, with a time limit; shared: it waits for a
//   semaphore that its parent can post; two: a second thread of the child's gives the lock back in the end
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstring>
#include <string>

#include "victim.h"

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void take_the_lock() { pthread_mutex_lock(&g_lock); }

void ask_again_and_again() {
  for (;;) {
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_timedlock(&g_lock, &until);
  }
}

void* hold(void* held) {
  pthread_mutex_lock(&g_lock);
  sem_post(static_cast<sem_t*>(held));
  for (;;) pause();
}

void* pause_for_ever(void*) {
  for (;;) pause();
}

void be_a_child(const std::string& kind, sem_t* shared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pthread_t other;
  if (kind == "two") pthread_create(&other, nullptr, pause_for_ever, nullptr);
  if (kind == "timed")
    ask_again_and_again();
  else if (kind == "shared")
    sem_wait(shared);
  else
    take_the_lock();
}

}  // namespace

int main(int, char** argv) {
  sem_t held;
  sem_init(&held, 0, 0);
  void* page = mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = static_cast<sem_t*>(page);
  sem_init(shared, 1, 0);
  pthread_t holder;
  pthread_create(&holder, nullptr, hold, &held);
  sem_wait(&held);
  const pid_t child = fork();
  if (child == 0) be_a_child(argv[1], shared);
  tell("child %d", static_cast<int>(child));
  waitpid(child, nullptr, 0);
  return 0;
}
