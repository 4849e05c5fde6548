// waits_in WHERE: says "waiting TID" and waits in poll() until a line comes in, on a stack of the kind that it is told: thread,
// callback (of libc's qsort), handler (of a signal, on the same stack), context (of makecontext), fiber (of Boost.Context).
// The test beside it asks gdb meanwhile what the stack looks like.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <boost/context/fiber.hpp>

__attribute__((noinline)) static void wait_here() {
  printf("waiting %d\n", static_cast<int>(gettid()));
  fflush(stdout);
  pollfd in = {0, POLLIN, 0};
  if (poll(&in, 1, -1) != 1) abort();
  asm volatile("" : : : "memory");
}

__attribute__((noinline)) static void wait_deeper(int frames) {
  char room[100];
  asm volatile("" : : "r"(room) : "memory");
  if (frames == 0)
    wait_here();
  else
    wait_deeper(frames - 1);
  asm volatile("" : : "r"(room) : "memory");
}

static void* in_thread(void*) {
  wait_deeper(3);
  return nullptr;
}

static int compare(const void*, const void*) {
  static bool waited = false;
  if (!waited) wait_deeper(30);
  waited = true;
  return 0;
}

static void callback() {
  int numbers[] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], compare);
}

static void handler() {
  struct sigaction action = {};
  action.sa_handler = [](int) { wait_deeper(2); };
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

static ucontext_t g_main, g_coroutine;

static void context() {
  constexpr size_t kBytes = 256 * 1024;
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_coroutine.uc_stack.ss_size = kBytes;
  g_coroutine.uc_link = &g_main;
  makecontext(
      &g_coroutine, [] { wait_deeper(2); }, 0);
  swapcontext(&g_main, &g_coroutine);
}

static void fiber() {
  boost::context::fiber other([](boost::context::fiber&& main) {
    wait_deeper(2);
    return static_cast<boost::context::fiber&&>(main);
  });
  other = static_cast<boost::context::fiber&&>(other).resume();
}

int main(int argc, char** argv) {
  const char* where = argc > 1 ? argv[1] : "";
  pthread_t thread;
  if (pthread_create(
          &thread, nullptr, strcmp(where, "thread") == 0 ? in_thread : [](void* p) { return p; }, nullptr) != 0)
    abort();
  pthread_join(thread, nullptr);
  if (strcmp(where, "callback") == 0) callback();
  if (strcmp(where, "handler") == 0) handler();
  if (strcmp(where, "context") == 0) context();
  if (strcmp(where, "fiber") == 0) fiber();
  puts("done");
}
