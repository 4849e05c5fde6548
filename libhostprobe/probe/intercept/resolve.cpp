// resolve.cpp: see resolve.h. Our own lookups go through libc's dlsym, never through ours.
#include "probe/intercept/resolve.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "probe/intercept/loader.h"
#include "probe/record/hook.h"
#include "probe/record/thread.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/start_objects.h"

extern "C" {
HP_KEPT_BY_CHILDREN void* (*hp_next_dlsym)(void*, const char*) = nullptr;
HP_KEPT_BY_CHILDREN __attribute__((visibility("hidden"))) void* hp_real_vfork = nullptr;
}

// The assembly functions of dlsym.S have rows too: `hostprobe hooks` lists everything that is interposed.
HP_ROW(kCuda, kOther, dlsym, "GLIBC_2.34", 0, 0, "", "", "", "", "")
HP_ROW(kThread, kOther, vfork, "GLIBC_2.2.5", 0, 0, "", "", "", "", "")

namespace hostprobe::probe {

HP_KEPT_BY_CHILDREN void* (*real_dlsym)(void*, const char*) = nullptr;

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
  LoaderVisit visit;
  if (!visit) return nullptr;
  each_object(collect, &objects);
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

void find_own_dlsym() {
  if (real_dlsym != nullptr) return;
  void* found = libc_function("dlsym", "GLIBC_2.34");
  if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", HP_FIRST_GLIBC);
  real_dlsym = reinterpret_cast<void* (*)(void*, const char*)>(found);
}

void find_dlsym() {
  if (hp_next_dlsym != nullptr) return;
  find_own_dlsym();
  // A lookup with a version passes by an interposer whose dlsym has none; one without finds it.
  void* next = real_dlsym == nullptr ? nullptr : real_dlsym(RTLD_NEXT, "dlsym");
  hp_next_dlsym = next != nullptr ? reinterpret_cast<void* (*)(void*, const char*)>(next) : real_dlsym;
}

// By the loader, where the list does not tell.
static void* find_next(const char* name, const char* version) {
  LoaderVisit visit;
  if (!visit) return nullptr;
  find_dlsym();
  if (version[0] != 0)
    if (void* found = dlvsym(RTLD_NEXT, name, version_here(version))) return found;
  return real_dlsym(RTLD_NEXT, name);
}

void* find_behind_us(const char* name, const char* version) {
  void* found = find_at_start(name, version);
  if (found == nullptr) found = find_next(name, version);
  return found != nullptr ? found : find_in_any_object(name);
}

void find_real(Hook& hook) {
  const HookRow& row = row_of(hook);
  void* found = find_behind_us(row.name, row.versions);
  if (found != nullptr) hook.target[0] = found;
}

void find_libc_functions() {
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook) {
    if (hook->wrapper != nullptr || hook->target[0] != nullptr || after(hook->row->versions, "GLIBC_") == nullptr)
      continue;
    void* found = find_at_start(hook->row->name, hook->row->versions);
    hook->target[0] = found != nullptr ? found : find_next(hook->row->name, hook->row->versions);
  }
}

}  // namespace hostprobe::probe

// For the stub of vfork, when it is called for the first time.
extern "C" __attribute__((visibility("hidden"))) void hp_find_vfork() {
  hp_real_vfork = hostprobe::probe::find_at_start("vfork", "GLIBC_2.2.5");
}
