// driver_routes.cpp: see driver_routes.h. Cold: runs inside the program's dlsym and cuGetProcAddress calls.
#include "driver_routes.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "elf_object.h"
#include "got.h"
#include "lifecycle.h"
#include "resolve.h"

namespace hostprobe::probe {
namespace {

struct Driver {
  ElfObject object;
  bool pinned;
};
constexpr unsigned kDrivers = 4;
Driver g_drivers[kDrivers];
std::atomic<unsigned> g_driver_count{0};
std::atomic<std::uint32_t> g_unwrapped{0};

Hook* driver_hook(const char* name) {
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->wrappers != nullptr && strcmp(hook->row->name, name) == 0) return hook;
  return nullptr;
}

bool is_wrapper(const void* address) { return is_own_address(address); }

// Two threads may ask at once: the first to store an address wins, both get the same wrapper.
void* wrapper_of(Hook& hook, void* real) {
  if (real == nullptr || is_wrapper(real)) return real;
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    void* none = nullptr;
    std::atomic_ref slot(hook.real[copy]);
    if (slot.compare_exchange_strong(none, real, std::memory_order_acq_rel) || none == real) return hook.wrappers[copy];
  }
  g_unwrapped.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

struct Asked {
  const void* caller;
  bool needs_driver;
};

int look_at_caller(dl_phdr_info* info, size_t, void* argument) {
  auto* asked = static_cast<Asked*>(argument);
  ElfObject object;
  if (!read_elf_object(*info, object) || !object.holds(asked->caller)) return 0;
  asked->needs_driver = object.needs_driver;
  return 1;
}

// What the caller's own (RTLD_LOCAL) scope holds beyond the global one: the driver, if it is linked to it.
void* in_scope_of(const void* caller, const char* name) {
  Asked asked{caller, false};
  dl_iterate_phdr(look_at_caller, &asked);
  return asked.needs_driver ? driver_function(name) : nullptr;
}

// What the program's own lookup gives, for a name we hook, if it comes from a driver; else nullptr. Another interposer's
// dlsym may answer with a function of its own in front of the driver's: then we stand in front of that.
void* look_up(void* handle, const char* name, const void* caller) {
  if (handle == RTLD_NEXT) {
    void* found = real_dlsym(RTLD_NEXT, name);
    return is_driver_address(found) ? found : nullptr;
  }
  if (handle == RTLD_DEFAULT) {
    void* found = real_dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) found = in_scope_of(caller, name);
    return is_driver_address(found) ? found : nullptr;
  }
  return is_driver_address(real_dlsym(handle, name)) ? hp_next_dlsym(handle, name) : nullptr;
}

// ---- cuGetProcAddress -------------------------------------------------------------------------------------------------

using GetProcAddress1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using GetProcAddress2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

// The exported name behind a request. cuda.h's versions decide, as in cudaTypedefs.h; a version newer than we know of
// could mean another prototype, so then the answer must be the very address that the exported name has.
struct Request {
  const char* name;
  int first_version;     // from here on …
  int next_version;      // … and below this one, the function is …
  bool per_thread;       // … for this stream flavour …
  const char* exported;  // … this one
};
constexpr int kEver = 1 << 30;
constexpr Request kRequests[] = {
    {"cuLaunchKernel", 4000, kEver, false, "cuLaunchKernel"},
    {"cuLaunchKernel", 7000, kEver, true, "cuLaunchKernel_ptsz"},
    {"cuLaunchKernelEx", 11060, kEver, false, "cuLaunchKernelEx"},
    {"cuLaunchKernelEx", 11060, kEver, true, "cuLaunchKernelEx_ptsz"},
    {"cuLaunchCooperativeKernel", 9000, kEver, false, "cuLaunchCooperativeKernel"},
    {"cuLaunchCooperativeKernel", 9000, kEver, true, "cuLaunchCooperativeKernel_ptsz"},
    {"cuGraphLaunch", 10000, kEver, false, "cuGraphLaunch"},
    {"cuGraphLaunch", 10000, kEver, true, "cuGraphLaunch_ptsz"},
    {"cuLaunchHostFunc", 10000, 13010, false, "cuLaunchHostFunc"},
    {"cuLaunchHostFunc", 10000, 13010, true, "cuLaunchHostFunc_ptsz"},
    {"cuStreamSynchronize", 2000, kEver, false, "cuStreamSynchronize"},
    {"cuStreamSynchronize", 7000, kEver, true, "cuStreamSynchronize_ptsz"},
    {"cuEventSynchronize", 2000, kEver, false, "cuEventSynchronize"},
    {"cuEventSynchronize", 2000, kEver, true, "cuEventSynchronize"},
    {"cuCtxSynchronize", 2000, 13000, false, "cuCtxSynchronize"},
    {"cuCtxSynchronize", 2000, 13000, true, "cuCtxSynchronize"},
    {"cuCtxSynchronize", 13000, kEver, false, "cuCtxSynchronize_v2"},
    {"cuCtxSynchronize", 13000, kEver, true, "cuCtxSynchronize_v2"},
};
constexpr int kNewestKnownVersion = 13050;

