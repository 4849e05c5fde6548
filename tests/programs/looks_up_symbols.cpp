// looks_up_symbols: what glibc's dlsym means to its caller: RTLD_NEXT from a library goes on behind that library,
// RTLD_DEFAULT from a library opened RTLD_LOCAL finds that library's own symbols, errors name the caller's object.
#include <dlfcn.h>

#include "victim.h"

extern "C" int same_name();
extern "C" int next_of_same_name();

static void show_error(const char* what, void* found) {
  const char* text = dlerror();
  const char* name = text == nullptr ? "no error" : strrchr(text, '/') != nullptr ? strrchr(text, '/') : text;
  printf("%s: %s, %s\n", what, found == nullptr ? "absent" : "found", name);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  printf("own %d, next %d\n", same_name(), next_of_same_name());
  void* local = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (local == nullptr) return 1;
  auto* by_default = reinterpret_cast<int (*)()>(dlsym(local, "found_by_default"));
  printf("by default from a local library %d\n", by_default());
  dlerror();
  show_error("missing on a handle", dlsym(local, "there_is_no_such_symbol"));
  show_error("missing by default", dlsym(RTLD_DEFAULT, "there_is_no_such_symbol"));
  show_error("missing next", dlsym(RTLD_NEXT, "there_is_no_such_symbol"));
  show_error("hidden from the global scope", dlsym(RTLD_DEFAULT, "found_by_default"));
  show_error("a function of ours by handle", dlsym(local, "sem_wait"));
  show_error("a version that is not", dlvsym(RTLD_DEFAULT, "sem_wait", "GLIBC_9.9"));
  show_error("a version that is", dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2"));
  auto* wait = reinterpret_cast<int (*)(sem_t*)>(dlsym(RTLD_DEFAULT, "sem_wait"));
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  printf("sem_wait found by name: %d\n", wait(&semaphore));
}
