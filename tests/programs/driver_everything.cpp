// driver_everything NAME…: calls each of these driver functions, found by dlsym and by cuGetProcAddress with flags 0 and
// 2, with nothing but zeros. Each answers an error or does nothing; what counts is that it was entered.
#include "driver_by_lookup.h"

namespace {

using AnyFunction = CUresult (*)(long, long, long, long, long, long, long, long, long, long, long, long);

void call(void* function, int times) {
  for (int i = 0; i < times && function != nullptr; ++i)
    reinterpret_cast<AnyFunction>(function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

void* requested(const char* exported, cuuint64_t flags) {
  char name[96];
  snprintf(name, sizeof name, "%s", exported);
  for (const char* suffix : {"_ptsz", "_ptds", "_v2"}) {
    char* end = name + strlen(name) - strlen(suffix);
    if (strcmp(end, suffix) == 0) *end = 0;
  }
  void* found = nullptr;
  return ask(name, &found, 13000, flags, nullptr) == CUDA_SUCCESS ? found : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  open_library(RTLD_NOW);
  const Driver driver = find_driver(find_by_dlsym, false);
  set_up(driver);
  use_procaddress(true);
  for (int i = 1; i < argc; ++i) {
    call(dlsym(g_library, argv[i]), i % 3 + 1);
    for (const cuuint64_t flags : {0, 2}) call(requested(argv[i], flags), 1);
  }
  printf("done\n");
}
