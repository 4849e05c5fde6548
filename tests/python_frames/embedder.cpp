// Opens a libpython as a plug-in host does (RTLD_LOCAL), waits inside it, ends it, starts it again, closes it, and waits
// once more: embedder LIBRARY.
#include <dlfcn.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

namespace {

constexpr const char* kScript =
    "import _thread; lock = _thread.allocate_lock(); lock.acquire()\n"
    "def inside():\n"
    "    lock.acquire(True, 0.01)\n"
    "inside()\n";

template <class F>
F* function(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

void wait_a_moment() {
  sem_t never;
  sem_init(&never, 0, 0);
  timespec later;
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_nsec += 10'000'000;
  later.tv_sec += later.tv_nsec / 1'000'000'000;
  later.tv_nsec %= 1'000'000'000;
  sem_timedwait(&never, &later);
}

}  // namespace

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return 1;
  auto* start = function<void(int)>(library, "Py_InitializeEx");
  auto* run = function<int(const char*, void*)>(library, "PyRun_SimpleStringFlags");
  auto* end = function<int()>(library, "Py_FinalizeEx");
  for (int i = 0; i < 2; ++i) {
    start(0);
    if (run(kScript, nullptr) != 0 || end() != 0) return 2;
  }
  dlclose(library);
  wait_a_moment();
  puts("closed");
}
