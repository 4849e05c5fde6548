// waits_at_exit: waits in main, in atexit and on_exit handlers, in destructors of statics, of a library-like global, and
// in the last function that runs of all (an ELF destructor); a thread that is created and joined in an atexit handler.
#include "victim.h"

struct WaitsAtItsEnd {
  const char* name;
  explicit WaitsAtItsEnd(const char* text) : name(text) { wait_moments(1); }
  ~WaitsAtItsEnd() {
    wait_moments(2);
    printf("%s\n", name);
  }
};
static WaitsAtItsEnd g_global("global destructor");

static void* in_a_thread(void*) {
  wait_moments(3);
  return nullptr;
}

static void at_exit() {
  wait_moments(4);
  pthread_join(start(in_a_thread), nullptr);
  printf("atexit handler\n");
}

static void on_the_exit(int status, void*) {
  wait_moments(5);
  printf("on_exit handler, status %d\n", status);
}

__attribute__((destructor)) static void last_of_all() {
  wait_moments(6);
  printf("ELF destructor\n");
  fflush(stdout);
}

__attribute__((constructor)) static void first_of_all() { wait_moments(7); }

int main() {
  static WaitsAtItsEnd local("local static destructor");
  atexit(at_exit);
  on_exit(on_the_exit, nullptr);
  wait_moments(8);
  // 7 + (1+2) + (1+2) + 4 + 3 + 5 + 6 + 8
  tell("waits %d", 7 + 3 + 3 + 4 + 3 + 5 + 6 + 8);
  return 6;
}
