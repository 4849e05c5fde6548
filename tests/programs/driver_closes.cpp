// driver_closes [PLUGIN]: opens the driver, looks it up and closes it, three times, and lets nothing be loaded where it was
// before. Only the last one is called: prints "called NAME RESULT". Also run on NVIDIA's own driver (tests/real_drivers), so
// it calls without a header. With PLUGIN (driver_unloadable_plugin) it opens that twelve times, and lets it work each time.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdint>

#include "victim.h"

using AnyFunction = int (*)(long, long, long, long, long, long, long, long, long, long, long, long);
using GetProcAddress = int (*)(const char*, void**, int, std::uint64_t);

static void call(const char* name, void* function, bool last) {
  if (!last) return;
  printf("called %s %d\n", name, reinterpret_cast<AnyFunction>(function)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

static void close_for_good(void* handle, const void* in_driver) {
  Dl_info object{};
  dladdr(in_driver, &object);
  printf("closed %d\n", dlclose(handle));
  mmap(object.dli_fbase, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void use_driver(bool last) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) _exit(2);
  for (const char* name : {"cuLaunchKernel", "cuStreamSynchronize_ptsz", "cuMemAlloc_v2"})
    call(name, dlsym(driver, name), last);
  void* found = nullptr;
  auto get = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress"));
  printf("asked %d\n", get("cuLaunchKernel", &found, 7000, 2));
  call("cuLaunchKernel_ptsz", found, last);
  close_for_good(driver, dlsym(driver, "cuInit"));
}

static void use_plugin(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) _exit(2);
  close_for_good(plugin, reinterpret_cast<const void* (*)()>(dlsym(plugin, "plugin_work"))());
}

int main(int argc, char** argv) {
  for (int i = 0; argc > 1 && i < 12; ++i) use_plugin(argv[1]);
  for (int i = 0; argc == 1 && i < 3; ++i) use_driver(i == 2);
  printf("done\n");
}
