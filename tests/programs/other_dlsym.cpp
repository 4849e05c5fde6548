// other_dlsym: another preloaded library with an (unversioned) dlsym of its own, as GPU-sharing and checkpointing tools
// have one. Counts what it sees and says at exit whether it saw anything.
#include <dlfcn.h>
#include <stdio.h>

static int g_seen;

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  static auto* real = reinterpret_cast<void* (*)(void*, const char*)>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  ++g_seen;
  return real(handle, name);
}
__attribute__((destructor)) static void say() {
  fprintf(stderr, "other dlsym was %s\n", g_seen > 0 ? "used" : "passed by");
}
