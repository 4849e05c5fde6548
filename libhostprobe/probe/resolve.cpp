// resolve.cpp: see resolve.h. Our own lookups go through libc's dlsym, never through ours.
#include "resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "hook.h"
#include "thread.h"

extern "C" {
void* (*hp_next_dlsym)(void*, const char*) = nullptr;
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace hostprobe::probe {

void* (*real_dlsym)(void*, const char*) = nullptr;

namespace {

// Paths of all loaded objects. Collected first and asked afterwards: dlopen inside the walk would take the loader's
// locks in the wrong order.
constexpr unsigned kMostObjects = 1024;
struct Objects {
  const char* paths[kMostObjects];
  unsigned count;
};

int collect(dl_phdr_info* object, size_t, void* argument) {
  auto* objects = static_cast<Objects*>(argument);
  bool named = object->dlpi_name != nullptr && object->dlpi_name[0] != 0;
  if (named && !is_own_address(object->dlpi_phdr) && objects->count < kMostObjects)
    objects->paths[objects->count++] = object->dlpi_name;
  return 0;
}

void* find_in_any_object(const char* name) {
  Objects objects{};
  dl_iterate_phdr(collect, &objects);
  for (unsigned i = 0; i < objects.count; ++i) {
    void* handle = dlopen(objects.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* found = real_dlsym(handle, name);
    dlclose(handle);
    if (found != nullptr && !is_own_address(found)) return found;
  }
  return nullptr;
}

}  // namespace

void find_dlsym() {
  if (hp_next_dlsym != nullptr) return;
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  real_dlsym = reinterpret_cast<void* (*)(void*, const char*)>(found);
  // A lookup with a version passes by an interposer whose dlsym has none; one without finds it.
  void* next = real_dlsym == nullptr ? nullptr : real_dlsym(RTLD_NEXT, "dlsym");
  hp_next_dlsym = next != nullptr ? reinterpret_cast<void* (*)(void*, const char*)>(next) : real_dlsym;
}

static void* find_next(const char* name, const char* version) {
  find_dlsym();
  if (version[0] != 0)
    if (void* found = dlvsym(RTLD_NEXT, name, version)) return found;
  return real_dlsym(RTLD_NEXT, name);
}

void* find_behind_us(const char* name, const char* version) {
  void* found = find_next(name, version);
  return found != nullptr ? found : find_in_any_object(name);
}

void find_real(Hook& hook) {
  if (void* found = find_behind_us(hook.row->name, hook.row->versions)) hook.real[0] = found;
}

void find_libc_functions() {
  find_dlsym();
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->wrappers == nullptr && hook->real[0] == nullptr && strncmp(hook->row->versions, "GLIBC_", 6) == 0)
      hook->real[0] = find_next(hook->row->name, hook->row->versions);
}

void number_hooks() {
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    hook->number = static_cast<std::uint16_t>(hook->row - __start_hp_hooks + 1);
}

bool is_own_address(const void* address) {
  auto* a = static_cast<const char*>(address);
  return a >= __ehdr_start && a < _end;
}

}  // namespace hostprobe::probe