void* wrapper_for_get_proc_address(int version, void* real);

// What stands in front of `answer`, the driver's answer to a request; `answer` itself where that is nobody.
void* replace_answer(const char* name, int version, std::uint64_t flags, void* answer) {
  if (answer == nullptr || is_wrapper(answer)) return answer;
  if (strcmp(name, "cuGetProcAddress") == 0) return wrapper_for_get_proc_address(version, answer);
  // The exported address, where it is the same, says exactly which function was answered.
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->wrappers != nullptr && strncmp(hook->row->name, name, strlen(name)) == 0 &&
        driver_function(hook->row->name) == answer) {
      void* wrapper = wrapper_of(*hook, answer);
      return wrapper != nullptr ? wrapper : answer;
    }
  if (version > kNewestKnownVersion) return answer;
  bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const char* exported = nullptr;
  for (const Request& r : kRequests)
    if (strcmp(r.name, name) == 0 && version >= r.first_version && version < r.next_version &&
        (r.per_thread == per_thread || exported == nullptr))
      if (!r.per_thread || per_thread) exported = r.exported;
  Hook* hook = exported == nullptr ? nullptr : driver_hook(exported);
  void* wrapper = hook == nullptr ? nullptr : wrapper_of(*hook, answer);
  return wrapper != nullptr ? wrapper : answer;
}

void* g_real_get1[kCopies];
void* g_real_get2[kCopies];

// `symbol` may be null or empty, `status` may be null: both are the driver's to judge.
template <unsigned copy>
CUresult get_proc_address1(const char* symbol, void** function, int version, cuuint64_t flags) {
  scan_new_objects();
  CUresult result = reinterpret_cast<GetProcAddress1>(g_real_get1[copy])(symbol, function, version, flags);
  if (result == CUDA_SUCCESS && symbol != nullptr && function != nullptr)
    *function = replace_answer(symbol, version, flags, *function);
  return result;
}

template <unsigned copy>
CUresult get_proc_address2(const char* symbol, void** function, int version, cuuint64_t flags,
                           CUdriverProcAddressQueryResult* status) {
  scan_new_objects();
  CUresult result = reinterpret_cast<GetProcAddress2>(g_real_get2[copy])(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && symbol != nullptr && function != nullptr)
    *function = replace_answer(symbol, version, flags, *function);
  return result;
}

void* const g_get1_wrappers[kCopies] = {
    reinterpret_cast<void*>(&get_proc_address1<0>), reinterpret_cast<void*>(&get_proc_address1<1>),
    reinterpret_cast<void*>(&get_proc_address1<2>), reinterpret_cast<void*>(&get_proc_address1<3>)};
void* const g_get2_wrappers[kCopies] = {
    reinterpret_cast<void*>(&get_proc_address2<0>), reinterpret_cast<void*>(&get_proc_address2<1>),
    reinterpret_cast<void*>(&get_proc_address2<2>), reinterpret_cast<void*>(&get_proc_address2<3>)};

