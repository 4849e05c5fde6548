// initialises: a library whose constructor does what INITIALISES says while the loader's lock is held: "exits", at once or
// "exits_late", when hostprobe's own thread has long been waiting for that lock; "gives_work" to a thread of the program and
// waits until it is done.
#include <atomic>

#include "victim.h"

extern "C" {
extern std::atomic<int> g_work;
}

__attribute__((constructor)) static void initialise() {
  const char* way = getenv("INITIALISES");
  if (way == nullptr) return;
  if (strcmp(way, "exits_late") == 0)
    for (int i = 0; i < 6000; ++i) nap();
  if (strncmp(way, "exits", 5) == 0) exit(7);
  if (strcmp(way, "gives_work") != 0) return;
  for (g_work = 1; g_work != 2;) nap();
}
