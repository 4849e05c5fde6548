// waits_on_signal_stack [early] [SPARE]: a handler on an alternate signal stack of the least size that there is and SPARE
// bytes (2048), below which nothing is mapped, waits by several functions, twice each. With `early` these are the first waits
// of the program, else it has waited before. Tells `used`, how much of the stack was written to.
#include <poll.h>
#include <sys/mman.h>
#include <sys/select.h>

#include "victim.h"

static sem_t g_never;
static volatile sig_atomic_t g_waits;

static void wait_each_way() {
  const timespec time = {0, 1500000};
  g_waits = g_waits + (nanosleep(&time, nullptr) == 0);
  timespec end = soon(CLOCK_REALTIME, 1500000);
  g_waits = g_waits + (sem_timedwait(&g_never, &end) != 0 && errno == ETIMEDOUT);
  end = soon(CLOCK_MONOTONIC, 1500000);
  g_waits = g_waits + (sem_clockwait(&g_never, CLOCK_MONOTONIC, &end) != 0 && errno == ETIMEDOUT);
  g_waits = g_waits + (poll(nullptr, 0, 2) == 0);
  g_waits = g_waits + (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr) == 0);
}

static void handler(int) {
  const int error = errno;
  wait_each_way();
  wait_each_way();
  errno = error;
}

int main(int argc, char** argv) {
  size_t spare = 2048;
  bool early = false;
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "early") == 0)
      early = true;
    else
      spare = strtoul(argv[i], nullptr, 10);
  const size_t bytes = static_cast<size_t>(sysconf(_SC_MINSIGSTKSZ)) + spare, pages = (bytes + 4095) / 4096 * 4096;
  char* memory =
      static_cast<char*>(mmap(nullptr, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory, 4096, PROT_NONE);
  stack_t stack = {};
  stack.ss_size = bytes;
  stack.ss_sp = memory + 4096;
  sem_init(&g_never, 0, 0);
  if (!early) {
    pthread_join(start([](void*) -> void* { return nullptr; }), nullptr);
    for (int i = 0; i < 2000; ++i) nap();
    for (int i = 0; i < 3; ++i) usleep(50);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  sigaltstack(&stack, nullptr);
  memset(stack.ss_sp, 0x5a, bytes);
  raise(SIGUSR1);
  const char* lowest = static_cast<char*>(stack.ss_sp);
  while (*lowest == 0x5a) ++lowest;
  tell("used %zu of %zu", bytes - static_cast<size_t>(lowest - static_cast<char*>(stack.ss_sp)), bytes);
  printf("%d waits\n", static_cast<int>(g_waits));
}