void* in_front_of(void* (&reals)[kCopies], void* const (&wrappers)[kCopies], void* real) {
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    void* none = nullptr;
    std::atomic_ref slot(reals[copy]);
    if (slot.compare_exchange_strong(none, real, std::memory_order_acq_rel) || none == real) return wrappers[copy];
  }
  g_unwrapped.fetch_add(1, std::memory_order_relaxed);
  return real;
}

// Below 12.0 the function has four parameters, from 12.0 on five.
void* wrapper_for_get_proc_address(int version, void* real) {
  return version >= 12000 ? in_front_of(g_real_get2, g_get2_wrappers, real)
                          : in_front_of(g_real_get1, g_get1_wrappers, real);
}

}  // namespace

bool is_driver_name(const char* name) {
  if (name[0] != 'c' || name[1] != 'u') return false;
  return strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0 ||
         driver_hook(name) != nullptr;
}

void* wrapper_for(const char* name, void* real) {
  if (is_wrapper(real)) return real;
  if (strcmp(name, "cuGetProcAddress") == 0) return wrapper_for_get_proc_address(11030, real);
  if (strcmp(name, "cuGetProcAddress_v2") == 0) return wrapper_for_get_proc_address(12000, real);
  Hook* hook = driver_hook(name);
  return hook == nullptr ? nullptr : wrapper_of(*hook, real);
}

bool is_driver_address(const void* address) {
  unsigned count = g_driver_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i)
    if (g_drivers[i].object.holds(address)) return true;
  return false;
}

void* driver_function(const char* name) {
  unsigned count = g_driver_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i)
    if (void* found = defined_function(g_drivers[i].object, name)) return found;
  return nullptr;
}

void learn_driver(const ElfObject& object) {
  unsigned count = g_driver_count.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i)
    if (g_drivers[i].object.begin == object.begin) return;
  if (count == kDrivers) return;
  g_drivers[count] = {object, false};
  g_driver_count.store(count + 1, std::memory_order_release);
}

void pin_drivers() {
  unsigned count = g_driver_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    Driver& driver = g_drivers[i];
    Dl_info where;
    if (driver.pinned || dladdr(reinterpret_cast<void*>(driver.object.begin), &where) == 0) continue;
    driver.pinned = true;
    dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

const char* driver_kernel_name(const void* function) {
  using NameOf = CUresult (*)(const char**, const void*);
  static std::atomic<NameOf> of_function{nullptr}, of_kernel{nullptr};
  if (of_function.load(std::memory_order_acquire) == nullptr) {
    of_kernel.store(reinterpret_cast<NameOf>(driver_function("cuKernelGetName")), std::memory_order_relaxed);
    of_function.store(reinterpret_cast<NameOf>(driver_function("cuFuncGetName")), std::memory_order_release);
  }
  const char* name = nullptr;
  NameOf ask = of_function.load(std::memory_order_acquire);
  if (ask != nullptr && ask(&name, function) == CUDA_SUCCESS && name != nullptr) return name;
  ask = of_kernel.load(std::memory_order_acquire);
  if (ask != nullptr && ask(&name, function) == CUDA_SUCCESS && name != nullptr) return name;
  return nullptr;
}

std::uint32_t unwrapped_functions() { return g_unwrapped.load(std::memory_order_relaxed); }

}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// What dlsym shall answer, or nullptr: then the stub jumps to the real one, which sees the true caller.
extern "C" __attribute__((visibility("hidden"))) void* hp_match_dlsym(void* handle, const char* name, void* caller) {
  if (hp_next_dlsym == nullptr) find_dlsym();
  if (!hooks_enabled() || name == nullptr) return nullptr;
  int saved = errno;
  scan_new_objects();
  void* answer = nullptr;
  if (is_driver_name(name) && !is_driver_address(caller) && !is_own_address(caller)) {
    void* real = look_up(handle, name, caller);
    if (real != nullptr) answer = wrapper_for(name, real);
  }
  errno = saved;
  return answer;
}
